/* See view.h. */
#include "report/view.h"

#include <string.h>

#include "report/load.h"

int gsr_view_read(const char *path, const struct gsr_model *model, const struct gsr_options *options,
		  struct gsr_view *ret_view)
{
	memset(ret_view, 0, sizeof(*ret_view));
	ret_view->path = path;
	ret_view->model = *model;
	model = &ret_view->model;
	ret_view->sorts = options->sorts != 0 ? options->sorts : gsr_sorts_default(model);
	ret_view->places = gsr_places_new(model);
	ret_view->categories = gsr_command_categories(model, ret_view->places, options);
	if (ret_view->categories == NULL) {
		gsr_places_drop(ret_view->places);
		return GSR_UNUSABLE;
	}
	gsr_replay_read(model, ret_view->sorts, gsr_part_of(options->by), &ret_view->replay);
	gsr_usage_read(model, ret_view->places, ret_view->categories, &ret_view->replay, options->by, &ret_view->usage);
	return GSR_FINE;
}

void gsr_view_end(struct gsr_view *view)
{
	gsr_usage_drop(&view->usage);
	gsr_replay_drop(&view->replay);
	gsr_categories_drop(view->categories);
	gsr_places_drop(view->places);
}

int gsr_view_load(const char *path, const struct gsr_options *options, struct gsr_view *ret_view)
{
	struct gsr_model model;

	if (gsr_load(path, &model) != 0)
		return GSR_UNUSABLE;
	if (gsr_view_read(path, &model, options, ret_view) == GSR_FINE)
		return GSR_FINE;
	gsr_model_drop(&model);
	return GSR_UNUSABLE;
}

void gsr_view_drop(struct gsr_view *view)
{
	gsr_view_end(view);
	gsr_model_drop(&view->model);
}

char *gsr_sorts_text(unsigned sorts, char text[GSR_CELL_BYTES])
{
	text[0] = '\0';
	for (unsigned sort = 0; sort < GSR_SORT_COUNT; sort++)
		if ((sorts & 1u << sort) != 0) {
			strcat(text, text[0] != '\0' ? ", " : "");
			strcat(text, gsr_sort_names[sort]);
		}
	return text;
}

char *gsr_rank_text(const struct gsr_model *model, char text[GSR_CELL_BYTES])
{
	const cJSON *rank = cJSON_GetObjectItemCaseSensitive(model->meta, GS_KEY(meta, rank));

	return cJSON_IsNumber(rank) ? gsr_cell(text, "rank %.0f", rank->valuedouble)
				    : gsr_cell(text, "%llu", (unsigned long long)gsr_count(model->meta, GS_KEY(meta, pid)));
}
