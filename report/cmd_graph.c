/* gpushim-report graph: the graphs that gpushim made of repeated launches. This version makes none. */
#include "report/command.h"

int gsr_graph(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	cJSON *object;

	if (!options->json) {
		gsr_print_title(path, model);
		gsr_line("no graphs: this version of gpushim makes none; launch says what launching cost");
		return GSR_FINE;
	}
	object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, "file", path);
	cJSON_AddArrayToObject(object, "graphs");
	gsr_json_print(object);
	return GSR_FINE;
}
