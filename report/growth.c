/* See growth.h. */
#include "report/growth.h"

#include <stdlib.h>
#include <string.h>

#define SLICES 8u
#define SLICES_LEAST 6u /* with something kept, of these one of the last two */
#define COUNT_LEAST 8u

static double history_seconds(const struct gsr_model *model)
{
	int64_t end_ns = (int64_t)gsr_count(model->meta, GS_KEY(meta, elapsed_ns));

	return GSR_ROWS(model, events) == 0 ? 0
					    : (double)(end_ns - (int64_t)GSR_CELL(model, events, time_delta_ns, 0)) / 1e9;
}

static bool grows(const struct gsr_growth *growth)
{
	return __builtin_popcount(growth->slices) >= (int)SLICES_LEAST && growth->slices >> (SLICES - 2) != 0 &&
	       growth->kept_count >= COUNT_LEAST;
}

static int by_growth(const void *left, const void *right, void *of_group)
{
	const struct gsr_growth *a = (struct gsr_growth *)of_group + *(const uint32_t *)left;
	const struct gsr_growth *b = (struct gsr_growth *)of_group + *(const uint32_t *)right;

	return a->kept_bytes > b->kept_bytes ? -1 : a->kept_bytes < b->kept_bytes;
}

static void items_read(const struct gsr_view *view, struct gsr_growths *growths)
{
	size_t events = GSR_ROWS(&view->model, events);

	for (size_t i = 0; i < view->replay.item_count; i++) {
		const struct gsr_item *item = &view->replay.items[i];
		struct gsr_growth *growth = &growths->of_group[view->usage.group_of_origin[item->origin]];

		if (item->born == 0)
			continue;
		growths->born++;
		growth->allocations++;
		if (item->died != GSR_NEVER) {
			growths->died++;
			continue;
		}
		growth->slices |= 1u << ((uint64_t)(item->born - 1) * SLICES / events);
		growth->kept_bytes += item->size_bytes;
		growth->kept_count++;
	}
}

void gsr_growths_read(const struct gsr_view *view, struct gsr_growths *ret_growths)
{
	size_t groups = view->usage.count;

	memset(ret_growths, 0, sizeof(*ret_growths));
	ret_growths->seconds = history_seconds(&view->model);
	ret_growths->of_group = calloc(groups + 1, sizeof(*ret_growths->of_group));
	ret_growths->groups = calloc(groups + 1, sizeof(*ret_growths->groups));
	if (ret_growths->of_group == NULL || ret_growths->groups == NULL)
		abort();
	items_read(view, ret_growths);
	ret_growths->settled = 2 * ret_growths->died >= ret_growths->born && ret_growths->born > 0;
	for (uint32_t group = 0; group < groups; group++)
		if (grows(&ret_growths->of_group[group]))
			ret_growths->groups[ret_growths->count++] = group;
	qsort_r(ret_growths->groups, ret_growths->count, sizeof(*ret_growths->groups), by_growth, ret_growths->of_group);
}

void gsr_growths_drop(struct gsr_growths *growths)
{
	free(growths->of_group);
	free(growths->groups);
}
