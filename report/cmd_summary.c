/* gpushim-report summary: a snapshot on one screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/command.h"
#include "report/errors.h"
#include "report/finding.h"
#include "report/steps.h"
#include "report/torch.h"
#include "report/view.h"

static void process_print(const struct gsr_model *model)
{
	const cJSON *meta = model->meta, *rank = cJSON_GetObjectItemCaseSensitive(meta, GS_KEY(meta, rank));
	char when[GSR_CELL_BYTES], after[GSR_CELL_BYTES], rank_text[32] = "";
	const char *conf = gsr_text(meta, GS_KEY(meta, conf));

	if (cJSON_IsNumber(rank))
		snprintf(rank_text, sizeof(rank_text), ", rank %.0f", rank->valuedouble);
	gsr_line("  process %llu on %s%s; written at %s on %s, after %s",
		 (unsigned long long)gsr_count(meta, GS_KEY(meta, pid)), gsr_text(meta, GS_KEY(meta, hostname)),
		 rank_text, gsr_text(meta, GS_KEY(meta, reason)),
		 gsr_time(when, gsr_decimal(meta, GS_KEY(meta, dump_wall_ns))),
		 gsr_duration(after, gsr_count(meta, GS_KEY(meta, elapsed_ns))));
	gsr_line("  gpushim %s, settings: %s", gsr_text(meta, GS_KEY(meta, version)),
		 conf[0] != '\0' ? conf : "defaults");
	gsr_line("  stacks: Python %s, native %s", gsr_text(model->recording, GS_KEY(recording, python)),
		 gsr_text(model->recording, GS_KEY(recording, native)));
}

/* --- out of memory ----------------------------------------------------------------------------------------------- */

/* Row of the last request that failed; the number of rows where none did. */
static size_t failure_find(const struct gsr_model *model)
{
	const struct gsr_texts *types = &GSR_TABLE(model, events)->names[GS_SNAP_events_type];
	size_t oom = gsr_name_find(types, "oom"), row = GSR_ROWS(model, events);

	while (row > 0 && GSR_CELL(model, events, type, row - 1) != oom)
		row--;
	return row > 0 ? row - 1 : GSR_ROWS(model, events);
}

static void failure_print(const struct gsr_model *model, struct gsr_places *places)
{
	size_t row = failure_find(model);
	char size[GSR_CELL_BYTES], place[GSR_CELL_BYTES], where[32] = "pinned host memory";
	uint64_t device;

	if (row == GSR_ROWS(model, events))
		return;
	device = GSR_CELL(model, events, device, row);
	if (device != 255)
		snprintf(where, sizeof(where), "GPU %llu", (unsigned long long)device);
	gsr_heading("  Out of memory (%s): %s asked for %s", where,
		    gsr_frame_text(places, gsr_places_line(places, GSR_CELL(model, events, stack, row)), place),
		    gsr_bytes(size, GSR_CELL(model, events, size_bytes, row)));
}

static cJSON *failure_json(const struct gsr_model *model, struct gsr_places *places)
{
	size_t row = failure_find(model);
	char place[GSR_CELL_BYTES];
	cJSON *object;

	if (row == GSR_ROWS(model, events))
		return cJSON_CreateNull();
	object = cJSON_CreateObject();
	cJSON_AddStringToObject(
	    object, "name",
	    gsr_frame_text(places, gsr_places_line(places, GSR_CELL(model, events, stack, row)), place));
	cJSON_AddNumberToObject(object, "size_bytes", (double)GSR_CELL(model, events, size_bytes, row));
	cJSON_AddNumberToObject(object, "device", (double)GSR_CELL(model, events, device, row));
	return object;
}

/* --- devices ----------------------------------------------------------------------------------------------------- */

/* now_only: the peak is not known. */
static void gauge_row(struct gsr_grid *grid, const cJSON *device, const char *gauge, bool now_only, const char *text)
{
	uint64_t total = gsr_count(device, GS_KEY(devices, total_bytes));
	uint64_t now = gsr_gauge(device, gauge, "now"), peak = gsr_gauge(device, gauge, "peak");
	char cells[4][GSR_CELL_BYTES];

	gsr_grid_row(grid, (const char *const[]){gsr_bytes(cells[0], now), gsr_share(cells[1], now, total),
						 now_only ? "-" : gsr_bytes(cells[2], peak),
						 now_only ? "" : gsr_share(cells[3], peak, total), text});
}

static void device_print(const struct gsr_model *model, const cJSON *device)
{
	static const char *const heads[] = {"NOW", "%", "PEAK", "%", "MEMORY"};
	const cJSON *counters = cJSON_GetObjectItemCaseSensitive(device, GS_KEY(devices, counters));
	uint64_t allocs = gsr_count(counters, "allocs"), failed = gsr_count(counters, "out_of_memory");
	char total[GSR_CELL_BYTES], count[GSR_CELL_BYTES], share[GSR_CELL_BYTES], grows[GSR_CELL_BYTES];
	struct gsr_grid *grid;

	gsr_line("%s", "");
	gsr_heading("GPU %llu: %s, %s", (unsigned long long)gsr_count(device, GS_KEY(devices, ordinal)),
		    gsr_text(device, GS_KEY(devices, name)),
		    gsr_bytes(total, gsr_count(device, GS_KEY(devices, total_bytes))));
	if (cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(device, GS_KEY(devices, gauges)))) {
		gsr_line("  no memory of it was served by gpushim");
		return;
	}
	grid = gsr_grid_new(heads, 5);
	if (gsr_is_recovered(model)) {
		gauge_row(grid, device, "allocated_bytes", true, "in live blocks, as asked for");
		gsr_grid_print(grid);
		gsr_line("  unknown: what was held for them, how often memory was added or ran out; no file of a killed process holds that");
		return;
	}
	gauge_row(grid, device, "reserved_bytes", false, "held by gpushim");
	gauge_row(grid, device, "allocated_bytes", false, "in live blocks, as asked for");
	gauge_row(grid, device, "pending_bytes", false, "freed, not yet free for everybody");
	gauge_row(grid, device, "idle_bytes", false, "idle");
	gsr_grid_print(grid);
	gsr_line("  %s allocations, %s without a driver call; memory added %s times%s", gsr_number(count, allocs),
		 gsr_share(share, gsr_count(counters, "hits"), allocs), gsr_number(grows, gsr_count(counters, "grows")),
		 failed > 0 ? "" : "; never out of memory");
	if (gsr_count(device, GS_KEY(devices, others_time_ns)) > 0)
		gsr_line("  %s more were in use on the device, by other processes, contexts and code, when that was seen last",
			 gsr_bytes(total, gsr_count(device, GS_KEY(devices, others_bytes))));
	if (failed > 0)
		gsr_heading("  out of memory %llu time%s", (unsigned long long)failed, failed == 1 ? "" : "s");
}

/* --- PyTorch ----------------------------------------------------------------------------------------------------- */

static void torch_print(const struct gsr_model *model, const struct gsr_torch *torch)
{
	char bytes[GSR_CELL_BYTES], count[GSR_CELL_BYTES], peak[GSR_CELL_BYTES], share[GSR_CELL_BYTES];

	if (!torch->seen)
		return;
	gsr_line("%s", "");
	gsr_heading("PyTorch");
	if (gsr_is_recovered(model))
		gsr_line("  %s in %s tensors", gsr_bytes(bytes, torch->tensor_bytes), gsr_number(count, torch->tensor_count));
	else
		gsr_line("  %s in %s tensors; %s at their peak, %s tensors allocated in all",
		 gsr_bytes(bytes, torch->tensor_bytes), gsr_number(count, torch->tensor_count),
		 gsr_bytes(peak, gsr_live_total(model, "tensor", GS_KEY(live_totals, peak_bytes))),
		 gsr_number(share, gsr_live_total(model, "tensor", GS_KEY(live_totals, total_count))));
	if (torch->held_count > 0 && !gsr_is_recovered(model))
		gsr_line("  its segments hold %s; %s of that (%s) is cached by PyTorch, free to nobody else",
			 gsr_bytes(bytes, torch->held_bytes), gsr_bytes(peak, torch->cached_bytes),
			 gsr_share(share, torch->cached_bytes, torch->held_bytes));
	if (torch->cached_bytes > torch->held_bytes / 10 && failure_find(model) < GSR_ROWS(model, events))
		gsr_line("  when memory runs out, little of that is of use: torch:serve, or PyTorch's own "
			 "expandable_segments:True, avoids it");
	if (torch->outside_count > 0)
		gsr_line("  outside PyTorch: %s in %s blocks (libraries, other code; see top --what block)",
			 gsr_bytes(bytes, torch->outside_bytes), gsr_number(count, torch->outside_count));
}

static cJSON *torch_json(const struct gsr_torch *torch)
{
	cJSON *object;

	if (!torch->seen)
		return cJSON_CreateNull();
	object = cJSON_CreateObject();
	cJSON_AddNumberToObject(object, "tensor_bytes", (double)torch->tensor_bytes);
	cJSON_AddNumberToObject(object, "tensor_count", (double)torch->tensor_count);
	cJSON_AddNumberToObject(object, "held_bytes", (double)torch->held_bytes);
	cJSON_AddNumberToObject(object, "cached_bytes", (double)torch->cached_bytes);
	cJSON_AddNumberToObject(object, "outside_bytes", (double)torch->outside_bytes);
	return object;
}

/* --- other memory ------------------------------------------------------------------------------------------------ */

static void totals_print(const struct gsr_model *model)
{
	static const char *const heads[] = {"NOW", "COUNT", "PEAK", "EVER", "OTHER MEMORY"};
	static const char *const texts[][2] = {{"host", "pinned host memory"},
					       {"driver", "device memory served by the driver itself"},
					       {"managed", "managed memory"},
					       {"registered", "host memory of the program's own, pinned where it lies"},
					       {"ipc", "memory of other processes that is open here"},
					       {"handle", "physical memory the program created itself"}};
	bool recovered = gsr_is_recovered(model);
	struct gsr_grid *grid = NULL;
	char cells[4][GSR_CELL_BYTES];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t ever = gsr_live_total(model, texts[i][0], GS_KEY(live_totals, total_count));

		if (ever == 0)
			continue;
		if (grid == NULL) {
			gsr_line("%s", "");
			grid = gsr_grid_new(heads, 5);
		}
		gsr_grid_row(
		    grid, (const char *const[]){
			      gsr_bytes(cells[0], gsr_live_total(model, texts[i][0], GS_KEY(live_totals, bytes))),
			      gsr_number(cells[1], gsr_live_total(model, texts[i][0], GS_KEY(live_totals, count))),
			      recovered ? "-" : gsr_bytes(cells[2], gsr_live_total(model, texts[i][0], GS_KEY(live_totals, peak_bytes))),
			      recovered ? "-" : gsr_number(cells[3], ever), texts[i][1]});
	}
	if (grid != NULL)
		gsr_grid_print(grid);
}

/* --- waits, calls ------------------------------------------------------------------------------------------------ */

static void waits_print(const struct gsr_model *model, struct gsr_places *places)
{
	static const char *const heads[] = {"HOST WAITED", "%", "TIMES", "WHERE"};
	uint64_t elapsed_ns = gsr_count(model->meta, GS_KEY(meta, elapsed_ns));
	char cells[4][GSR_CELL_BYTES];
	struct gsr_findings findings;
	struct gsr_grid *grid;

	gsr_findings_read(model, places, &findings);
	if (findings.count > 0) {
		gsr_line("%s", "");
		grid = gsr_grid_new(heads, 4);
		for (size_t i = 0; i < findings.count && i < 3; i++) {
			const struct gsr_finding *finding = &findings.findings[i];

			gsr_grid_row(grid, (const char *const[]){
						   gsr_duration(cells[0], finding->host_ns),
						   gsr_share(cells[1], finding->host_ns, elapsed_ns),
						   gsr_number(cells[2], finding->calls),
						   gsr_frame_text(places, gsr_places_line(places, finding->stack), cells[3])});
			gsr_grid_note(grid, gsr_finding_texts[finding->kind].title);
		}
		gsr_grid_print(grid);
	}
	gsr_findings_drop(&findings);
}

static int by_time(const void *left, const void *right)
{
	const cJSON *a = *(const cJSON *const *)left, *b = *(const cJSON *const *)right;
	uint64_t in_a = gsr_count(a, GS_KEY(functions, host_ns)), in_b = gsr_count(b, GS_KEY(functions, host_ns));

	if (in_a == in_b) {
		in_a = gsr_count(a, GS_KEY(functions, calls));
		in_b = gsr_count(b, GS_KEY(functions, calls));
	}
	if (in_a != in_b)
		return in_a > in_b ? -1 : 1;
	return strcmp(gsr_text(a, GS_KEY(functions, name)), gsr_text(b, GS_KEY(functions, name)));
}

static void functions_print(const struct gsr_model *model, unsigned rows)
{
	static const char *const heads[] = {"HOST TIME", "CALLS", "A CALL", "LAYER", "FUNCTION"};
	size_t count = (size_t)cJSON_GetArraySize(model->functions), filled = 0;
	const cJSON **functions = calloc(count + 1, sizeof(const cJSON *)), *function;
	struct gsr_grid *grid;

	if (functions == NULL)
		abort();
	cJSON_ArrayForEach(function, model->functions) functions[filled++] = function;
	qsort(functions, filled, sizeof(const cJSON *), by_time);
	if (filled > 0) {
		gsr_line("%s", "");
		grid = gsr_grid_new(heads, 5);
		for (size_t i = 0; i < filled && i < rows; i++) {
			uint64_t calls = gsr_count(functions[i], GS_KEY(functions, calls));
			uint64_t host_ns = gsr_count(functions[i], GS_KEY(functions, host_ns));
			char cells[3][GSR_CELL_BYTES];

			gsr_grid_row(grid, (const char *const[]){
					       host_ns > 0 ? gsr_duration(cells[0], host_ns) : "-",
					       gsr_number(cells[1], calls),
					       host_ns > 0 && calls > 0 ? gsr_duration(cells[2], host_ns / calls) : "-",
					       gsr_text(functions[i], GS_KEY(functions, layer)),
					       gsr_text(functions[i], GS_KEY(functions, name))});
		}
		gsr_grid_print(grid);
	}
	free(functions);
}

static void history_print(const struct gsr_model *model)
{
	uint64_t dropped = gsr_count(model->recording, GS_KEY(recording, events_dropped));
	uint64_t lost = gsr_count(model->recording, GS_KEY(recording, live_dropped));
	uint64_t cut = gsr_count(model->recording, GS_KEY(recording, stacks_cut));
	char kept[GSR_CELL_BYTES], count[GSR_CELL_BYTES];

	gsr_line("%s", "");
	if (!gsr_history_kept(model))
		gsr_line("history: none was kept (history:0)");
	else if (dropped > 0)
		gsr_line("history: %s events; older ones dropped: %s", gsr_number(kept, GSR_ROWS(model, events)),
			 gsr_number(count, dropped));
	else
		gsr_line("history: %s events, complete", gsr_number(kept, GSR_ROWS(model, events)));
	if (lost > 0)
		gsr_line("not tracked for lack of host memory: %s addresses", gsr_number(count, lost));
	if (cut > 0)
		gsr_line("stacks cut because a table was full: %s", gsr_number(count, cut));
}

/* --- what it is for ---------------------------------------------------------------------------------------------- */

/* Says nothing where there is nothing to tell apart. */
static void purposes_print(const struct gsr_model *model, const struct gsr_usage *purposes)
{
	static const char *const heads[] = {"LIVE", "%", "AT PEAK", "%", "WHAT IT IS FOR"};
	bool past_known = gsr_history_kept(model);
	struct gsr_grid *grid;

	if (purposes->count == 0 || (purposes->count == 1 && strcmp(purposes->groups[0].name, "other") == 0))
		return;
	gsr_line("%s", "");
	grid = gsr_grid_new(heads, 5);
	for (size_t i = 0; i < purposes->count; i++) {
		const struct gsr_use *use = &purposes->groups[i].use;
		char cells[4][GSR_CELL_BYTES];

		if (use->live_bytes == 0 && use->peak_bytes == 0)
			continue;
		gsr_grid_row(grid,
			     (const char *const[]){gsr_bytes(cells[0], use->live_bytes),
						   gsr_share(cells[1], use->live_bytes, purposes->sum.live_bytes),
						   past_known ? gsr_bytes(cells[2], use->peak_bytes) : "-",
						   past_known ? gsr_share(cells[3], use->peak_bytes, purposes->sum.peak_bytes) : "",
						   purposes->groups[i].name});
	}
	gsr_grid_print(grid);
}

static cJSON *purposes_json(const struct gsr_usage *purposes)
{
	cJSON *object = cJSON_CreateObject();

	for (size_t i = 0; i < purposes->count; i++) {
		cJSON *row = cJSON_AddObjectToObject(object, purposes->groups[i].name);

		cJSON_AddNumberToObject(row, "live_bytes", (double)purposes->groups[i].use.live_bytes);
		cJSON_AddNumberToObject(row, "peak_bytes", (double)purposes->groups[i].use.peak_bytes);
	}
	return object;
}

static void summary_json(const char *path, const struct gsr_model *model, struct gsr_places *places,
			 const struct gsr_usage *usage, const struct gsr_usage *purposes,
			 const struct gsr_torch *torch, const struct gsr_options *options)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "file", path);
	cJSON_AddItemToObject(object, "meta", cJSON_Duplicate(model->meta, true));
	cJSON_AddItemToObject(object, "recording", cJSON_Duplicate(model->recording, true));
	cJSON_AddItemToObject(object, "out_of_memory", failure_json(model, places));
	cJSON_AddItemToObject(object, "devices", cJSON_Duplicate(model->devices, true));
	cJSON_AddItemToObject(object, "errors", gsr_errors_json(places, model));
	cJSON_AddItemToObject(object, "pytorch", torch_json(torch));
	cJSON_AddItemToObject(object, "live_totals", cJSON_Duplicate(model->live_totals, true));
	cJSON_AddItemToObject(object, "functions", cJSON_Duplicate(model->functions, true));
	cJSON_AddItemToObject(object, "steps", gsr_steps_json(model, places));
	cJSON_AddItemToObject(object, "categories", purposes_json(purposes));
	cJSON_AddItemToObject(object, "top", gsr_usage_json(places, model, usage, options));
	gsr_json_print(object);
}

int gsr_summary(const char *path, const struct gsr_model *model, const struct gsr_options *given)
{
	struct gsr_places *places = gsr_places_new(model);
	struct gsr_categories *categories = gsr_command_categories(model, places, given);
	struct gsr_options options = *given, by_category = {.by = GSR_BY_CATEGORY};
	struct gsr_replay replay;
	struct gsr_usage usage, purposes;
	struct gsr_torch torch;
	const cJSON *device;

	if (categories == NULL) {
		gsr_places_drop(places);
		return GSR_UNUSABLE;
	}
	if (options.sorts == 0)
		options.sorts = gsr_sorts_default(model);
	gsr_torch_read(model, &torch);
	gsr_replay_read(model, options.sorts, GSR_PART_NONE, &replay);
	gsr_usage_read(model, places, categories, &replay, options.by, &usage);
	options.order = by_category.order = gsr_usage_sort(&usage, options.order);
	gsr_usage_read(model, places, categories, &replay, GSR_BY_CATEGORY, &purposes);
	gsr_usage_sort(&purposes, by_category.order);
	if (options.json) {
		summary_json(path, model, places, &usage, &purposes, &torch, &options);
	} else {
		gsr_print_title(path, model);
		process_print(model);
		failure_print(model, places);
		gsr_errors_print(places, model, 8);
		cJSON_ArrayForEach(device, model->devices) device_print(model, device);
		torch_print(model, &torch);
		totals_print(model);
		purposes_print(model, &purposes);
		if (usage.count > 0) {
			char what[GSR_CELL_BYTES];

			gsr_line("%s", "");
			gsr_heading("Most memory %s: %s", options.order == GSR_ORDER_PEAK ? "at the peak" : "alive",
				    given->sorts != 0 ? gsr_sorts_text(given->sorts, what) : torch.seen ? "tensors" : "blocks");
			gsr_usage_print(places, model, &usage, &options);
		}
		gsr_steps_line(model, places);
		waits_print(model, places);
		functions_print(model, 8);
		history_print(model);
	}
	gsr_usage_drop(&usage);
	gsr_usage_drop(&purposes);
	gsr_replay_drop(&replay);
	gsr_categories_drop(categories);
	gsr_places_drop(places);
	return GSR_FINE;
}
