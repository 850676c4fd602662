/* See arena.h. Growing goes: choose a hole, prepare (take all nodes, detach the hole), map (driver calls, only GROW
 * held), publish or abandon. */
#include "allocator/arena.h"

#include "allocator/bins.h"
#include "allocator/block.h"
#include "allocator/fit.h"
#include "allocator/live.h"
#include "allocator/segment.h"
#include "allocator/starts.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/log.h"

struct growth {
	struct gsa_block *block;     /* UNMAPPED and detached: the addresses to map */
	struct gsa_segment *segment; /* that they will belong to */
	struct gsa_handle *handles;  /* in address order, already in the map */
};

/* Addresses for history, told when no lock is held. */
struct span {
	uint64_t address;
	uint64_t size_bytes;
};

void gsa_arena_refuse(struct gsa *allocator, const char *call, int error)
{
	gsb_lock_acquire(&allocator->lock);
	allocator->plain_only = true;
	gsb_lock_release(&allocator->lock);
	gsb_log(GSB_LOG_INFO, "virtual memory management is refused (%s: %s): caching plain driver allocations instead",
		call, gs_error_text(error));
}

/* True for errors that say nothing about virtual memory as such. */
static bool is_passing(int error)
{
	return error == GS_E_NO_MEMORY || error == GS_E_NO_HOST_MEMORY || error == GS_E_FORBIDDEN;
}

/* Makes the addresses one hole of the pool, and its expandable segment. ALLOCATOR lock held. */
static int pool_open(struct gsa *allocator, enum gsa_pool pool, uint64_t address, uint64_t size_bytes)
{
	unsigned shift = pool == GSA_POOL_LARGE ? GSA_LARGE_UNIT_SHIFT : GSA_SMALL_UNIT_SHIFT;
	struct gsa_block *block = gsb_slab_take(&allocator->block_slab);
	struct gsa_segment *segment = NULL;
	int error = GS_E_NO_HOST_MEMORY;

	if (block == NULL)
		return error;
	error = gsa_starts_init(&allocator->starts[pool], address, size_bytes, shift);
	if (error != GS_OK)
		goto give_block;
	error = GS_E_NO_HOST_MEMORY;
	if (allocator->options.expandable) {
		segment = gsb_slab_take(&allocator->segment_slab);
		if (segment == NULL)
			goto end_starts;
		*segment = (struct gsa_segment){
		    .kind = GSA_SEGMENT_EXPANDABLE, .pool = pool, .address = address, .first = block};
		error = gsa_map_insert(&allocator->segments, &allocator->map_slabs, address, segment);
		if (error != GS_OK)
			goto give_segment;
	}
	block->address = address;
	block->size_bytes = size_bytes;
	gsa_starts_add(&allocator->starts[pool], block);
	gsa_block_settle(allocator, block, GSA_BLOCK_UNMAPPED, NULL);
	allocator->first[pool] = block;
	allocator->expandable[pool] = segment;
	return GS_OK;

give_segment:
	gsb_slab_give(&allocator->segment_slab, segment);
end_starts:
	gsa_starts_fini(&allocator->starts[pool]);
give_block:
	gsb_slab_give(&allocator->block_slab, block);
	return error;
}

/* Undoes pool_open. */
static void pool_close(struct gsa *allocator, enum gsa_pool pool)
{
	struct gsa_segment *segment = allocator->expandable[pool];
	struct gsa_block *block = allocator->first[pool];

	if (segment != NULL) {
		gsa_map_remove(&allocator->segments, &allocator->map_slabs, segment->address);
		gsb_slab_give(&allocator->segment_slab, segment);
	}
	gsa_block_leave(allocator, block);
	gsb_slab_give(&allocator->block_slab, block);
	gsa_starts_fini(&allocator->starts[pool]);
	allocator->expandable[pool] = NULL;
	allocator->first[pool] = NULL;
}

static int arena_reserve(struct gsa *allocator)
{
	uint64_t size_bytes = allocator->options.arena_bytes;
	uint64_t small_bytes = gsa_round_up(size_bytes / GSA_SMALL_SHARE, allocator->options.granularity_bytes);
	uint64_t address;
	int error;

	if (allocator->arena_address != 0)
		return GS_OK;
	error = allocator->ops.reserve(allocator->device, size_bytes, &address);
	if (error == GS_E_FORBIDDEN)
		return error;
	if (error != GS_OK) {
		gsa_arena_refuse(allocator, "reserving addresses", error);
		return GS_E_UNSUPPORTED;
	}
	gsb_lock_acquire(&allocator->lock);
	allocator->small_address = address + size_bytes - small_bytes;
	error = pool_open(allocator, GSA_POOL_LARGE, address, size_bytes - small_bytes);
	if (error == GS_OK) {
		error = pool_open(allocator, GSA_POOL_SMALL, allocator->small_address, small_bytes);
		if (error != GS_OK)
			pool_close(allocator, GSA_POOL_LARGE);
	}
	if (error == GS_OK)
		allocator->arena_address = address;
	gsb_lock_release(&allocator->lock);
	if (error != GS_OK)
		allocator->ops.unreserve(allocator->device, address, size_bytes);
	return error;
}

/* The hole that needs least new memory for the request, the smallest among equals. */
static struct gsa_block *choose_hole(struct gsa *allocator, const struct gsa_want *want, uint64_t *ret_least_bytes)
{
	struct gsa_tag *tag = gsa_fit_tag(allocator, want->request);
	const struct gsa_bins *holes = &allocator->holes[want->pool];
	uint64_t size_bytes = want->size_bytes;
	struct gsa_block *hole = gsa_bins_from(holes, 0);
	struct gsa_block *best = NULL;

	for (; hole != NULL; hole = gsa_bins_next(holes, hole)) {
		bool expandable = allocator->options.expandable;
		uint64_t before_bytes = expandable ? gsa_fit_before(hole, tag) : 0;
		uint64_t least_bytes;

		gsb_assert(before_bytes < size_bytes);
		least_bytes = gsa_round_up(size_bytes - before_bytes, allocator->options.granularity_bytes);
		if (least_bytes > hole->size_bytes) {
			if (!expandable || before_bytes + hole->size_bytes + gsa_fit_after(hole, tag) < size_bytes)
				continue;
			least_bytes = hole->size_bytes;
		}
		if (best == NULL || least_bytes < *ret_least_bytes) {
			best = hole;
			*ret_least_bytes = least_bytes;
		}
	}
	return best;
}

static uint64_t step_bytes(const struct gsa *allocator, enum gsa_pool pool)
{
	uint64_t unit = allocator->options.granularity_bytes;
	uint64_t bytes = allocator->mapped_bytes[pool] / GSA_STEP_SHARE;

	if (bytes > GSA_STEP_MAX_BYTES)
		bytes = GSA_STEP_MAX_BYTES;
	return bytes < unit ? unit : bytes / unit * unit;
}

/* Takes the growth's nodes out of the map and gives them back. ALLOCATOR lock held. */
static void abandon(struct gsa *allocator, struct growth *growth)
{
	struct gsa_handle *handle;

	while ((handle = growth->handles) != NULL) {
		growth->handles = handle->next;
		gsa_map_remove(&allocator->handles, &allocator->map_slabs, handle->address);
		gsb_slab_give(&allocator->handle_slab, handle);
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
	struct gsa_handle **link = &growth->handles;
	uint64_t most_bytes = allocator->options.expandable ? GSA_HANDLE_MAX_BYTES : UINT64_MAX;
	uint64_t at = growth->block->address;
	uint64_t end = gsa_block_end(growth->block);

	if (most_bytes < allocator->options.granularity_bytes)
		most_bytes = allocator->options.granularity_bytes;
	while (at < end) {
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
		link = &handle->next;
		at += handle->size_bytes;
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
	*growth = (struct growth){.block = hole};
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
	error = allocator->ops.map(allocator->device, handle->address, handle->size_bytes, handle->value);
	*ret_call = "mapping memory";
	if (error != GS_OK)
		allocator->ops.release(allocator->device, handle->value);
	return error;
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
	for (struct gsa_handle *undo = growth->handles; undo != handle; undo = undo->next) {
		int unmap_error = allocator->ops.unmap(allocator->device, undo->address, undo->size_bytes);

		if (unmap_error == GS_OK)
			allocator->ops.release(allocator->device, undo->value);
		else /* addresses in an unknown state: never map here again */
			gsa_arena_refuse(allocator, "unmapping memory", unmap_error);
	}
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
	allocator->stats.grows++;
	allocator->vmm_worked = true;
}

/* One growth, with GROW held. generous: take a whole step if the request needs less; *ret_less says that less would do.
 */
static int grow_once(struct gsa *allocator, const struct gsa_want *want, bool generous, struct gsa_block_info *ret_info,
		     struct span *ret_span, bool *ret_less)
{
	struct growth growth;
	struct gsa_block *hole;
	uint64_t least_bytes = 0;
	uint64_t bytes;
	int error;

	gsb_lock_acquire(&allocator->lock);
	error = gsa_live_serve(allocator, want, ret_info); /* another thread may have grown */
	if (error != GS_E_NOT_FOUND)
		goto unlock;
	error = allocator->plain_only ? GS_E_UNSUPPORTED : GS_E_NO_MEMORY;
	hole = error == GS_E_NO_MEMORY ? choose_hole(allocator, want, &least_bytes) : NULL;
	if (hole == NULL)
		goto unlock;
	bytes = least_bytes;
	if (generous && bytes < step_bytes(allocator, want->pool))
		bytes = step_bytes(allocator, want->pool);
	if (bytes > hole->size_bytes)
		bytes = hole->size_bytes;
	*ret_less = bytes > least_bytes;
	if (gsa_segment_over_limit(allocator, bytes))
		goto unlock;
	error = prepare(allocator, want->pool, hole, bytes, &growth);
	if (error != GS_OK)
		goto unlock;
	gsb_lock_release(&allocator->lock);
	error = map_all(allocator, &growth);
	gsb_lock_acquire(&allocator->lock);
	if (error != GS_OK) {
		abandon(allocator, &growth);
		goto unlock;
	}
	*ret_span = (struct span){growth.block->address, growth.block->size_bytes};
	publish(allocator, &growth);
	error = gsa_live_serve(allocator, want, ret_info);
	if (error == GS_E_NOT_FOUND)
		error = GS_E_BUSY;
unlock:
	gsb_lock_release(&allocator->lock);
	return error;
}

int gsa_arena_grow(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	struct span span = {0};
	bool less = false;
	int error;

	if (!allocator->options.use_vmm)
		return GS_E_UNSUPPORTED;
	gsb_lock_acquire(&allocator->grow_lock);
	error = arena_reserve(allocator);
	if (error == GS_OK)
		error = grow_once(allocator, want, true, ret_info, &span, &less);
	if (error == GS_E_NO_MEMORY && less)
		error = grow_once(allocator, want, false, ret_info, &span, &less);
	gsb_lock_release(&allocator->grow_lock);
	if (span.size_bytes > 0)
		gsa_segment_tell(allocator, true, span.address, span.size_bytes);
	return error;
}

/* Detaches the memory of one idle handle, the last one below *cursor but not below least_address. ALLOCATOR lock
 * held. */
static struct gsa_block *detach_idle(struct gsa *allocator, enum gsa_pool pool, uint64_t *cursor,
				     struct gsa_handle **ret_handle)
{
	struct gsa_handle *handle;
	struct gsa_block *block = NULL;

	for (; block == NULL; *cursor = handle->address) {
		handle = gsa_map_floor(&allocator->handles, *cursor - 1);
		if (handle == NULL || handle->address < allocator->starts[pool].address)
			return NULL;
		block = gsa_starts_find(&allocator->starts[pool], handle->address);
		if (block->state != GSA_BLOCK_IDLE || handle->address + handle->size_bytes > gsa_block_end(block))
			block = NULL;
	}
	if (gsb_slab_reserve(&allocator->block_slab, 2) != GS_OK)
		return NULL;
	if (handle->address > block->address)
		block = gsa_block_cut(allocator, block, handle->address - block->address);
	if (handle->size_bytes < block->size_bytes)
		gsa_block_cut(allocator, block, handle->size_bytes);
	gsa_block_leave(allocator, block);
	*ret_handle = handle;
	return block;
}

/* Unmaps and releases one handle. Returns its size, 0 when there is none to give or the driver does not want it. */
static uint64_t trim_once(struct gsa *allocator, enum gsa_pool pool, uint64_t keep_bytes, uint64_t *cursor)
{
	struct gsa_block *block = NULL;
	struct gsa_segment *segment = NULL;
	struct gsa_handle *handle = NULL;
	uint64_t address = 0;
	uint64_t size_bytes = 0;
	int error = GS_E_NOT_FOUND;

	gsb_lock_acquire(&allocator->grow_lock);
	gsb_lock_acquire(&allocator->lock);
	if (allocator->stats.idle_bytes.now > keep_bytes)
		block = detach_idle(allocator, pool, cursor, &handle);
	if (block == NULL)
		goto unlock;
	address = block->address;
	size_bytes = block->size_bytes;
	segment = block->segment;
	segment->mapped_bytes -= size_bytes;
	allocator->mapped_bytes[pool] -= size_bytes;
	block->segment = NULL;
	block->state = GSA_BLOCK_UNMAPPED;
	gsb_lock_release(&allocator->lock);
	error = allocator->ops.unmap(allocator->device, address, size_bytes);
	if (error == GS_OK)
		allocator->ops.release(allocator->device, handle->value);
	gsb_lock_acquire(&allocator->lock);
	if (error != GS_OK) {
		block->segment = segment;
		segment->mapped_bytes += size_bytes;
		allocator->mapped_bytes[pool] += size_bytes;
		gsa_block_settle(allocator, block, GSA_BLOCK_IDLE, NULL);
		goto unlock;
	}
	gsa_map_remove(&allocator->handles, &allocator->map_slabs, address);
	gsb_slab_give(&allocator->handle_slab, handle);
	if (segment->kind == GSA_SEGMENT_FIXED) {
		gsa_map_remove(&allocator->segments, &allocator->map_slabs, segment->address);
		gsb_slab_give(&allocator->segment_slab, segment);
	}
	gsa_block_settle(allocator, block, GSA_BLOCK_UNMAPPED, NULL);
	allocator->stats.trims++;
unlock:
	gsb_lock_release(&allocator->lock);
	gsb_lock_release(&allocator->grow_lock);
	if (error != GS_OK)
		return 0;
	gsa_segment_tell(allocator, false, address, size_bytes);
	return size_bytes;
}

uint64_t gsa_arena_trim(struct gsa *allocator, uint64_t keep_bytes)
{
	uint64_t given_bytes = 0;
	uint64_t bytes;

	for (enum gsa_pool pool = 0; pool < GSA_ARENA_POOLS; pool++) {
		uint64_t cursor = allocator->starts[pool].address + allocator->starts[pool].size_bytes;

		while ((bytes = trim_once(allocator, pool, keep_bytes, &cursor)) > 0)
			given_bytes += bytes;
	}
	return given_bytes;
}

void gsa_arena_fini(struct gsa *allocator)
{
	struct gsa_handle *handle;

	if (allocator->arena_address == 0)
		return;
	for (uint64_t at = 0; (handle = gsa_map_ceiling(&allocator->handles, at)) != NULL;
	     at = handle->address + handle->size_bytes)
		if (allocator->ops.unmap(allocator->device, handle->address, handle->size_bytes) == GS_OK)
			allocator->ops.release(allocator->device, handle->value);
	allocator->ops.unreserve(allocator->device, allocator->arena_address, allocator->options.arena_bytes);
	for (enum gsa_pool pool = 0; pool < GSA_ARENA_POOLS; pool++)
		gsa_starts_fini(&allocator->starts[pool]);
}

int gsa_access_changed(struct gsa *allocator)
{
	struct gsa_handle *handle;
	struct span run = {0};
	int error = GS_OK;

	gsb_lock_acquire(&allocator->grow_lock);
	for (uint64_t at = 0; error == GS_OK; at = run.address + run.size_bytes) {
		run.size_bytes = 0;
		while ((handle = gsa_map_ceiling(&allocator->handles, at)) != NULL &&
		       (run.size_bytes == 0 || handle->address == at)) {
			if (run.size_bytes == 0)
				run.address = handle->address;
			run.size_bytes += handle->size_bytes;
			at = run.address + run.size_bytes;
		}
		if (run.size_bytes == 0)
			break;
		error = allocator->ops.set_access(allocator->device, run.address, run.size_bytes);
	}
	gsb_lock_release(&allocator->grow_lock);
	return error;
}

size_t gsa_block_handles(struct gsa *allocator, uint64_t address, struct gsa_handle_span *spans, size_t capacity,
			 uint64_t *ret_offset_bytes)
{
	struct gsa_block *block;
	struct gsa_handle *handle = NULL;
	size_t count = 0;

	gsb_lock_acquire(&allocator->lock);
	block = gsa_live_at(allocator, address);
	if (block != NULL && block->segment->kind != GSA_SEGMENT_PLAIN) {
		handle = gsa_map_floor(&allocator->handles, address);
		*ret_offset_bytes = address - handle->address;
	}
	while (handle != NULL && handle->address < gsa_block_end(block)) {
		if (count < capacity)
			spans[count] = (struct gsa_handle_span){handle->value, handle->size_bytes};
		count++;
		handle = gsa_map_ceiling(&allocator->handles, handle->address + handle->size_bytes);
	}
	gsb_lock_release(&allocator->lock);
	return count;
}
