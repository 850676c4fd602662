/* See html_state.h. */
#include "report/html_state.h"

#include <stdlib.h>
#include <string.h>

static void *or_end(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

/* --- extents ----------------------------------------------------------------------------------------------------- */

/* Those that are there now, by address, without overlap. */
struct present {
	struct gsr_extent *all;
	size_t count, capacity;
	struct gsr_state *state; /* where those that end go; NULL = nowhere */
};

static void extent_keep(struct gsr_state *state, const struct gsr_extent *extent)
{
	if (state == NULL || extent->born == extent->died)
		return;
	if (state->extent_count == state->extent_capacity) {
		state->extent_capacity = state->extent_capacity == 0 ? 256 : state->extent_capacity * 2;
		state->extents =
			or_end(realloc(state->extents, state->extent_capacity * sizeof(*state->extents)));
	}
	state->extents[state->extent_count++] = *extent;
}

/* The first one that ends after the address. */
static size_t present_find(const struct present *present, uint64_t address)
{
	size_t low = 0, high = present->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (present->all[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void present_insert(struct present *present, size_t at, const struct gsr_extent *extent)
{
	if (present->count == present->capacity) {
		present->capacity = present->capacity == 0 ? 256 : present->capacity * 2;
		present->all = or_end(realloc(present->all, present->capacity * sizeof(*present->all)));
	}
	memmove(present->all + at + 1, present->all + at, (present->count - at) * sizeof(*present->all));
	present->all[at] = *extent;
	present->count++;
}

/* Takes the range out; what is cut off ends at the event. */
static void present_cut(struct present *present, uint64_t address, uint64_t end, uint32_t event)
{
	size_t at = present_find(present, address);

	while (at < present->count && present->all[at].address < end) {
		struct gsr_extent whole = present->all[at], part = whole;

		part.address = whole.address > address ? whole.address : address;
		part.end = whole.end < end ? whole.end : end;
		part.died = event;
		extent_keep(present->state, &part);
		present->count--;
		memmove(present->all + at, present->all + at + 1, (present->count - at) * sizeof(*present->all));
		if (whole.address < part.address) {
			struct gsr_extent left = whole;

			left.end = part.address;
			present_insert(present, at++, &left);
		}
		if (part.end < whole.end) {
			struct gsr_extent right = whole;

			right.address = part.end;
			present_insert(present, at++, &right);
		}
	}
}

static void present_add(struct present *present, uint64_t address, uint64_t end, uint32_t event, uint64_t device)
{
	struct gsr_extent extent = {address, end, event, GSR_NEVER, (uint32_t)device};

	if (address >= end)
		return;
	present_cut(present, address, end, event);
	present_insert(present, present_find(present, address), &extent);
}

/* The segments as they were before the history: those of the end, with every event undone. */
static void start_find(const struct gsr_model *model, size_t map, size_t unmap, struct present *present)
{
	for (size_t row = 0; row < GSR_ROWS(model, segments); row++) {
		uint64_t address = GSR_CELL(model, segments, address, row);

		present_add(present, address, address + GSR_CELL(model, segments, size_bytes, row), 0,
			    GSR_CELL(model, segments, device, row));
	}
	for (size_t row = GSR_ROWS(model, events); row-- > 0;) {
		uint64_t type = GSR_CELL(model, events, type, row), address = GSR_CELL(model, events, address, row);
		uint64_t end = address + GSR_CELL(model, events, size_bytes, row);

		if (type == map)
			present_cut(present, address, end, 0);
		else if (type == unmap)
			present_add(present, address, end, 0, GSR_CELL(model, events, device, row));
	}
}

static void extents_read(const struct gsr_model *model, struct gsr_state *state)
{
	const struct gsr_texts *types = &GSR_TABLE(model, events)->names[GS_SNAP_events_type];
	size_t map = gsr_name_find(types, "segment_map"), unmap = gsr_name_find(types, "segment_unmap");
	struct present present = {0};

	start_find(model, map, unmap, &present);
	present.state = state;
	for (uint32_t row = 0; row < GSR_ROWS(model, events); row++) {
		uint64_t type = GSR_CELL(model, events, type, row), address = GSR_CELL(model, events, address, row);
		uint64_t end = address + GSR_CELL(model, events, size_bytes, row);

		if (type == map)
			present_add(&present, address, end, row + 1, GSR_CELL(model, events, device, row));
		else if (type == unmap)
			present_cut(&present, address, end, row + 1);
	}
	for (size_t i = 0; i < present.count; i++)
		extent_keep(state, &present.all[i]);
	free(present.all);
}

/* --- pending ----------------------------------------------------------------------------------------------------- */

/* Freed blocks that are not free for everybody yet: a bit for each address that a block ever had, in their order. */
struct pending {
	uint64_t *addresses;
	size_t count;
	uint64_t *bits;
	uint32_t *item; /* by address: the one that was freed there last */
};

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static size_t pending_find(const struct pending *pending, uint64_t address)
{
	size_t low = 0, high = pending->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pending->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What is pending within the range is so no more. */
static void pending_end(struct pending *pending, uint64_t address, uint64_t size_bytes, uint32_t event, uint32_t *done)
{
	size_t at = pending_find(pending, address);

	while (at < pending->count && pending->addresses[at] - address < size_bytes) {
		uint64_t bits = pending->bits[at / 64] >> at % 64;

		if (bits == 0) {
			at = (at / 64 + 1) * 64;
			continue;
		}
		at += (size_t)__builtin_ctzll(bits);
		if (at >= pending->count || pending->addresses[at] - address >= size_bytes)
			return;
		pending->bits[at / 64] &= ~(1ull << at % 64);
		done[pending->item[at]] = event;
		at++;
	}
}

static uint64_t item_address(const struct gsr_replay *replay, size_t item)
{
	return gsr_item_address(&replay->items[item], replay->origins[replay->items[item].origin].sort);
}

/* A block that is stitched from pieces of others has an address where no segment is; it is in use or it is not. */
static bool is_pendable(const struct gsr_replay *replay, const struct present *segments, size_t item)
{
	uint64_t address = item_address(replay, item);
	size_t at = present_find(segments, address);

	return replay->origins[replay->items[item].origin].sort == GSR_SORT_INDEX_BLOCK && at < segments->count &&
	       segments->all[at].address <= address;
}

static void pending_init(struct pending *pending, const struct gsr_replay *replay, const struct present *segments)
{
	pending->addresses = or_end(calloc(replay->item_count + 1, sizeof(*pending->addresses)));
	for (size_t i = 0; i < replay->item_count; i++)
		if (is_pendable(replay, segments, i))
			pending->addresses[pending->count++] = item_address(replay, i);
	qsort(pending->addresses, pending->count, sizeof(*pending->addresses), by_value);
	for (size_t i = 0, kept = 0, count = pending->count; i < count; i++) {
		if (kept == 0 || pending->addresses[kept - 1] != pending->addresses[i])
			pending->addresses[kept++] = pending->addresses[i];
		pending->count = kept;
	}
	pending->bits = or_end(calloc(pending->count / 64 + 1, sizeof(*pending->bits)));
	pending->item = or_end(calloc(pending->count + 1, sizeof(*pending->item)));
}

/* Items by the event that ended them; item_count where it ended none. */
static uint32_t *ends_read(const struct gsr_model *model, const struct gsr_replay *replay,
			   const struct present *segments)
{
	size_t events = GSR_ROWS(model, events);
	uint32_t *ended = or_end(malloc((events + 1) * sizeof(*ended)));

	for (size_t i = 0; i <= events; i++)
		ended[i] = (uint32_t)replay->item_count;
	for (size_t i = 0; i < replay->item_count; i++)
		if (is_pendable(replay, segments, i) && replay->items[i].died != GSR_NEVER)
			ended[replay->items[i].died] = (uint32_t)i;
	return ended;
}

static void pending_read(const struct gsr_model *model, const struct gsr_replay *replay, const struct present *segments,
			 uint32_t *done)
{
	const struct gsr_texts *types = &GSR_TABLE(model, events)->names[GS_SNAP_events_type];
	size_t alloc = gsr_name_find(types, "alloc"), free_done = gsr_name_find(types, "free_done");
	size_t unmap = gsr_name_find(types, "segment_unmap");
	uint32_t *ended = ends_read(model, replay, segments);
	struct pending pending = {0};

	pending_init(&pending, replay, segments);
	for (uint32_t row = 0; row < GSR_ROWS(model, events); row++) {
		uint64_t type = GSR_CELL(model, events, type, row), address = GSR_CELL(model, events, address, row);
		uint64_t size_bytes = GSR_CELL(model, events, size_bytes, row);
		uint32_t item = ended[row + 1];

		if (type == alloc || type == free_done || type == unmap)
			pending_end(&pending, address, size_bytes, row + 1, done);
		if (item < replay->item_count && type != alloc) {
			size_t at = pending_find(&pending, item_address(replay, item));

			done[item] = GSR_NEVER;
			pending.item[at] = item;
			pending.bits[at / 64] |= 1ull << at % 64;
		}
	}
	free(pending.addresses);
	free(pending.bits);
	free(pending.item);
	free(ended);
}

void gsr_state_read(const struct gsr_model *model, const struct gsr_replay *replay, struct gsr_state *ret_state)
{
	struct present segments = {0};

	memset(ret_state, 0, sizeof(*ret_state));
	extents_read(model, ret_state);
	ret_state->done = or_end(malloc((replay->item_count + 1) * sizeof(*ret_state->done)));
	for (size_t i = 0; i < replay->item_count; i++)
		ret_state->done[i] = replay->items[i].died;
	for (size_t i = 0; i < ret_state->extent_count; i++)
		present_add(&segments, ret_state->extents[i].address, ret_state->extents[i].end, 0, 0);
	pending_read(model, replay, &segments, ret_state->done);
	free(segments.all);
}

void gsr_state_drop(struct gsr_state *state)
{
	free(state->extents);
	free(state->done);
}
