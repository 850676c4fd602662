/* The readers of other tools' files, and what commands and exports make of any file that can be read: it is refused, or can be
 * printed; what is written as a snapshot can be read again and says the same; JSON is JSON. */
#include <string.h>

#include "report/export.h"
#include "report/load.h"
#include "report/write.h"
#include "tests/fuzz/target.h"

static char *printed(const char *path, const struct gsr_model *model, const struct gsr_options *options,
		     int (*command)(const char *path, const struct gsr_model *model, const struct gsr_options *options))
{
	FILE *program_stdout = stdout;
	char *text = NULL;
	size_t length;

	stdout = open_memstream(&text, &length);
	HOLDS(stdout != NULL);
	command(path, model, options);
	fclose(stdout);
	stdout = program_stdout;
	return text;
}

static void is_json(const char *text)
{
	cJSON *object = cJSON_Parse(text);

	HOLDS(object != NULL);
	cJSON_Delete(object);
}

static void written_again(const char *path, const struct gsr_model *model)
{
	struct gsr_options options = {.rows = 5};
	char *before = printed("again", model, &options, gsr_top), *after, *text = printed(path, model, &options, gsr_import);
	struct gsr_model again;

	HOLDS(gsr_load(target_file((const uint8_t *)text, strlen(text)), &again) == 0);
	after = printed("again", &again, &options, gsr_top);
	HOLDS(strcmp(before, after) == 0);
	gsr_model_drop(&again);
	free(before);
	free(after);
	free(text);
}

static void exported(const char *path, const struct gsr_model *model)
{
	static int (*const formats[])(const struct gsr_view *, const struct gsr_options *) = {
#define EXPORT(name, text, binary, line) gsr_export_##name,
#include "report/export.def"
	};
	FILE *program_stdout = stdout;
	struct gsr_options options = {0};
	struct gsr_view view;
	char *text;
	size_t length;

	HOLDS(gsr_view_read(path, model, &options, &view) == GSR_FINE);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		text = NULL;
		stdout = open_memstream(&text, &length);
		HOLDS(stdout != NULL);
		formats[i](&view, &options);
		fclose(stdout);
		if (formats[i] == gsr_export_memory_viz_json || formats[i] == gsr_export_chrome || formats[i] == gsr_export_speedscope)
			is_json(text);
		free(text);
	}
	stdout = program_stdout;
	gsr_view_end(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int (*const commands[])(const char *, const struct gsr_model *,
				       const struct gsr_options *) = {gsr_summary, gsr_frag, gsr_timeline, gsr_leaks};
	const char *path = target_file(data, size);
	struct gsr_options options = {.rows = size % 7};
	struct gsr_model model;
	char *text;

	target_quiet();
	if (gsr_load(path, &model) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		options.json = true;
		text = printed(path, &model, &options, commands[i]);
		is_json(text);
		free(text);
		options.json = false;
		free(printed(path, &model, &options, commands[i]));
	}
	options.svg = true;
	free(printed(path, &model, &options, gsr_timeline));
	exported(path, &model);
	written_again(path, &model);
	gsr_model_drop(&model);
	return 0;
}
