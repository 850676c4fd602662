/* See torch.h. */
#include "report/torch.h"

#include <stdlib.h>
#include <string.h>

static int by_start(const void *left, const void *right)
{
	const struct gsr_torch_block *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static struct gsr_torch_blocks blocks_read(const struct gsr_model *model)
{
	size_t most = GSR_ROWS(model, blocks) + GSR_ROWS(model, live) + 1;
	struct gsr_torch_blocks blocks = {.blocks = calloc(most, sizeof(*blocks.blocks))};

	if (blocks.blocks == NULL)
		abort();
	for (size_t row = 0; row < GSR_ROWS(model, blocks); row++) {
		uint64_t start = GSR_CELL(model, blocks, address, row);

		if (strcmp(GSR_NAME(model, blocks, state, row), "live") != 0)
			continue;
		blocks.blocks[blocks.count++] =
		    (struct gsr_torch_block){.start = start,
				   .end = start + GSR_CELL(model, blocks, reserved_bytes, row),
				   .time_ns = (int64_t)GSR_CELL(model, blocks, time_ns, row),
				   .stack = GSR_CELL(model, blocks, stack, row)};
	}
	for (size_t row = 0; row < GSR_ROWS(model, live); row++) {
		uint64_t start = GSR_CELL(model, live, address, row);

		if (strcmp(GSR_NAME(model, live, class, row), "driver") != 0)
			continue;
		blocks.blocks[blocks.count++] =
		    (struct gsr_torch_block){.start = start,
				   .end = start + GSR_CELL(model, live, size_bytes, row),
				   .time_ns = (int64_t)GSR_CELL(model, live, time_ns, row),
				   .stack = GSR_CELL(model, live, stack, row),
				   .is_driver = true};
	}
	qsort(blocks.blocks, blocks.count, sizeof(*blocks.blocks), by_start);
	return blocks;
}

static struct gsr_torch_block *block_of(const struct gsr_torch_blocks *blocks, uint64_t address)
{
	size_t low = 0, high = blocks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blocks->blocks[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < blocks->blocks[low - 1].end ? &blocks->blocks[low - 1] : NULL;
}

static void mark(const struct gsr_torch_blocks *blocks, uint64_t address, int64_t time_ns)
{
	struct gsr_torch_block *block = block_of(blocks, address);

	if (block != NULL && time_ns >= block->time_ns)
		block->is_torch = true;
}

static void tensors_mark(const struct gsr_model *model, const struct gsr_torch_blocks *blocks)
{
	const struct gsr_texts *types = &GSR_TABLE(model, events)->names[GS_SNAP_events_type];
	size_t tensor_alloc = gsr_name_find(types, "tensor_alloc");
	int64_t time_ns = 0;

	for (size_t row = 0; row < GSR_ROWS(model, live); row++)
		if (strcmp(GSR_NAME(model, live, class, row), "tensor") == 0)
			mark(blocks, GSR_CELL(model, live, address, row), INT64_MAX);
	for (size_t row = 0; row < GSR_ROWS(model, events); row++) {
		time_ns += (int64_t)GSR_CELL(model, events, time_delta_ns, row);
		if (GSR_CELL(model, events, type, row) == tensor_alloc)
			mark(blocks, GSR_CELL(model, events, address, row), time_ns);
	}
}

/* Stacks with a frame in libc10_cuda; parents come first. */
static void stacks_mark(const struct gsr_model *model, const struct gsr_torch_blocks *blocks)
{
	bool *is_torch = calloc(GSR_ROWS(model, stacks) + 1, sizeof(*is_torch));

	if (is_torch == NULL)
		abort();
	for (size_t stack = 1; stack < GSR_ROWS(model, stacks); stack++) {
		uint64_t frame = GSR_CELL(model, stacks, frame, stack);

		is_torch[stack] = is_torch[GSR_CELL(model, stacks, parent, stack)];
		if (frame == 0 || strcmp(GSR_NAME(model, frames, kind, frame), "native") != 0)
			continue;
		if (strstr(gsr_module_path(model, frame), "/libc10_cuda") != NULL)
			is_torch[stack] = true;
	}
	for (size_t i = 0; i < blocks->count; i++)
		if (is_torch[blocks->blocks[i].stack])
			blocks->blocks[i].is_torch = true;
	free(is_torch);
}

struct gsr_torch_blocks gsr_torch_blocks_read(const struct gsr_model *model)
{
	struct gsr_torch_blocks blocks = blocks_read(model);

	tensors_mark(model, &blocks);
	stacks_mark(model, &blocks);
	return blocks;
}

void gsr_torch_read(const struct gsr_model *model, struct gsr_torch *ret_torch)
{
	struct gsr_torch_blocks blocks;

	memset(ret_torch, 0, sizeof(*ret_torch));
	ret_torch->seen = gsr_live_total(model, "tensor", GS_KEY(live_totals, total_count)) > 0;
	if (!ret_torch->seen)
		return;
	ret_torch->tensor_bytes = gsr_live_total(model, "tensor", GS_KEY(live_totals, bytes));
	ret_torch->tensor_count = gsr_live_total(model, "tensor", GS_KEY(live_totals, count));
	blocks = gsr_torch_blocks_read(model);
	for (size_t i = 0; i < blocks.count; i++) {
		uint64_t size_bytes = blocks.blocks[i].end - blocks.blocks[i].start;

		if (blocks.blocks[i].is_driver && !blocks.blocks[i].is_torch)
			continue;
		*(blocks.blocks[i].is_torch ? &ret_torch->held_bytes : &ret_torch->outside_bytes) += size_bytes;
		*(blocks.blocks[i].is_torch ? &ret_torch->held_count : &ret_torch->outside_count) += 1;
	}
	if (ret_torch->held_bytes > ret_torch->tensor_bytes)
		ret_torch->cached_bytes = ret_torch->held_bytes - ret_torch->tensor_bytes;
	free(blocks.blocks);
}
