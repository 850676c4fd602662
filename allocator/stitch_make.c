/* Making a stitched segment (stitch.h): plan which handle comes where, lend them (SHADOW at home), map them (driver
 * calls, only GROW held), publish or give back. */
#include "allocator/arena.h"
#include "allocator/aside.h"
#include "allocator/fit.h"
#include "allocator/live.h"
#include "allocator/stitch_parts.h"
#include "allocator/stitch_plan.h"
#include "allocator/tag.h"
#include "shim/base/err.h"

/* New segments have room behind for 1/ROOM_SHARE more. */
#define ROOM_SHARE 8u

/* Not to be found by others while its handles change. */
static void take_out(struct gsa *allocator, struct gsa_segment *segment)
{
	struct gsa_segment **link = &allocator->stitched;

	while (*link != segment)
		link = &(*link)->next_stitched;
	*link = segment->next_stitched;
	allocator->stitched_count--;
	gsa_map_remove(&allocator->segments, &allocator->map_slabs, segment->address);
}

static int make_segment(struct gsa *allocator, struct gsa_making *making)
{
	struct gsa_segment *segment = gsb_slab_take(&allocator->segment_slab);

	if (segment == NULL)
		return GS_E_NO_HOST_MEMORY;
	segment->kind = GSA_SEGMENT_STITCHED;
	segment->pool = GSA_POOL_LARGE;
	segment->first = gsb_slab_take(&allocator->block_slab);
	if (segment->first == NULL) {
		gsa_stitch_forget(allocator, segment);
		return GS_E_NO_HOST_MEMORY;
	}
	segment->first->segment = segment;
	making->segment = segment;
	return GS_OK;
}

/* ALLOCATOR lock held. */
static int prepare(struct gsa *allocator, const struct gsa_want *want, struct gsa_making *making)
{
	making->tag = gsa_fit_tag(allocator, want->request);
	making->need_bytes = gsa_stitch_needed(allocator, want);
	gsa_stitch_plan(allocator, want, making);
	if (making->error == GS_OK && !making->again)
		making->error = make_segment(allocator, making);
	if (making->error != GS_OK)
		return making->error;
	making->error = gsb_slab_reserve(&allocator->block_slab, 2 * making->slot_count);
	if (making->error == GS_OK)
		making->error = gsa_stitch_make_runs(allocator, making);
	if (making->error != GS_OK) {
		if (!making->again)
			gsa_stitch_forget(allocator, making->segment);
		return making->error;
	}
	if (making->again)
		take_out(allocator, making->segment);
	making->block = gsa_stitch_occupy(allocator, making->segment, want->size_bytes);
	if (making->tag != NULL)
		making->tag->pins++;
	return GS_OK;
}

/* --- mapping; only GROW held -------------------------------------------------------------------------------------- */

static void unmap_slots(struct gsa *allocator, const struct gsa_making *making)
{
	uint64_t at = making->segment->address;
	int error = GS_OK;

	for (size_t i = 0; i < making->slot_count; at += making->slots[i++].handle->size_bytes) {
		uint64_t bytes = making->slots[i].old_bytes;

		if (bytes != 0 && allocator->ops.unmap(allocator->device, at, bytes) != GS_OK &&
		    allocator->ops.unmap(allocator->device, at, bytes) != GS_OK)
			error = GS_E_DRIVER;
	}
	if (error == GS_OK)
		allocator->ops.unreserve(allocator->device, making->segment->address, making->segment->reserved_bytes);
	else
		gsa_arena_refuse(allocator, "unmapping memory", error);
}

static int map_slot(struct gsa *allocator, struct gsa_slot *slot, uint64_t at)
{
	uint64_t bytes = slot->handle->size_bytes;
	int error = slot->old_bytes != 0 ? allocator->ops.unmap(allocator->device, at, slot->old_bytes) : GS_OK;

	if (error != GS_OK)
		return error;
	slot->old_bytes = 0;
	error = allocator->ops.map(allocator->device, at, bytes, slot->handle->value);
	slot->old_bytes = error == GS_OK ? bytes : 0;
	return error;
}

/* Access to all that is new, a row of slots at a time. */
static int allow_access(struct gsa *allocator, const struct gsa_making *making)
{
	uint64_t at = making->segment->address, bytes = 0;
	int error = GS_OK;

	for (size_t i = 0; i < making->slot_count && error == GS_OK; i++) {
		if (making->slots[i].fresh) {
			bytes += making->slots[i].handle->size_bytes;
			if (i + 1 < making->slot_count)
				continue;
		}
		if (bytes > 0)
			error = allocator->ops.set_access(allocator->device, at, bytes);
		at += bytes + (making->slots[i].fresh ? 0 : making->slots[i].handle->size_bytes);
		bytes = 0;
	}
	return error;
}

static int map_all(struct gsa *allocator, struct gsa_making *making)
{
	struct gsa_segment *segment = making->segment;
	uint64_t at;
	int error = GS_OK;

	if (!making->again) {
		segment->reserved_bytes = gsa_round_up(segment->whole_bytes + segment->whole_bytes / ROOM_SHARE,
						       allocator->options.granularity_bytes);
		error = allocator->ops.reserve(allocator->device, segment->reserved_bytes, &segment->address);
	}
	if (error != GS_OK)
		return error;
	at = segment->address;
	for (size_t i = 0; i < making->slot_count && error == GS_OK; at += making->slots[i++].handle->size_bytes)
		if (making->slots[i].fresh)
			error = map_slot(allocator, &making->slots[i], at);
	if (error == GS_OK)
		error = allow_access(allocator, making);
	if (error != GS_OK)
		unmap_slots(allocator, making);
	return error;
}

/* --- the end of it ------------------------------------------------------------------------------------------------ */

static unsigned count_fresh(const struct gsa_making *making)
{
	unsigned count = 0;

	for (size_t i = 0; i < making->slot_count; i++)
		count += making->slots[i].fresh;
	return count;
}

/* ALLOCATOR lock held. */
static int publish(struct gsa *allocator, const struct gsa_want *want, struct gsa_making *making,
		   struct gsa_block_info *ret_info)
{
	struct gsa_segment *segment = making->segment;
	int error = gsa_map_insert(&allocator->segments, &allocator->map_slabs, segment->address, segment);

	if (error != GS_OK)
		return error;
	segment->next_stitched = allocator->stitched;
	allocator->stitched = segment;
	allocator->stitched_count++;
	making->block->address = segment->address;
	gsa_live_enter(allocator, making->block, want->request, ret_info);
	return GS_OK;
}

/* The memory of a segment that was not to be goes home. It may have been pending: then it is again, and for a fence
 * that is still to be recorded. ALLOCATOR lock held. */
static void give_up(struct gsa *allocator, struct gsa_making *making)
{
	making->block->free_serial = ++allocator->free_serial;
	gsa_stitch_return(allocator, making->block, making->tag);
	gsa_stitch_forget(allocator, making->segment);
}

/* Maps and publishes what was prepared. GROW held, ALLOCATOR not. */
static int finish(struct gsa *allocator, const struct gsa_want *want, struct gsa_making *making,
		  struct gsa_block_info *ret_info)
{
	int error = map_all(allocator, making);

	gsa_acquire(allocator);
	allocator->stitched_handles += count_fresh(making);
	if (error == GS_OK) {
		error = publish(allocator, want, making, ret_info);
		if (error != GS_OK) {
			gsb_lock_release(&allocator->lock);
			unmap_slots(allocator, making);
			gsa_acquire(allocator);
		}
	}
	if (making->tag != NULL)
		making->tag->pins--;
	if (error != GS_OK)
		give_up(allocator, making);
	else
		allocator->stats.stitches++;
	if (making->tag != NULL)
		gsa_tag_retire(allocator, making->tag);
	gsb_lock_release(&allocator->lock);
	return error;
}

int gsa_stitch_make(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	struct gsa_making making = {0};
	int error;

	if (allocator->stitched_count >= GSA_STITCHED_MAX)
		gsa_stitch_drop_unused(allocator);
	if (allocator->stitched_count >= GSA_STITCHED_MAX)
		return GS_E_NOT_FOUND;
	gsa_acquire(allocator);
	error = prepare(allocator, want, &making);
	gsb_lock_release(&allocator->lock);
	if (error == GS_OK)
		error = finish(allocator, want, &making, ret_info);
	gsa_stitch_plan_drop(&making);
	return error;
}
