/* See errors.h. A graph is one candidate: which of its kernels failed cannot be told. */
#include "report/errors.h"

#include <stdlib.h>
#include <string.h>

struct candidate {
	uint64_t name; /* string */
	uint64_t frame;
	uint64_t stack; /* of its first launch */
	bool computes;	/* a kernel or a graph */
	size_t launches;
	size_t done; /* launches of the same name that are known to have run well */
	size_t here; /* of these, from the same line */
	uint64_t first_ns;
};

struct candidates {
	struct candidate *all;
	size_t count;
	size_t launches;
};

static bool named(const struct gsr_model *model, size_t row, const char *state)
{
	return strcmp(GSR_NAME(model, launches, state, row), state) == 0;
}

static bool may_be_to_blame(const struct gsr_model *model, size_t row)
{
	return named(model, row, "open") || named(model, row, "refused");
}

static struct candidate *candidate_of(struct candidates *candidates, const struct gsr_places *places,
				      const struct gsr_model *model, size_t row)
{
	uint64_t name = GSR_CELL(model, launches, name, row), stack = GSR_CELL(model, launches, stack, row);
	uint64_t frame = gsr_places_line(places, stack);
	const char *kind = GSR_NAME(model, launches, kind, row);

	for (size_t i = 0; i < candidates->count; i++)
		if (candidates->all[i].name == name && candidates->all[i].frame == frame)
			return &candidates->all[i];
	candidates->all[candidates->count] = (struct candidate){
	    .name = name,
	    .frame = frame,
	    .stack = stack,
	    .computes = strcmp(kind, "kernel") == 0 || strcmp(kind, "graph") == 0,
	    .first_ns = GSR_CELL(model, launches, time_ns, row),
	};
	return &candidates->all[candidates->count++];
}

static int by_likelihood(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->computes != b->computes)
		return a->computes ? -1 : 1;
	if ((a->here == 0) != (b->here == 0))
		return a->here == 0 ? -1 : 1;
	return a->first_ns < b->first_ns ? -1 : a->first_ns > b->first_ns;
}

static void here_count(struct candidates *candidates, const struct gsr_places *places, const struct gsr_model *model,
		       size_t row)
{
	uint64_t frame = gsr_places_line(places, GSR_CELL(model, launches, stack, row));

	for (size_t i = 0; i < candidates->count; i++)
		candidates->all[i].here += candidates->all[i].name == GSR_CELL(model, launches, name, row) &&
					   candidates->all[i].frame == frame;
}

static void candidates_find(const struct gsr_places *places, const struct gsr_model *model,
			    struct candidates *ret_candidates)
{
	size_t rows = GSR_ROWS(model, launches), *done = calloc(model->strings.count + 1, sizeof(*done));

	*ret_candidates = (struct candidates){.all = calloc(rows + 1, sizeof(struct candidate))};
	if (ret_candidates->all == NULL || done == NULL)
		abort();
	for (size_t row = 0; row < rows; row++) {
		struct candidate *candidate;

		if (named(model, row, "done"))
			done[GSR_CELL(model, launches, name, row)]++;
		if (!may_be_to_blame(model, row))
			continue;
		candidate = candidate_of(ret_candidates, places, model, row);
		candidate->launches++;
		ret_candidates->launches++;
		if (GSR_CELL(model, launches, time_ns, row) < candidate->first_ns)
			candidate->first_ns = GSR_CELL(model, launches, time_ns, row);
	}
	for (size_t i = 0; i < ret_candidates->count; i++)
		ret_candidates->all[i].done = done[ret_candidates->all[i].name];
	for (size_t row = 0; row < rows; row++)
		if (named(model, row, "done"))
			here_count(ret_candidates, places, model, row);
	qsort(ret_candidates->all, ret_candidates->count, sizeof(struct candidate), by_likelihood);
	free(done);
}

static char *place_text(struct gsr_places *places, uint64_t frame, char text[GSR_CELL_BYTES])
{
	return frame != 0 ? gsr_frame_text(places, frame, text) : gsr_cell(text, "an unknown place");
}

/* The stack of an error is no column of a table, so nobody has checked it. */
static uint64_t error_frame(const struct gsr_places *places, const struct gsr_model *model, const cJSON *error)
{
	uint64_t stack = gsr_count(error, GS_KEY(errors, stack));

	return stack < GSR_ROWS(model, stacks) ? gsr_places_line(places, stack) : 0;
}

static void verdict_print(const struct candidates *candidates, uint64_t lost, unsigned rows)
{
	char count[GSR_CELL_BYTES];

	if (candidates->count == 0 && lost == 0)
		gsr_line("  all that was launched is known to have run well: it came from elsewhere");
	else if (candidates->count == 1 && lost == 0)
		gsr_line("  that is the cause: all else is known to have run well");
	else
		gsr_line("  any of them may be the cause; with CUDA_LAUNCH_BLOCKING=1 it is the one that fails");
	if (candidates->count > rows)
		gsr_line("  and %s more kernels and lines; see --json",
			 gsr_number(count, candidates->count - rows));
	if (lost > 0)
		gsr_line("  up to %s launches before them are no longer in the log (see the setting launches)",
			 gsr_number(count, lost));
}

void gsr_errors_print(struct gsr_places *places, const struct gsr_model *model, unsigned rows)
{
	static const char *const heads[] = {"LAUNCHES", "RAN WELL BEFORE", "WHAT MAY HAVE CAUSED IT"};
	const cJSON *error = model->errors != NULL ? model->errors->child : NULL;
	struct candidates candidates;
	char cells[3][GSR_CELL_BYTES];

	if (error == NULL)
		return;
	gsr_line("%s", "");
	gsr_heading("Error on the device: %s (%llu)", gsr_text(error, GS_KEY(errors, name)),
		    (unsigned long long)gsr_count(error, GS_KEY(errors, code)));
	gsr_line("  first returned by %s at %s, thread %llu", gsr_text(error, GS_KEY(errors, function)),
		 place_text(places, error_frame(places, model, error), cells[0]),
		 (unsigned long long)gsr_count(error, GS_KEY(errors, thread)));
	candidates_find(places, model, &candidates);
	if (candidates.count > 0) {
		struct gsr_grid *grid = gsr_grid_new(heads, 3);

		for (size_t i = 0; i < candidates.count && i < rows; i++) {
			const struct candidate *candidate = &candidates.all[i];

			gsr_grid_row(grid, (const char *const[]){gsr_number(cells[0], candidate->launches),
								 gsr_number(cells[1], candidate->done),
								 place_text(places, candidate->frame, cells[2])});
			gsr_grid_note(grid, gsr_kernel_text(model, candidate->name, cells[2]));
		}
		gsr_grid_print(grid);
	}
	verdict_print(&candidates, gsr_count(error, GS_KEY(errors, launches_lost)), rows);
	free(candidates.all);
}

cJSON *gsr_errors_json(struct gsr_places *places, const struct gsr_model *model)
{
	cJSON *list = cJSON_CreateArray(), *object, *rows;
	const cJSON *error = model->errors != NULL ? model->errors->child : NULL;
	struct candidates candidates;
	char text[GSR_CELL_BYTES];

	if (error == NULL)
		return list;
	object = cJSON_Duplicate(error, true);
	cJSON_AddStringToObject(object, "place", place_text(places, error_frame(places, model, error), text));
	rows = cJSON_AddArrayToObject(object, "candidates");
	candidates_find(places, model, &candidates);
	for (size_t i = 0; i < candidates.count; i++) {
		const struct candidate *candidate = &candidates.all[i];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "kernel", gsr_kernel_text(model, candidate->name, text));
		cJSON_AddStringToObject(row, "place", place_text(places, candidate->frame, text));
		cJSON_AddNumberToObject(row, "stack", (double)candidate->stack);
		cJSON_AddNumberToObject(row, "launches", (double)candidate->launches);
		cJSON_AddNumberToObject(row, "done_before", (double)candidate->done);
		cJSON_AddItemToArray(rows, row);
	}
	free(candidates.all);
	cJSON_AddItemToArray(list, object);
	return list;
}
