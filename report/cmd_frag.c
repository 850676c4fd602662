/* gpushim-report frag: what lies free between live memory, who keeps it there, and what would help. */
#include <string.h>

#include "report/command.h"
#include "report/holes.h"

static unsigned shown_of(size_t count, unsigned rows)
{
	return rows != 0 && rows < count ? rows : (unsigned)count;
}

static void pins_print(struct gsr_places *places, const struct gsr_pin *pins, size_t count, const char *holes_head, unsigned rows)
{
	const char *const heads[] = {"PINNED", holes_head, "LIVE THERE", "BY"};
	unsigned shown = shown_of(count, rows);
	char cells[4][GSR_CELL_BYTES];
	struct gsr_grid *grid;

	while (shown > 0 && pins[shown - 1].pinned_bytes == 0)
		shown--;
	if (shown == 0)
		return;
	grid = gsr_grid_new(heads, 4);
	for (unsigned i = 0; i < shown; i++)
		gsr_grid_row(grid, (const char *const[]){gsr_bytes(cells[0], pins[i].pinned_bytes),
							 gsr_number(cells[1], pins[i].holes),
							 gsr_bytes(cells[2], pins[i].live_bytes),
							 gsr_frame_text(places, pins[i].frame, cells[3])});
	gsr_grid_print(grid);
}

static const char *neighbour_text(const struct gsr_model *model, struct gsr_places *places, uint64_t block,
				  char text[GSR_CELL_BYTES])
{
	if (block == 0)
		return "the end of the segment";
	return gsr_frame_text(places, gsr_places_line(places, GSR_CELL(model, blocks, stack, block - 1)), text);
}

static void holes_print(const struct gsr_model *model, struct gsr_places *places, const struct gsr_holes *holes, unsigned rows)
{
	static const char *const heads[] = {"HOLE", "CAN GO", "PENDING", "GPU", "BETWEEN"};
	unsigned shown = shown_of(holes->count, rows);
	struct gsr_grid *grid = gsr_grid_new(heads, 5);
	char cells[4][GSR_CELL_BYTES], text[GSR_CELL_BYTES], note[GSR_CELL_BYTES];

	for (unsigned i = 0; i < shown; i++) {
		const struct gsr_hole *hole = &holes->holes[i];

		gsr_grid_row(grid, (const char *const[]){gsr_bytes(cells[0], hole->size_bytes),
							 gsr_bytes(cells[1], hole->free_bytes),
							 gsr_bytes(cells[2], hole->pending_bytes),
							 gsr_number(cells[3], hole->device),
							 hole->before == 0 && hole->after == 0
							     ? "nothing: the whole segment is free"
							     : neighbour_text(model, places, hole->before, text)});
		if (hole->before != 0 || hole->after != 0)
			gsr_grid_note(grid, gsr_cell(note, "and %s", neighbour_text(model, places, hole->after, text)));
	}
	gsr_grid_print(grid);
	if (shown < holes->count)
		gsr_line("... and %zu more (-n 0 shows all)", holes->count - shown);
}

static void gpushim_print(const struct gsr_model *model, struct gsr_places *places, const struct gsr_holes *holes, unsigned rows)
{
	char held[GSR_CELL_BYTES], free[GSR_CELL_BYTES], share[GSR_CELL_BYTES], most[GSR_CELL_BYTES];

	gsr_line("gpushim holds %s; %s of it (%s) lie free, in %zu %s; the largest is %s",
		 gsr_bytes(held, holes->held_bytes), gsr_bytes(free, holes->hole_bytes),
		 gsr_share(share, holes->hole_bytes, holes->held_bytes), holes->count, holes->count == 1 ? "hole" : "holes",
		 gsr_bytes(most, holes->count > 0 ? holes->holes[0].size_bytes : 0));
	if (holes->count == 0)
		return;
	gsr_line("  %s of that can be given back (%s when other streams are done); compaction, which moves live memory together, "
		 "would free %s more",
		 gsr_bytes(free, holes->free_bytes), gsr_bytes(share, holes->pending_bytes),
		 gsr_bytes(most, holes->hole_bytes - holes->free_bytes));
	holes_print(model, places, holes, rows);
	pins_print(places, holes->pins, holes->pin_count, "HOLES", rows);
}

static void torch_print(struct gsr_places *places, const struct gsr_torch_waste *waste, unsigned rows)
{
	uint64_t wasted = waste->empty_bytes + waste->pinned_bytes;
	char held[GSR_CELL_BYTES], part[GSR_CELL_BYTES], share[GSR_CELL_BYTES], pages[GSR_CELL_BYTES];

	if (waste->segments == 0)
		return;
	gsr_line("%s", "");
	gsr_heading("PyTorch's cache");
	gsr_line("It holds %s in %llu segments for %s of tensors:", gsr_bytes(held, waste->held_bytes),
		 (unsigned long long)waste->segments, gsr_bytes(part, waste->tensor_bytes));
	gsr_line("  %s (%s) lie free", gsr_bytes(part, wasted), gsr_share(share, wasted, waste->held_bytes));
	if (waste->empty_bytes > 0)
		gsr_line("  %s of that in %llu segment%s without a tensor: torch.cuda.empty_cache() gives it back",
			 gsr_bytes(part, waste->empty_bytes), (unsigned long long)waste->empty_segments,
			 waste->empty_segments == 1 ? "" : "s");
	if (waste->pinned_bytes > 0)
		gsr_line("  %s in segments that a tensor keeps: PYTORCH_ALLOC_CONF=expandable_segments:True would let go of up to %s, "
			 "torch:serve (gpushim serves each tensor) of all",
			 gsr_bytes(part, waste->pinned_bytes), gsr_bytes(pages, waste->page_bytes));
	pins_print(places, waste->pins, waste->pin_count, "TENSORS", rows);
}

/* --- JSON -------------------------------------------------------------------------------------------------------- */

static void pins_json(cJSON *object, struct gsr_places *places, const struct gsr_pin *pins, size_t count)
{
	cJSON *list = cJSON_AddArrayToObject(object, "pins");
	char text[GSR_CELL_BYTES];

	for (size_t i = 0; i < count; i++) {
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "name", gsr_frame_text(places, pins[i].frame, text));
		cJSON_AddNumberToObject(row, "pinned_bytes", (double)pins[i].pinned_bytes);
		cJSON_AddNumberToObject(row, "count", (double)pins[i].holes);
		cJSON_AddNumberToObject(row, "live_bytes", (double)pins[i].live_bytes);
		cJSON_AddItemToArray(list, row);
	}
}

static void json_print(const char *path, const struct gsr_model *model, struct gsr_places *places, const struct gsr_holes *holes,
		       const struct gsr_torch_waste *waste, unsigned rows)
{
	cJSON *object = cJSON_CreateObject(), *list, *torch;
	char text[GSR_CELL_BYTES];

	cJSON_AddStringToObject(object, "file", path);
	cJSON_AddNumberToObject(object, "held_bytes", (double)holes->held_bytes);
	cJSON_AddNumberToObject(object, "live_bytes", (double)holes->live_bytes);
	cJSON_AddNumberToObject(object, "hole_bytes", (double)holes->hole_bytes);
	cJSON_AddNumberToObject(object, "hole_count", (double)holes->count);
	cJSON_AddNumberToObject(object, "free_bytes", (double)holes->free_bytes);
	cJSON_AddNumberToObject(object, "pending_bytes", (double)holes->pending_bytes);
	list = cJSON_AddArrayToObject(object, "holes");
	for (unsigned i = 0; i < shown_of(holes->count, rows); i++) {
		const struct gsr_hole *hole = &holes->holes[i];
		cJSON *row = cJSON_CreateObject();

		cJSON_AddNumberToObject(row, "device", (double)hole->device);
		cJSON_AddStringToObject(row, "address", gsr_cell(text, "%llx", (unsigned long long)hole->address));
		cJSON_AddNumberToObject(row, "size_bytes", (double)hole->size_bytes);
		cJSON_AddNumberToObject(row, "free_bytes", (double)hole->free_bytes);
		cJSON_AddNumberToObject(row, "pending_bytes", (double)hole->pending_bytes);
		cJSON_AddStringToObject(row, "before", neighbour_text(model, places, hole->before, text));
		cJSON_AddStringToObject(row, "after", neighbour_text(model, places, hole->after, text));
		cJSON_AddItemToArray(list, row);
	}
	pins_json(object, places, holes->pins, holes->pin_count);
	torch = waste->segments > 0 ? cJSON_AddObjectToObject(object, "pytorch") : cJSON_AddNullToObject(object, "pytorch");
	if (waste->segments > 0) {
		cJSON_AddNumberToObject(torch, "segments", (double)waste->segments);
		cJSON_AddNumberToObject(torch, "held_bytes", (double)waste->held_bytes);
		cJSON_AddNumberToObject(torch, "tensor_bytes", (double)waste->tensor_bytes);
		cJSON_AddNumberToObject(torch, "empty_bytes", (double)waste->empty_bytes);
		cJSON_AddNumberToObject(torch, "pinned_bytes", (double)waste->pinned_bytes);
		cJSON_AddNumberToObject(torch, "page_bytes", (double)waste->page_bytes);
		pins_json(torch, places, waste->pins, waste->pin_count);
	}
	gsr_json_print(object);
}

int gsr_frag(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	struct gsr_places *places = gsr_places_new(model);
	struct gsr_torch_waste waste;
	struct gsr_holes holes;

	gsr_holes_read(model, places, &holes);
	gsr_torch_waste_read(model, places, &waste);
	if (options->json) {
		json_print(path, model, places, &holes, &waste, options->rows);
	} else {
		gsr_print_title(path, model);
		gpushim_print(model, places, &holes, options->rows);
		torch_print(places, &waste, options->rows);
	}
	gsr_holes_drop(&holes);
	gsr_torch_waste_drop(&waste);
	gsr_places_drop(places);
	return GSR_FINE;
}
