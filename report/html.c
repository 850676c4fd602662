/* gpushim-report html: a page to look at, one file that needs no network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/command.h"
#include "report/html_data.h"
#include "report/html_parts.h"
#include "report/output.h"

/* Without a name of its own, a page has that of the snapshot, with another ending. The caller frees it. */
static char *name_make(const char *path)
{
	static const char *const endings[] = {".gz", ".json", ".pickle"};
	size_t length = strlen(path);
	char *name = malloc(length + sizeof(".html"));

	if (name == NULL)
		abort();
	for (unsigned i = 0; i < 3; i++) {
		size_t ending = strlen(endings[i]);

		if (length > ending && strncmp(path + length - ending, endings[i], ending) == 0)
			length -= ending;
	}
	memcpy(name, path, length);
	strcpy(name + length, ".html");
	return name;
}

/* Parts whose file ends so, each in an element of its own. */
static void parts_write(const char *ending, const char *element)
{
	for (const struct gsr_page_part *part = gsr_page_parts; part->file != NULL; part++) {
		size_t length = strlen(part->file);

		if (length < strlen(ending) || strcmp(part->file + length - strlen(ending), ending) != 0)
			continue;
		printf("<%s>\n%s</%s>\n", element, part->text, element);
	}
}

/* That of uPlot goes with every copy of it. */
static void licence_write(void)
{
	const struct gsr_page_part *part = gsr_page_parts;

	while (strcmp(part->file, "uplot/LICENSE") != 0)
		part++;
	printf("<!-- uPlot, below:\n%s-->\n", part->text);
}

/* The text up to the mark, which it is moved behind. */
static void text_write(const char **text, const char *mark)
{
	const char *end = strstr(*text, mark);

	fwrite(*text, 1, (size_t)(end - *text), stdout);
	*text = end + strlen(mark);
}

static int page_write(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	struct gsr_places *places = gsr_places_new(model);
	struct gsr_categories *categories = gsr_command_categories(model, places, options);
	const char *text = gsr_page_parts[0].text;
	struct gsr_pack pack;

	if (categories == NULL) {
		gsr_places_drop(places);
		return GSR_UNUSABLE;
	}
	gsr_pack_init(&pack);
	gsr_html_data(path, model, categories, places, &pack);
	text_write(&text, "<!-- licence -->\n");
	licence_write();
	text_write(&text, "<!-- styles -->\n");
	parts_write(".css", "style");
	text_write(&text, "<!-- data -->");
	gsr_pack_write(&pack, stdout);
	text_write(&text, "<!-- scripts -->\n");
	parts_write(".js", "script");
	fputs(text, stdout);
	gsr_pack_drop(&pack);
	gsr_categories_drop(categories);
	gsr_places_drop(places);
	return GSR_FINE;
}

int gsr_html(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	static bool written;
	char *name, *input = (char *)path;
	int status;

	if (options->output != NULL || strcmp(path, "-") == 0) {
		if (written) {
			fprintf(stderr, "gpushim-report: %s: one page a file; without -o each gets its own\n", path);
			return GSR_UNUSABLE;
		}
		written = true;
		return page_write(path, model, options);
	}
	name = name_make(path);
	status = gsr_output_open(name, options->force, gsr_output_mode(&input, 1)) == 0
			 ? gsr_output_close(page_write(path, model, options))
			 : GSR_UNUSABLE;
	if (status == GSR_FINE)
		gsr_name_print("page", name, options);
	free(name);
	return status;
}
