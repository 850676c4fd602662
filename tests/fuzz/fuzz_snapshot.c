/* The reader of snapshots, and the commands on what it takes for one: any file is refused or can be printed; what is
 * printed can neither break a line nor command a terminal, and JSON is JSON. */
#include <string.h>

#include "report/command.h"
#include "report/html_data.h"
#include "report/load.h"
#include "tests/fuzz/target.h"

static void print(const char *path, const struct gsr_model *model, struct gsr_options *options)
{
	gsr_summary(path, model, options);
	for (unsigned by = GSR_BY_LINE; by <= GSR_BY_CLASS; by++) {
		options->by = (enum gsr_group_by)by;
		gsr_top(path, model, options);
	}
}

/* No control character of ASCII, nor one of those that UTF-8 writes with two bytes. */
static void is_harmless(const unsigned char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		HOLDS(text[i] == '\n' || (text[i] >= ' ' && text[i] != 0x7f));
		HOLDS(i == 0 || text[i - 1] != 0xc2 || text[i] >= 0xa0);
	}
}

static void is_json(char *text)
{
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		cJSON *object = cJSON_Parse(line);

		HOLDS(cJSON_IsObject(object));
		cJSON_Delete(object);
	}
}

/* Names are in the header of the page, which is JSON; base64 around it leaves nothing to check in the page itself. */
static void page(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	struct gsr_places *places = gsr_places_new(model);
	struct gsr_categories *categories = gsr_command_categories(model, places, options);
	struct gsr_pack pack;
	char *header;

	gsr_pack_init(&pack);
	gsr_html_data(path, model, categories, places, &pack);
	header = cJSON_PrintUnformatted(pack.header);
	is_json(header);
	cJSON_free(header);
	gsr_pack_drop(&pack);
	gsr_categories_drop(categories);
	gsr_places_drop(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = target_file(data, size);
	struct gsr_options options = {.rows = size % 7};
	struct gsr_model model;
	FILE *program_stdout = stdout;
	size_t length;
	char *text;

	target_quiet();
	if (gsr_load(path, &model) != 0)
		return 0;
	for (unsigned json = 0; json < 2; json++) {
		text = NULL;
		stdout = open_memstream(&text, &length);
		HOLDS(stdout != NULL);
		options.json = json != 0;
		print(path, &model, &options);
		fclose(stdout);
		if (options.json)
			is_json(text);
		else
			is_harmless((const unsigned char *)text, length);
		free(text);
	}
	stdout = program_stdout;
	page(path, &model, &options);
	gsr_model_drop(&model);
	return 0;
}
