/* gpushim-report top: the places that hold the most memory. */
#include "report/view.h"

static void sums_print(bool past_known, const struct gsr_usage *usage, const struct gsr_options *options)
{
	char live[GSR_CELL_BYTES], count[GSR_CELL_BYTES], peak[GSR_CELL_BYTES], what[GSR_CELL_BYTES];

	if (!past_known) {
		gsr_line("%s by %s: %s in %s alive", gsr_sorts_text(options->sorts, what), gsr_order_text(options->order),
			 gsr_bytes(live, usage->sum.live_bytes), gsr_number(count, usage->sum.live_count));
		return;
	}
	gsr_line("%s by %s: %s in %s alive, %s at the peak%s", gsr_sorts_text(options->sorts, what), gsr_order_text(options->order),
		 gsr_bytes(live, usage->sum.live_bytes), gsr_number(count, usage->sum.live_count),
		 gsr_bytes(peak, usage->sum.peak_bytes), usage->complete ? "" : " of the history");
}

static void notes_print(const struct gsr_model *model, const struct gsr_usage *usage)
{
	char kept[GSR_CELL_BYTES], dropped[GSR_CELL_BYTES];

	if (usage->complete)
		return;
	if (!gsr_history_kept(model)) {
		gsr_line("AT PEAK, TOTAL and ALLOCS are unknown: no history was kept (history:0).");
		return;
	}
	gsr_line("AT PEAK, TOTAL and ALLOCS know only the last %s events; %s older ones were dropped (history:N keeps "
		 "more).",
		 gsr_number(kept, GSR_ROWS(model, events)),
		 gsr_number(dropped, gsr_count(model->recording, GS_KEY(recording, events_dropped))));
}

int gsr_top(const char *path, const struct gsr_model *model, const struct gsr_options *given)
{
	struct gsr_places *places = gsr_places_new(model);
	struct gsr_categories *categories = gsr_command_categories(model, places, given);
	struct gsr_options options = *given;
	struct gsr_replay replay;
	struct gsr_usage usage;

	if (categories == NULL) {
		gsr_places_drop(places);
		return GSR_UNUSABLE;
	}
	if (options.sorts == 0 && options.by == GSR_BY_CLASS)
		options.sorts = (1u << GSR_SORT_COUNT) - 1;
	else if (options.sorts == 0)
		options.sorts = gsr_sorts_default(model);
	gsr_replay_read(model, options.sorts, gsr_part_of(options.by), &replay);
	gsr_usage_read(model, places, categories, &replay, options.by, &usage);
	options.order = gsr_usage_sort(&usage, options.order);
	if (options.json) {
		cJSON *object = gsr_usage_json(places, model, &usage, &options);

		cJSON_AddStringToObject(object, "file", path);
		gsr_json_print(object);
	} else {
		gsr_print_title(path, model);
		sums_print(gsr_history_kept(model), &usage, &options);
		gsr_usage_print(places, model, &usage, &options);
		notes_print(model, &usage);
	}
	gsr_usage_drop(&usage);
	gsr_replay_drop(&replay);
	gsr_categories_drop(categories);
	gsr_places_drop(places);
	return GSR_FINE;
}
