/* Which handle comes where in a stitched segment that is to be made; see stitch_plan.h.
 *
 * Where part of an older segment is free for the request, the rest of it is replaced: that is cheap for a program whose
 * steps vary. What is asked for again and again gets a segment of its own, so that a program whose steps repeat comes
 * to an end with mapping. */
#include "allocator/stitch_plan.h"

#include "allocator/addr_map.h"
#include "allocator/bins.h"
#include "allocator/fit.h"
#include "allocator/stitch_parts.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

/* A segment from before is mapped anew in parts when some of the handles that are needed would stay, unless requests of this size
 * came AGAIN_SIZES times of late. So many segments are looked at. */
#define AGAIN_SIZES 2u
#define AGAIN_LOOKS 16u

/* A handle of a size of which none is free is replaced by several, at most so many. */
#define PICKS 8u

static bool add_slot(struct gsa_making *making, struct gsa_slot slot)
{
	if (making->slot_count == making->slot_capacity) {
		size_t capacity = making->slot_capacity == 0 ? 256 : making->slot_capacity * 2;
		struct gsa_slot *slots = gsb_os_pages_map(capacity * sizeof(*slots));

		if (slots == NULL) {
			making->error = GS_E_NO_HOST_MEMORY;
			return false;
		}
		for (size_t i = 0; i < making->slot_count; i++)
			slots[i] = making->slots[i];
		if (making->slots != NULL)
			gsb_os_pages_unmap(making->slots, making->slot_capacity * sizeof(*slots));
		making->slots = slots;
		making->slot_capacity = capacity;
	}
	making->slots[making->slot_count++] = slot;
	making->slot_bytes += slot.handle->size_bytes;
	return true;
}

static bool collect_handle(void *user, struct gsa_handle *handle)
{
	struct gsa_making *making = user;

	return making->slot_bytes < making->need_bytes &&
	       add_slot(making, (struct gsa_slot){.handle = handle, .fresh = true});
}

struct longest {
	const struct gsa_block *first;
	uint64_t bytes;
};

/* The longest run in the bins that is shorter than `below`, or as long and begins behind it. */
static void find_longest(const struct gsa_bins *bins, const struct gsa_tag *tag, const struct longest *below,
			 struct longest *best)
{
	for (struct gsa_block *block = gsa_bins_from(bins, 0); block != NULL; block = gsa_bins_next(bins, block)) {
		uint64_t bytes;

		if (gsa_fit_before(block, tag) != 0)
			continue;
		bytes = block->size_bytes + gsa_fit_after(block, tag);
		if ((bytes < below->bytes || (bytes == below->bytes && block->address > below->first->address)) &&
		    (best->first == NULL || bytes > best->bytes ||
		     (bytes == best->bytes && block->address < best->first->address)))
			*best = (struct longest){block, bytes};
	}
}

/* The longest runs first: so there are few of them, and few ends of which no whole handle can be had. */
static void plan_new(struct gsa *allocator, struct gsa_making *making)
{
	struct longest below = {.bytes = UINT64_MAX}, best;

	while (making->slot_bytes < making->need_bytes && making->error == GS_OK) {
		best = (struct longest){0};
		find_longest(&allocator->idle[GSA_POOL_LARGE], making->tag, &below, &best);
		if (making->tag != NULL)
			find_longest(&making->tag->bins[GSA_POOL_LARGE], making->tag, &below, &best);
		if (best.first == NULL) {
			making->error = GS_E_NOT_FOUND;
			return;
		}
		gsa_stitch_walk_run(allocator, best.first, making->tag, collect_handle, making);
		below = best;
	}
}

/* How many handles of those that would be needed are not free, or not there; SIZE_MAX: all of them. */
static size_t count_missing(struct gsa *allocator, const struct gsa_segment *segment, const struct gsa_making *making)
{
	size_t count = 0, missing = 0;
	uint64_t bytes = 0;

	for (const struct gsa_run *run = segment->runs; run != NULL && bytes < making->need_bytes; run = run->next)
		for (uint64_t at = run->address;
		     at < run->address + run->size_bytes && bytes < making->need_bytes;) {
			const struct gsa_handle *handle = gsa_map_find(&allocator->handles, at);

			count++;
			missing += !gsa_stitch_is_free(allocator, at, handle->size_bytes, making->tag);
			bytes += handle->size_bytes;
			at += handle->size_bytes;
		}
	if (bytes < making->need_bytes) {
		size_t more = (size_t)((making->need_bytes - bytes) / (bytes / count) + 1);

		missing += more;
		count += more;
	}
	return missing < count ? missing : SIZE_MAX;
}

/* A segment from before of which little would change; NULL. */
static struct gsa_segment *find_similar(struct gsa *allocator, const struct gsa_making *making)
{
	struct gsa_segment *best = NULL;
	size_t least = SIZE_MAX;
	unsigned looks = 0;

	for (struct gsa_segment *segment = allocator->stitched; segment != NULL && looks < AGAIN_LOOKS;
	     segment = segment->next_stitched) {
		size_t missing;

		if (segment->reserved_bytes < making->need_bytes || !gsa_stitch_can_go(allocator, segment))
			continue;
		missing = count_missing(allocator, segment, making);
		looks++;
		if (missing < least) {
			least = missing;
			best = segment;
		}
	}
	return best;
}

static bool has_place(const struct gsa_making *making, const struct gsa_handle *handle)
{
	for (size_t i = 0; i < making->slot_count; i++)
		if (making->slots[i].handle == handle)
			return true;
	return false;
}

/* A free handle that has no place yet gets that of one of the same size which is lacking. */
static bool replace_handle(void *user, struct gsa_handle *handle)
{
	struct gsa_making *making = user;

	if (has_place(making, handle))
		return true;
	for (size_t i = 0; i < making->slot_count; i++)
		if (making->slots[i].lacks && making->slots[i].handle->size_bytes == handle->size_bytes) {
			making->slots[i].handle = handle;
			making->slots[i].fresh = true;
			making->slots[i].lacks = false;
			making->lacking--;
			return true;
		}
	if (making->spare_count < GSA_STITCH_SPARES)
		making->spares[making->spare_count++] = handle;
	return making->lacking > 0;
}

/* The spare handle of at most so many bytes that has most, taken out; NULL. */
static struct gsa_handle *take_spare(struct gsa_making *making, uint64_t most_bytes)
{
	size_t best = GSA_STITCH_SPARES;
	struct gsa_handle *handle;

	for (size_t i = 0; i < making->spare_count; i++)
		if (making->spares[i]->size_bytes <= most_bytes &&
		    (best == GSA_STITCH_SPARES || making->spares[i]->size_bytes > making->spares[best]->size_bytes))
			best = i;
	if (best == GSA_STITCH_SPARES)
		return NULL;
	handle = making->spares[best];
	making->spares[best] = making->spares[--making->spare_count];
	return handle;
}

/* Several smaller handles instead of one. False: there are none that fill the place. */
static bool replace_by_several(struct gsa_making *making, size_t at)
{
	uint64_t place_bytes = making->slots[at].handle->size_bytes, left_bytes = place_bytes;
	struct gsa_handle *picks[PICKS] = {NULL};
	size_t count = 0;

	while (left_bytes > 0 && count < PICKS && (picks[count] = take_spare(making, left_bytes)) != NULL)
		left_bytes -= picks[count++]->size_bytes;
	if (left_bytes > 0)
		return false;
	making->slots[at] = (struct gsa_slot){.handle = picks[0], .fresh = true, .old_bytes = place_bytes};
	making->slot_bytes -= place_bytes - picks[0]->size_bytes;
	while (--count > 0) {
		if (!add_slot(making, (struct gsa_slot){.handle = picks[count], .fresh = true}))
			return false;
		for (size_t i = making->slot_count - 1; i > at + 1; i--)
			making->slots[i] = making->slots[i - 1];
		making->slots[at + 1] = (struct gsa_slot){.handle = picks[count], .fresh = true};
	}
	making->lacking--;
	return true;
}

/* More of them at the end. */
static bool extend_handle(void *user, struct gsa_handle *handle)
{
	struct gsa_making *making = user;

	if (making->slot_bytes >= making->need_bytes)
		return false;
	if (has_place(making, handle) ||
	    making->slot_bytes + handle->size_bytes > making->segment->reserved_bytes)
		return true;
	return add_slot(making, (struct gsa_slot){.handle = handle, .fresh = true});
}

static void from_bins(struct gsa *allocator, const struct gsa_bins *bins, struct gsa_making *making,
		      gsa_stitch_add *add)
{
	struct gsa_block *block = gsa_bins_from(bins, 0);

	for (; block != NULL; block = gsa_bins_next(bins, block))
		if (gsa_fit_before(block, making->tag) == 0)
			gsa_stitch_walk_run(allocator, block, making->tag, add, making);
}

/* What is free of the segment stays; other handles come to the places of the rest of what is needed, and behind its
 * end. False: that cannot be had. */
static bool plan_again(struct gsa *allocator, struct gsa_segment *segment, struct gsa_making *making)
{
	making->segment = segment;
	for (const struct gsa_run *run = segment->runs; run != NULL; run = run->next)
		for (uint64_t at = run->address; at < run->address + run->size_bytes;) {
			struct gsa_slot slot = {.handle = gsa_map_find(&allocator->handles, at)};

			slot.old_bytes = slot.handle->size_bytes;
			slot.lacks = making->slot_bytes < making->need_bytes &&
				     !gsa_stitch_is_free(allocator, at, slot.handle->size_bytes, making->tag);
			making->lacking += slot.lacks;
			at += slot.handle->size_bytes;
			if (!add_slot(making, slot))
				return false;
		}
	from_bins(allocator, &allocator->idle[GSA_POOL_LARGE], making, replace_handle);
	if (making->tag != NULL)
		from_bins(allocator, &making->tag->bins[GSA_POOL_LARGE], making, replace_handle);
	for (size_t i = 0; i < making->slot_count && making->lacking > 0; i++)
		if (making->slots[i].lacks && !replace_by_several(making, i))
			break;
	from_bins(allocator, &allocator->idle[GSA_POOL_LARGE], making, extend_handle);
	if (making->tag != NULL)
		from_bins(allocator, &making->tag->bins[GSA_POOL_LARGE], making, extend_handle);
	return making->lacking == 0 && making->slot_bytes >= making->need_bytes;
}

/* Whether requests of this size came often of late; notes that one did. */
static bool comes_again(struct gsa *allocator, uint64_t size_bytes)
{
	unsigned count = 0;

	for (unsigned i = 0; i < GSA_STITCH_SIZES; i++)
		count += allocator->stitch_sizes[i] == size_bytes;
	allocator->stitch_sizes[allocator->stitch_next++ % GSA_STITCH_SIZES] = size_bytes;
	return count >= AGAIN_SIZES;
}

int gsa_stitch_make_runs(struct gsa *allocator, struct gsa_making *making)
{
	struct gsa_segment *segment = making->segment;
	struct gsa_segment made = {0};
	struct gsa_run *last = NULL;

	for (size_t i = 0; i < making->slot_count; i++) {
		const struct gsa_handle *handle = making->slots[i].handle;

		if (last == NULL || last->address + last->size_bytes != handle->address) {
			struct gsa_run *run = gsb_slab_take(&allocator->run_slab);

			if (run == NULL) {
				gsa_stitch_forget_runs(allocator, &made);
				return GS_E_NO_HOST_MEMORY;
			}
			run->address = handle->address;
			if (last != NULL)
				last->next = run;
			else
				made.runs = run;
			last = run;
			made.run_count++;
		}
		last->size_bytes += handle->size_bytes;
	}
	gsa_stitch_forget_runs(allocator, segment);
	segment->runs = made.runs;
	segment->run_count = made.run_count;
	segment->handle_count = (unsigned)making->slot_count;
	segment->whole_bytes = making->slot_bytes;
	return GS_OK;
}

void gsa_stitch_plan_drop(struct gsa_making *making)
{
	if (making->slots != NULL)
		gsb_os_pages_unmap(making->slots, making->slot_capacity * sizeof(*making->slots));
	making->slots = NULL;
	making->slot_count = making->slot_capacity = 0;
	making->slot_bytes = 0;
	making->spare_count = making->lacking = 0;
}

void gsa_stitch_plan(struct gsa *allocator, const struct gsa_want *want, struct gsa_making *making)
{
	struct gsa_segment *similar = comes_again(allocator, want->size_bytes) ? NULL : find_similar(allocator, making);

	if (similar != NULL && plan_again(allocator, similar, making)) {
		making->again = true;
		return;
	}
	making->segment = NULL;
	gsa_stitch_plan_drop(making);
	if (making->error == GS_OK)
		plan_new(allocator, making);
}
