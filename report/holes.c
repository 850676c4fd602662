/* See holes.h. */
#include "report/holes.h"

#include <stdlib.h>
#include <string.h>

#include "report/map.h"
#include "report/torch.h"

struct pins {
	struct gsr_places *places;
	struct gsr_map of_frame; /* index */
	struct gsr_pin *pins;
	size_t count, capacity;
};

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static void pin_add(struct pins *pins, uint64_t stack, uint64_t pinned_bytes, uint64_t live_bytes)
{
	uint64_t frame = gsr_places_line(pins->places, stack), index;
	struct gsr_pin *pin;

	if (!gsr_map_find(&pins->of_frame, frame, &index)) {
		if (pins->count == pins->capacity) {
			pins->capacity = pins->capacity == 0 ? 32 : pins->capacity * 2;
			pins->pins = or_end(realloc(pins->pins, pins->capacity * sizeof(*pins->pins)));
		}
		index = pins->count++;
		pins->pins[index] = (struct gsr_pin){.frame = frame};
		gsr_map_put(&pins->of_frame, frame, index);
	}
	pin = &pins->pins[index];
	pin->pinned_bytes += pinned_bytes;
	pin->holes++;
	pin->live_bytes += live_bytes;
}

static int by_pinned(const void *left, const void *right)
{
	const struct gsr_pin *a = left, *b = right;

	if (a->pinned_bytes != b->pinned_bytes)
		return a->pinned_bytes > b->pinned_bytes ? -1 : 1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* Takes what was collected. */
static struct gsr_pin *pins_end(struct pins *pins, size_t *ret_count)
{
	if (pins->count > 0)
		qsort(pins->pins, pins->count, sizeof(*pins->pins), by_pinned);
	gsr_map_drop(&pins->of_frame);
	*ret_count = pins->count;
	return pins->pins;
}

/* Bytes of whole handles between two addresses. */
static uint64_t whole_bytes(uint64_t start, uint64_t end)
{
	uint64_t first = (start + GSR_HANDLE_BYTES - 1) / GSR_HANDLE_BYTES, last = end / GSR_HANDLE_BYTES;

	return last > first ? (last - first) * GSR_HANDLE_BYTES : 0;
}

/* --- gpushim's segments ------------------------------------------------------------------------------------------ */

static int by_place(const void *left, const void *right, void *model_)
{
	const struct gsr_model *model = model_;
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	uint64_t segment_a = GSR_CELL(model, blocks, segment, a), segment_b = GSR_CELL(model, blocks, segment, b);
	uint64_t address_a = GSR_CELL(model, blocks, address, a), address_b = GSR_CELL(model, blocks, address, b);

	if (segment_a != segment_b)
		return segment_a < segment_b ? -1 : 1;
	return address_a < address_b ? -1 : address_a > address_b;
}

static int by_size(const void *left, const void *right)
{
	const struct gsr_hole *a = left, *b = right;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void hole_end(const struct gsr_model *model, struct gsr_hole *hole, uint64_t segment, struct pins *pins,
		     struct gsr_holes *holes)
{
	bool expandable = strcmp(GSR_NAME(model, segments, kind, segment), "expandable") == 0;
	uint64_t neighbours = (hole->before != 0) + (hole->after != 0), pinned;

	if (hole->size_bytes == 0)
		return;
	hole->device = GSR_CELL(model, segments, device, segment);
	if (neighbours == 0)
		hole->free_bytes = hole->size_bytes;
	else if (expandable)
		hole->free_bytes = whole_bytes(hole->address, hole->address + hole->size_bytes);
	if (hole->pending_bytes > hole->free_bytes)
		hole->pending_bytes = hole->free_bytes;
	pinned = hole->size_bytes - hole->free_bytes;
	if (hole->before != 0)
		pin_add(pins, GSR_CELL(model, blocks, stack, hole->before - 1), pinned / neighbours,
			GSR_CELL(model, blocks, size_bytes, hole->before - 1));
	if (hole->after != 0)
		pin_add(pins, GSR_CELL(model, blocks, stack, hole->after - 1), pinned - pinned / neighbours * (neighbours - 1),
			GSR_CELL(model, blocks, size_bytes, hole->after - 1));
	holes->hole_bytes += hole->size_bytes;
	holes->free_bytes += hole->free_bytes;
	holes->pending_bytes += hole->pending_bytes;
	holes->holes[holes->count++] = *hole;
	memset(hole, 0, sizeof(*hole));
}

void gsr_holes_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_holes *ret_holes)
{
	size_t rows = GSR_ROWS(model, blocks);
	uint64_t *order = or_end(calloc(rows + 1, sizeof(*order))), segment = 0;
	struct pins pins = {.places = places};
	struct gsr_hole hole = {0};

	memset(ret_holes, 0, sizeof(*ret_holes));
	ret_holes->holes = or_end(calloc(rows + 1, sizeof(*ret_holes->holes)));
	for (size_t row = 0; row < GSR_ROWS(model, segments); row++)
		ret_holes->held_bytes += GSR_CELL(model, segments, size_bytes, row);
	for (size_t row = 0; row < rows; row++)
		order[row] = row;
	qsort_r(order, rows, sizeof(*order), by_place, (void *)model);
	for (size_t i = 0; i < rows; i++) {
		uint64_t row = order[i], size_bytes = GSR_CELL(model, blocks, reserved_bytes, row);
		const char *state = GSR_NAME(model, blocks, state, row);

		if (i > 0 && GSR_CELL(model, blocks, segment, row) != segment) {
			hole_end(model, &hole, segment, &pins, ret_holes);
			memset(&hole, 0, sizeof(hole));
		}
		segment = GSR_CELL(model, blocks, segment, row);
		if (strcmp(state, "live") == 0) {
			hole.after = hole.size_bytes > 0 ? row + 1 : 0;
			hole_end(model, &hole, segment, &pins, ret_holes);
			hole.before = row + 1;
			ret_holes->live_bytes += size_bytes;
			continue;
		}
		if (hole.size_bytes == 0)
			hole.address = GSR_CELL(model, blocks, address, row);
		hole.size_bytes += size_bytes;
		hole.pending_bytes += strcmp(state, "pending") == 0 ? size_bytes : 0;
	}
	if (rows > 0)
		hole_end(model, &hole, segment, &pins, ret_holes);
	qsort(ret_holes->holes, ret_holes->count, sizeof(*ret_holes->holes), by_size);
	ret_holes->pins = pins_end(&pins, &ret_holes->pin_count);
	free(order);
}

void gsr_holes_drop(struct gsr_holes *holes)
{
	free(holes->holes);
	free(holes->pins);
}

/* --- PyTorch's --------------------------------------------------------------------------------------------------- */

struct tensor {
	uint64_t start, size_bytes, stack;
};

static int by_start(const void *left, const void *right)
{
	const struct tensor *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static struct tensor *tensors_read(const struct gsr_model *model, size_t *ret_count)
{
	struct tensor *tensors = or_end(calloc(GSR_ROWS(model, live) + 1, sizeof(*tensors)));
	size_t count = 0;

	for (size_t row = 0; row < GSR_ROWS(model, live); row++)
		if (strcmp(GSR_NAME(model, live, class, row), "tensor") == 0)
			tensors[count++] = (struct tensor){GSR_CELL(model, live, address, row),
							   GSR_CELL(model, live, size_bytes, row),
							   GSR_CELL(model, live, stack, row)};
	qsort(tensors, count, sizeof(*tensors), by_start);
	*ret_count = count;
	return tensors;
}

/* One segment, with the tensors that begin in it. */
static void segment_read(const struct gsr_torch_block *block, const struct tensor *tensors, size_t count, struct pins *pins,
			 struct gsr_torch_waste *waste)
{
	uint64_t size_bytes = block->end - block->start, at = block->start, used = 0, pages = 0;

	for (size_t i = 0; i < count; i++) {
		if (tensors[i].start > at)
			pages += whole_bytes(at, tensors[i].start);
		at = tensors[i].start + tensors[i].size_bytes > at ? tensors[i].start + tensors[i].size_bytes : at;
		used += tensors[i].size_bytes;
	}
	if (at < block->end)
		pages += whole_bytes(at, block->end);
	waste->segments++;
	waste->held_bytes += size_bytes;
	waste->tensor_bytes += used;
	if (count == 0) {
		waste->empty_segments++;
		waste->empty_bytes += size_bytes;
		return;
	}
	used = used < size_bytes ? used : size_bytes;
	waste->pinned_bytes += size_bytes - used;
	waste->page_bytes += pages;
	for (size_t i = 0; i < count; i++)
		pin_add(pins, tensors[i].stack, (size_bytes - used) / count, tensors[i].size_bytes);
}

void gsr_torch_waste_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_torch_waste *ret_waste)
{
	struct gsr_torch_blocks blocks;
	struct pins pins = {.places = places};
	size_t count, at = 0;
	struct tensor *tensors;

	memset(ret_waste, 0, sizeof(*ret_waste));
	if (gsr_live_total(model, "tensor", GS_KEY(live_totals, total_count)) == 0)
		return;
	tensors = tensors_read(model, &count);
	blocks = gsr_torch_blocks_read(model);
	for (size_t i = 0; i < blocks.count; i++) {
		size_t first;

		while (at < count && tensors[at].start < blocks.blocks[i].start)
			at++;
		first = at;
		while (at < count && tensors[at].start < blocks.blocks[i].end)
			at++;
		if (blocks.blocks[i].is_torch)
			segment_read(&blocks.blocks[i], &tensors[first], at - first, &pins, ret_waste);
	}
	ret_waste->pins = pins_end(&pins, &ret_waste->pin_count);
	free(blocks.blocks);
	free(tensors);
}

void gsr_torch_waste_drop(struct gsr_torch_waste *waste)
{
	free(waste->pins);
}
