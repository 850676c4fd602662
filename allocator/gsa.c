/* The allocator as a whole: its beginning, its end, and what is seen from outside. */
#include "allocator/gsa.h"

#include "allocator/arena.h"
#include "allocator/aside.h"
#include "allocator/lend.h"
#include "allocator/live.h"
#include "allocator/plain.h"
#include "allocator/stitch.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

int gsa_init(struct gsa **ret_allocator, const struct gsa_ops *ops, void *device, const struct gsa_options *options)
{
	uint64_t unit_bytes = options->granularity_bytes;
	struct gsa *allocator;

	if (options->use_vmm && (unit_bytes < GSA_ROUND_BYTES || (unit_bytes & (unit_bytes - 1)) != 0))
		return GS_E_INVALID;
	allocator = gsb_os_pages_map(sizeof(*allocator));
	if (allocator == NULL)
		return GS_E_NO_HOST_MEMORY;
	allocator->ops = *ops;
	allocator->device = device;
	allocator->options = *options;
	if (options->use_vmm)
		allocator->options.arena_bytes = gsa_round_up(options->arena_bytes, unit_bytes);
	else
		allocator->options.granularity_bytes = unit_bytes = GSA_ROUND_BYTES;
	allocator->options.max_split_bytes = gsa_round_up(options->max_split_bytes, unit_bytes);
	allocator->plain_only = !options->use_vmm;
	allocator->start_ns = ops->now_ns(device);
	allocator->fewest_count = allocator->valley_count = UINT64_MAX;
	allocator->heat = options->lanes == GSA_LANES_ALWAYS;
	gsb_lock_init(&allocator->grow_lock, GSB_RANK_GROW);
	gsb_lock_init(&allocator->lock, GSB_RANK_ALLOCATOR);
	gsb_slab_init(&allocator->block_slab, sizeof(struct gsa_block));
	gsb_slab_init(&allocator->segment_slab, sizeof(struct gsa_segment));
	gsb_slab_init(&allocator->run_slab, sizeof(struct gsa_run));
	gsb_slab_init(&allocator->handle_slab, sizeof(struct gsa_handle));
	gsb_slab_init(&allocator->tag_slab, sizeof(struct gsa_tag));
	gsb_slab_init(&allocator->fence_slab, sizeof(struct gsa_fence));
	gsb_slab_init(&allocator->lane_slab, sizeof(struct gsa_lane));
	gsb_slab_init(&allocator->chunk_slab, sizeof(struct gsa_chunk));
	gsa_map_slabs_init(&allocator->map_slabs);
	*ret_allocator = allocator;
	return GS_OK;
}

void gsa_fini(struct gsa *allocator)
{
	gsa_device_idle(allocator, UINT64_MAX);
	gsa_plain_fini(allocator);
	gsa_stitch_fini(allocator);
	gsa_arena_fini(allocator);
	gsa_lend_fini(allocator);
	gsb_os_pages_unmap(allocator, sizeof(*allocator));
}

static void visit_block(const struct gsa_visitor *visitor, const struct gsa_block *block)
{
	struct gsa_block_info info;

	if (block->state != GSA_BLOCK_UNMAPPED && block->state != GSA_BLOCK_SHADOW && visitor->block != NULL) {
		gsa_live_describe(block, &info);
		visitor->block(visitor->user, block->retired ? GSA_BLOCK_PENDING : block->state, &info);
	}
}

void gsa_walk(struct gsa *allocator, const struct gsa_visitor *visitor)
{
	struct gsa_segment *segment;

	gsa_acquire(allocator);
	gsa_lend_end_all(allocator);
	for (uint64_t at = 0; (segment = gsa_map_ceiling(&gsa_held(allocator)->segments, at)) != NULL;
	     at = segment->address + GSA_MAP_UNIT_BYTES) {
		if (segment->mapped_bytes == 0)
			continue;
		if (visitor->segment != NULL)
			visitor->segment(visitor->user,
					 segment->kind == GSA_SEGMENT_STITCHED ? GSA_SEGMENT_FIXED : segment->kind,
					 segment->address, segment->mapped_bytes);
		for (struct gsa_block *block = segment->first; block != NULL; block = block->next) {
			if (segment->kind == GSA_SEGMENT_FIXED && block->segment != segment)
				break;
			visit_block(visitor, block);
		}
	}
	gsb_lock_release(&allocator->lock);
}
