/* Walks what is lent and asserts what chunk.h, lane.h and lend.h say of it. */
#include "allocator/bins.h"
#include "allocator/lend.h"
#include "allocator/starts.h"
#include "shim/base/assert.h"

static void check_block(const struct gsa_lane *lane, const struct gsa_chunk *chunk, const struct gsa_block *block,
			struct gsa_lend_totals *totals)
{
	gsb_assert(block->tag == NULL && !block->shared && !block->retired && block->segment == chunk->home->segment);
	gsb_assert(gsa_chunk_find(chunk, block->address) == block);
	gsb_assert(gsa_chunk_find(chunk, gsa_block_end(block) - 1) == block);
	if (block->state == GSA_BLOCK_LIVE) {
		gsb_assert(block->asked_bytes > 0 && block->asked_bytes <= block->size_bytes);
		gsb_assert(block->stream_id == lane->stream.id && block->origin == GSA_ORIGIN_ASYNC);
		totals->asked_bytes += block->asked_bytes;
		totals->live_bytes += block->size_bytes;
		totals->live_count++;
		return;
	}
	gsb_assert(block->state == GSA_BLOCK_PENDING);
	gsb_assert(block->prev == NULL || block->prev->state == GSA_BLOCK_LIVE);
	totals->free_bytes += block->size_bytes;
}

static void check_chunk(struct gsa *allocator, const struct gsa_lane *lane, const struct gsa_chunk *chunk,
			struct gsa_lend_totals *totals)
{
	const struct gsa_block *before = NULL;
	uint64_t live_count = totals->live_count, at = chunk->home->address;

	gsb_assert(chunk->home->state == GSA_BLOCK_LENT && at % GSA_LENT_BYTES == 0);
	gsb_assert(gsa_starts_find(&allocator->starts[GSA_POOL_SMALL], at) == chunk->home);
	for (const struct gsa_block *block = chunk->first; block != NULL; before = block, block = block->next) {
		gsb_assert(block->address == at && block->prev == before);
		check_block(lane, chunk, block, totals);
		at += block->size_bytes;
	}
	gsb_assert(at == gsa_block_end(chunk->home));
	gsb_assert(totals->live_count - live_count == chunk->live_count);
	for (at = chunk->home->address; at < gsa_block_end(chunk->home); at += GSA_LENT_BYTES) {
		const struct gsa_lent *lent = gsa_lane_lent(allocator, at);

		gsb_assert(lent->lane == lane && lent->chunk == chunk);
	}
}

static void check_lane(struct gsa *allocator, const struct gsa_lane *lane, struct gsa_lend_totals *totals)
{
	uint64_t live_bytes = totals->live_bytes, free_bytes = totals->free_bytes;
	uint64_t binned_bytes = 0, held_bytes = 0;
	const struct gsa_block *node = lane->nodes;

	for (const struct gsa_chunk *chunk = lane->chunks; chunk != NULL; chunk = chunk->next) {
		check_chunk(allocator, lane, chunk, totals);
		held_bytes += chunk->home->size_bytes;
	}
	gsb_assert(lane->stream.id != 0 || lane->chunks == NULL);
	gsb_assert(totals->live_bytes - live_bytes == lane->live_bytes && held_bytes == lane->held_bytes);
	for (const struct gsa_block *block = gsa_bins_from(&lane->bins, 0); block != NULL;
	     block = gsa_bins_next(&lane->bins, block)) {
		gsb_assert(block->state == GSA_BLOCK_PENDING && gsa_lane_lent(allocator, block->address)->lane == lane);
		binned_bytes += block->size_bytes;
	}
	gsb_assert(binned_bytes == totals->free_bytes - free_bytes);
	for (unsigned count = 0; count < lane->node_count; count++)
		node = node->bin_next;
	gsb_assert(node == NULL && lane->serial <= lane->serial_end);
}

void gsa_lend_check(struct gsa *allocator, struct gsa_lend_totals *ret_totals)
{
	unsigned open_count = 0;

	*ret_totals = (struct gsa_lend_totals){0};
	for (unsigned slot = 0; slot < GSA_LANES; slot++) {
		struct gsa_lane *lane = atomic_load_explicit(&allocator->lanes[slot], memory_order_relaxed);

		if (lane == NULL)
			continue;
		gsb_lock_acquire(&lane->lock);
		gsa_lend_settle(allocator, lane);
		open_count += lane->stream.id != 0;
		check_lane(allocator, lane, ret_totals);
		gsb_lock_release(&lane->lock);
	}
	gsb_assert(open_count == allocator->lane_count);
}
