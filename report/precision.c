/* See precision.h. */
#include "report/precision.h"

#include <fnmatch.h>
#include <string.h>

static const struct {
	const char *key, *title, *advice;
} texts[GSR_PRECISIONS] = {
#define PRECISION(name, key, title, advice) {key, title, advice},
#include "report/precision.def"
};

static const struct {
	enum gsr_precision precision;
	const char *pattern;
} kernels[] = {
#define KERNEL(precision, pattern) {GSR_PRECISION_##precision, pattern},
#include "report/precision.def"
};

/* False: it is no matrix kernel. */
static bool precision_of(const struct gsr_model *model, size_t row, enum gsr_precision *ret_precision)
{
	const char *name = gsr_string(model, GSR_CELL(model, kernels, name, row));

	if (strcmp(GSR_NAME(model, kernels, kind, row), "kernel") != 0)
		return false;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (fnmatch(kernels[i].pattern, name, 0) == 0) {
			*ret_precision = kernels[i].precision;
			return true;
		}
	return false;
}

/* What all calls of a row took on the device, by its samples; 0 where there are none. */
static uint64_t device_ns(const struct gsr_model *model, size_t row)
{
	uint64_t samples = GSR_CELL(model, kernels, samples, row);

	return samples == 0 ? 0
			    : (uint64_t)((double)GSR_CELL(model, kernels, sampled_ns, row) / (double)samples *
					 (double)GSR_CELL(model, kernels, calls, row));
}

void gsr_precisions_read(const struct gsr_model *model, struct gsr_precisions *ret_precisions)
{
	uint64_t timed_calls = 0;

	memset(ret_precisions, 0, sizeof(*ret_precisions));
	for (size_t row = 0; row < GSR_ROWS(model, kernels); row++) {
		uint64_t calls = GSR_CELL(model, kernels, calls, row), ns = device_ns(model, row);
		struct gsr_precision_share *share;
		enum gsr_precision precision;

		if (!precision_of(model, row, &precision))
			continue;
		share = &ret_precisions->share[precision];
		if (share->calls == 0 || ns > device_ns(model, share->dearest))
			share->dearest = row;
		share->calls += calls;
		share->device_ns += ns;
		ret_precisions->calls += calls;
		ret_precisions->device_ns += ns;
		if (GSR_CELL(model, kernels, samples, row) > 0)
			timed_calls += calls;
	}
	ret_precisions->timed = ret_precisions->device_ns > 0 && timed_calls >= ret_precisions->calls / 5 * 4;
}

static uint64_t weight(const struct gsr_precisions *all, const struct gsr_precision_share *share)
{
	return all->timed ? share->device_ns : share->calls;
}

void gsr_precisions_print(const struct gsr_model *model)
{
	const char *const heads[] = {"%", "CALLS", "PRECISION"};
	char cells[3][GSR_CELL_BYTES], kernel[GSR_CELL_BYTES];
	struct gsr_precisions all;
	struct gsr_grid *grid;

	gsr_precisions_read(model, &all);
	if (all.calls == 0)
		return;
	gsr_line("%s", "");
	gsr_line("matrix kernels by precision, in shares of %s:",
		 all.timed ? "their time on the device, by samples" : "their launches: their time on the device is not known");
	grid = gsr_grid_new(heads, 3);
	for (unsigned i = 0; i < GSR_PRECISIONS; i++) {
		const struct gsr_precision_share *share = &all.share[i];

		if (share->calls == 0)
			continue;
		gsr_cell(cells[2], "%s, such as %.60s", texts[i].title,
			 gsr_kernel_text(model, GSR_CELL(model, kernels, name, share->dearest), kernel));
		gsr_grid_row(grid, (const char *const[]){
				       gsr_share(cells[0], weight(&all, share),
						 all.timed ? all.device_ns : all.calls),
				       gsr_number(cells[1], share->calls), cells[2]});
	}
	gsr_grid_print(grid);
	for (unsigned i = 0; i < GSR_PRECISIONS; i++)
		if (texts[i].advice[0] != '\0' && all.share[i].calls > 0 &&
		    weight(&all, &all.share[i]) >= (all.timed ? all.device_ns : all.calls) / 10)
			gsr_line("  instead of %s: %s", texts[i].title, texts[i].advice);
}

cJSON *gsr_precisions_json(const struct gsr_model *model)
{
	cJSON *list = cJSON_CreateArray();
	struct gsr_precisions all;

	gsr_precisions_read(model, &all);
	for (unsigned i = 0; i < GSR_PRECISIONS; i++) {
		cJSON *object;

		if (all.share[i].calls == 0)
			continue;
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "precision", texts[i].key);
		cJSON_AddNumberToObject(object, "calls", (double)all.share[i].calls);
		cJSON_AddNumberToObject(object, "device_ns", (double)all.share[i].device_ns);
		cJSON_AddBoolToObject(object, "timed", all.timed);
		cJSON_AddItemToArray(list, object);
	}
	return list;
}
