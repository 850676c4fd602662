/* See grow.h. Growing goes: choose a hole, prepare (take all nodes, detach the hole), map (driver calls, only GROW held),
 * publish or abandon. Where stitching pays, only what it lacks is mapped. */
#include "allocator/grow.h"

#include "allocator/arena.h"
#include "allocator/aside.h"
#include "allocator/bins.h"
#include "allocator/block.h"
#include "allocator/evict.h"
#include "allocator/fit.h"
#include "allocator/live.h"
#include "allocator/segment.h"
#include "allocator/stitch.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"

/* Where to grow, and by how much at least. */
struct place {
	struct gsa_block *hole;
	uint64_t least_bytes;
};

struct growth {
	struct gsa_block *block;     /* UNMAPPED and detached: the addresses to map */
	struct gsa_segment *segment; /* that they will belong to */
	struct gsa_handle *handles;  /* in address order, already in the map */
	struct gsa_handle *spares;   /* physical memory that is not needed after all */
};

/* Addresses for history, told when no lock is held. */
struct span {
	uint64_t address;
	uint64_t size_bytes;
};

/* True for errors that say nothing about virtual memory as such. */
static bool is_passing(int error)
{
	return error == GS_E_NO_MEMORY || error == GS_E_NO_HOST_MEMORY || error == GS_E_FORBIDDEN;
}

/* The hole that needs least new memory for the request, the smallest among equals. joins: with what is free beside it.
 * False: none will do. */
static bool choose_hole(struct gsa *allocator, const struct gsa_want *want, bool joins, struct place *ret_place)
{
	struct gsa_tag *tag = gsa_fit_tag(allocator, want->request);
	const struct gsa_bins *holes = &allocator->holes[want->pool];
	uint64_t size_bytes = want->size_bytes;
	struct gsa_block *hole = gsa_bins_from(holes, 0);
	struct place best = {0};

	for (; hole != NULL; hole = gsa_bins_next(holes, hole)) {
		uint64_t before_bytes = joins ? gsa_fit_before(hole, tag) : 0;
		uint64_t after_bytes = 0;
		uint64_t least_bytes;

		gsb_assert(before_bytes < size_bytes);
		least_bytes = gsa_round_up(size_bytes - before_bytes, allocator->options.granularity_bytes);
		if (least_bytes > hole->size_bytes) {
			after_bytes = joins ? gsa_fit_after(hole, tag) : 0;
			if (!joins || before_bytes + hole->size_bytes + after_bytes < size_bytes)
				continue;
			least_bytes = hole->size_bytes;
		}
		if (best.hole == NULL || least_bytes < best.least_bytes)
			best = (struct place){hole, least_bytes};
	}
	*ret_place = best;
	return best.hole != NULL;
}

static uint64_t step_bytes(const struct gsa *allocator, const struct gsa_want *want)
{
	uint64_t unit = allocator->options.granularity_bytes;
	uint64_t bytes = allocator->mapped_bytes[want->pool] / GSA_STEP_SHARE;
	uint64_t least_bytes = allocator->options.large_segment_bytes;

	if (bytes > GSA_STEP_MAX_BYTES)
		bytes = GSA_STEP_MAX_BYTES;
	if (want->pool == GSA_POOL_LARGE && want->size_bytes <= least_bytes / 2 && bytes < least_bytes)
		bytes = least_bytes;
	return bytes < unit ? unit : bytes / unit * unit;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Handles no larger than a small part of what the pool will hold, or of what is mapped: large ones are cheaper, small ones sooner
 * wholly idle. */
static uint64_t most_handle_bytes(const struct gsa *allocator, const struct growth *growth)
{
	uint64_t growth_bytes = growth->block->size_bytes, unit = allocator->options.granularity_bytes, bytes = unit;
	uint64_t pool_bytes = allocator->mapped_bytes[growth->segment->pool] + growth_bytes;
	uint64_t large_bytes = least_of(growth_bytes / GSA_HANDLE_LARGE_PIECES, GSA_HANDLE_LARGE_BYTES) / unit * unit;

	if (growth->segment->kind == GSA_SEGMENT_FIXED)
		return UINT64_MAX;
	while (bytes < GSA_HANDLE_MAX_BYTES && (bytes * 2 * GSA_HANDLE_SHARE <= pool_bytes ||
						bytes * 2 * GSA_HANDLE_PIECES <= growth_bytes))
		bytes *= 2;
	if (bytes > unit)
		bytes = least_of(bytes, GSA_HANDLE_MAX_BYTES / unit * unit);
	return bytes > large_bytes ? bytes : large_bytes;
}

/* Takes the growth's nodes out of the map; what is behind them becomes spare. ALLOCATOR lock held. */
static void abandon(struct gsa *allocator, struct growth *growth)
{
	struct gsa_handle *handle;

	while ((handle = growth->handles) != NULL) {
		growth->handles = handle->next;
		gsa_map_remove(&allocator->handles, &allocator->map_slabs, handle->address);
		if (handle->made) {
			handle->next = growth->spares;
			growth->spares = handle;
		} else {
			gsb_slab_give(&allocator->handle_slab, handle);
		}
	}
	if (growth->segment != NULL && growth->segment->kind == GSA_SEGMENT_FIXED) {
		gsa_map_remove(&allocator->segments, &allocator->map_slabs, growth->segment->address);
		gsb_slab_give(&allocator->segment_slab, growth->segment);
	}
	gsa_block_settle(allocator, growth->block, GSA_BLOCK_UNMAPPED, NULL);
}

static int prepare_segment(struct gsa *allocator, enum gsa_pool pool, struct growth *growth)
{
	struct gsa_segment *segment = allocator->expandable[pool];
	int error;

	if (segment == NULL) {
		segment = gsb_slab_take(&allocator->segment_slab);
		if (segment == NULL)
			return GS_E_NO_HOST_MEMORY;
		*segment = (struct gsa_segment){
		    .kind = GSA_SEGMENT_FIXED, .pool = pool, .address = growth->block->address, .first = growth->block};
		error = gsa_map_insert(&allocator->segments, &allocator->map_slabs, segment->address, segment);
		if (error != GS_OK) {
			gsb_slab_give(&allocator->segment_slab, segment);
			return error;
		}
	}
	growth->segment = segment;
	return GS_OK;
}

static int prepare_handles(struct gsa *allocator, struct growth *growth)
{
	uint64_t end = gsa_block_end(growth->block);
	uint64_t most_bytes = most_handle_bytes(allocator, growth);
	struct gsa_handle **link = &growth->handles;

	for (uint64_t at = growth->block->address; at < end; at += (*link)->size_bytes, link = &(*link)->next) {
		struct gsa_handle *handle = gsb_slab_take(&allocator->handle_slab);
		int error;

		if (handle == NULL)
			return GS_E_NO_HOST_MEMORY;
		handle->address = at;
		handle->size_bytes = end - at < most_bytes ? end - at : most_bytes;
		error = gsa_map_insert(&allocator->handles, &allocator->map_slabs, at, handle);
		if (error != GS_OK) {
			gsb_slab_give(&allocator->handle_slab, handle);
			return error;
		}
		*link = handle;
	}
	return GS_OK;
}

/* Detaches the first `bytes` of the hole and takes every node that mapping them needs. ALLOCATOR lock held. */
static int prepare(struct gsa *allocator, enum gsa_pool pool, struct gsa_block *hole, uint64_t bytes,
		   struct growth *growth)
{
	int error = gsb_slab_reserve(&allocator->block_slab, 1);

	if (error != GS_OK)
		return error;
	if (bytes < hole->size_bytes)
		gsa_block_cut(allocator, hole, bytes);
	gsa_block_leave(allocator, hole);
	growth->block = hole;
	error = prepare_segment(allocator, pool, growth);
	if (error == GS_OK)
		error = prepare_handles(allocator, growth);
	if (error != GS_OK)
		abandon(allocator, growth);
	return error;
}

static int map_handle(struct gsa *allocator, struct gsa_handle *handle, const char **ret_call)
{
	int error = allocator->ops.create(allocator->device, handle->size_bytes, &handle->value);

	*ret_call = "creating memory";
	if (error != GS_OK)
		return error;
	handle->made = true;
	*ret_call = "mapping memory";
	return allocator->ops.map(allocator->device, handle->address, handle->size_bytes, handle->value);
}

/* Asked once more if the driver does not want to: what stays mapped is lost. */
static void unmap_handle(struct gsa *allocator, struct gsa_handle *handle)
{
	int error = allocator->ops.unmap(allocator->device, handle->address, handle->size_bytes);

	if (error != GS_OK)
		error = allocator->ops.unmap(allocator->device, handle->address, handle->size_bytes);
	if (error == GS_OK)
		return;
	handle->made = false; /* addresses in an unknown state: never map here again, nor release what is there */
	gsa_arena_refuse(allocator, "unmapping memory", error);
}

/* The driver's part, with GROW held: all handles are mapped and accessible, or none. */
static int map_all(struct gsa *allocator, struct growth *growth)
{
	struct gsa_handle *handle = growth->handles;
	const char *call = NULL;
	int error = GS_OK;

	for (; handle != NULL && error == GS_OK; handle = error == GS_OK ? handle->next : handle)
		error = map_handle(allocator, handle, &call);
	if (error == GS_OK) {
		call = "setting access";
		error = allocator->ops.set_access(allocator->device, growth->block->address, growth->block->size_bytes);
	}
	if (error == GS_OK)
		return GS_OK;
	for (struct gsa_handle *undo = growth->handles; undo != handle; undo = undo->next)
		unmap_handle(allocator, undo);
	if (is_passing(error))
		return error;
	gsa_arena_refuse(allocator, call, error);
	return GS_E_UNSUPPORTED;
}

/* ALLOCATOR lock held. */
static void publish(struct gsa *allocator, struct growth *growth)
{
	growth->block->segment = growth->segment;
	growth->segment->mapped_bytes += growth->block->size_bytes;
	allocator->mapped_bytes[growth->segment->pool] += growth->block->size_bytes;
	gsa_block_settle(allocator, growth->block, GSA_BLOCK_IDLE, NULL);
	for (const struct gsa_handle *handle = growth->handles; handle != NULL; handle = handle->next)
		allocator->made_handles++;
	allocator->stats.grows++;
	allocator->vmm_worked = true;
}

/* Serves the request if it can be by now; if not, says where to grow: GS_E_NOT_FOUND. ALLOCATOR lock held. */
static int choose(struct gsa *allocator, const struct gsa_want *want, bool joins, struct gsa_block_info *ret_info,
		  struct place *ret_place)
{
	int error = gsa_live_serve(allocator, want, ret_info); /* another thread may have grown */

	if (error != GS_E_NOT_FOUND)
		return error;
	if (allocator->plain_only)
		return GS_E_UNSUPPORTED;
	return choose_hole(allocator, want, joins, ret_place) ? GS_E_NOT_FOUND : GS_E_NO_MEMORY;
}

/* How much to map at the place. generous: a whole step if the request needs less, and the step may be cut. */
static uint64_t amount(const struct gsa *allocator, const struct gsa_want *want, const struct place *place,
		       bool generous)
{
	uint64_t bytes = place->least_bytes, step = step_bytes(allocator, want);
	bool cuts = allocator->options.expandable || allocator->options.max_split_bytes == 0 ||
		    step <= allocator->options.max_split_bytes;

	if (generous && cuts && bytes < step)
		bytes = step;
	return bytes < place->hole->size_bytes ? bytes : place->hole->size_bytes;
}

/* What a growth came to. */
struct outcome {
	struct span span; /* that was mapped */
	bool less;	  /* less would have done */
	bool stitch;	  /* free memory is enough now, in pieces */
};

enum manner { MANNER_STITCH, MANNER_GENEROUS, MANNER_LEAST, MANNER_ALONE };

/* One growth, with GROW held. GS_E_NOT_FOUND: stitching is next. */
static int grow_once(struct gsa *allocator, const struct gsa_want *want, enum manner manner,
		     struct gsa_block_info *ret_info, struct outcome *ret_outcome)
{
	struct growth growth = {0};
	struct place place;
	uint64_t bytes;
	int error;

	*ret_outcome = (struct outcome){0};
	gsa_acquire(allocator);
	error = choose(allocator, want, allocator->options.expandable && manner != MANNER_ALONE, ret_info, &place);
	if (error != GS_E_NOT_FOUND)
		goto unlock;
	ret_outcome->stitch = manner == MANNER_STITCH && gsa_stitch_pays(allocator, want, place.least_bytes, &bytes);
	if (!ret_outcome->stitch)
		bytes = amount(allocator, want, &place, manner < MANNER_LEAST);
	if (bytes == 0)
		goto unlock;
	error = GS_E_NO_MEMORY;
	ret_outcome->less = !ret_outcome->stitch && bytes > place.least_bytes;
	if (gsa_segment_over_limit(allocator, bytes))
		goto unlock;
	error = prepare(allocator, want->pool, place.hole, bytes, &growth);
	if (error != GS_OK)
		goto unlock;
	gsb_lock_release(&allocator->lock);
	error = map_all(allocator, &growth);
	gsa_acquire(allocator);
	if (error != GS_OK) {
		abandon(allocator, &growth);
		goto unlock;
	}
	ret_outcome->span = (struct span){growth.block->address, growth.block->size_bytes};
	publish(allocator, &growth);
	error = gsa_live_serve(allocator, want, ret_info);
	if (error == GS_E_NOT_FOUND && !ret_outcome->stitch)
		error = GS_E_BUSY;
unlock:
	gsb_lock_release(&allocator->lock);
	gsa_evict_release(allocator, growth.spares);
	return error;
}

static void tell(struct gsa *allocator, const struct outcome *outcome)
{
	if (outcome->span.size_bytes > 0)
		gsa_segment_tell(allocator, true, outcome->span.address, outcome->span.size_bytes);
}

int gsa_grow(struct gsa *allocator, const struct gsa_want *want, bool alone, struct gsa_block_info *ret_info)
{
	struct outcome first = {0};
	struct outcome second = {0};
	int error;

	if (!allocator->options.use_vmm)
		return GS_E_UNSUPPORTED;
	if (want->pool == GSA_POOL_LARGE)
		gsa_stitch_learn(allocator, false);
	gsb_lock_acquire(&allocator->grow_lock);
	error = gsa_arena_reserve(allocator);
	if (error == GS_OK)
		error = grow_once(allocator, want, alone ? MANNER_ALONE : MANNER_STITCH, ret_info, &first);
	if (error == GS_E_NOT_FOUND && (error = gsa_stitch_make(allocator, want, ret_info)) != GS_OK)
		error = grow_once(allocator, want, MANNER_GENEROUS, ret_info, &second);
	if (error == GS_E_NO_MEMORY && (first.less || second.less))
		error = grow_once(allocator, want, MANNER_LEAST, ret_info, &second);
	gsb_lock_release(&allocator->grow_lock);
	tell(allocator, &first);
	tell(allocator, &second);
	return error;
}
