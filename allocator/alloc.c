/* Allocating: the fast path. What is not free for the request yet is reclaim.c's business. */
#include "allocator/lend.h"
#include "allocator/live.h"
#include "allocator/reclaim.h"
#include "shim/base/err.h"

/* No device has more: keeps sums of sizes from wrapping. */
#define SIZE_MAX_BYTES (1ull << 46)

/* The next of the divisions between two powers of two, as PyTorch counts them: of sizes above as many units. */
static uint64_t round_size(const struct gsa *allocator, uint64_t size_bytes)
{
	uint64_t divisions = allocator->options.roundup_divisions;

	if (divisions > 1 && size_bytes > divisions * GSA_ROUND_BYTES) {
		uint64_t floor_bytes = 1ull << (63 - __builtin_clzll(size_bytes));

		size_bytes = gsa_round_up(size_bytes, floor_bytes >> (63 - __builtin_clzll(divisions)));
	}
	return gsa_round_up(size_bytes, GSA_ROUND_BYTES);
}

/* GS_E_NOT_FOUND: free memory is none for it. */
static int prepare(const struct gsa *allocator, const struct gsa_request *request, struct gsa_want *want)
{
	if (request->size_bytes == 0)
		return GS_E_INVALID;
	*want = (struct gsa_want){.request = request, .size_bytes = request->size_bytes, .pool = GSA_POOL_PLAIN};
	if (request->size_bytes > SIZE_MAX_BYTES)
		return GS_E_NO_MEMORY;
	if (request->plain)
		return GS_E_NOT_FOUND;
	want->size_bytes = round_size(allocator, request->size_bytes);
	want->pool = want->size_bytes <= GSA_SMALL_BYTES ? GSA_POOL_SMALL : GSA_POOL_LARGE;
	return GS_OK;
}

/* From what all streams share: the lock is held where it succeeds. GS_E_NOT_FOUND: neither served nor refused.
 * GS_E_BUSY: neither, the stream should have a lane. */
static inline int serve_held(struct gsa *allocator, const struct gsa_want *want, struct gsa_block **ret_block)
{
	int error = GS_E_BUSY;

	gsa_lend_acquire(allocator);
	if (!gsa_lend_due(allocator, want)) {
		*ret_block = gsa_live_retake(allocator, want);
		error = *ret_block != NULL ? GS_OK : gsa_live_take(allocator, want, ret_block);
	}
	if (error == GS_OK)
		allocator->stats.hits++;
	else
		gsb_lock_release(&allocator->lock);
	return error;
}

int gsa_alloc_held(struct gsa *allocator, const struct gsa_request *request, struct gsa_note *ret_note)
{
	struct gsa_block *block;
	struct gsa_want want;
	int error = prepare(allocator, request, &want);

	if (error != GS_OK)
		return error;
	if (gsa_lane_any(allocator) && (error = gsa_lane_serve(allocator, &want, NULL, ret_note)) != GS_E_NOT_FOUND)
		return error == GS_E_BUSY ? GS_E_NOT_FOUND : error;
	error = serve_held(allocator, &want, &block);
	if (error != GS_OK)
		return error == GS_E_BUSY ? GS_E_NOT_FOUND : error;
	*ret_note = gsa_live_note(block);
	gsb_lock_release(&allocator->lock);
	return GS_OK;
}

static int serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_block)
{
	struct gsa_block *block;
	int error = serve_held(allocator, want, &block);

	if (error == GS_OK) {
		gsa_live_describe(block, ret_block);
		gsb_lock_release(&allocator->lock);
	}
	return error;
}

int gsa_alloc(struct gsa *allocator, const struct gsa_request *request, struct gsa_block_info *ret_block)
{
	struct gsa_want want;
	int error = prepare(allocator, request, &want);

	if (error == GS_OK && (error = gsa_lane_serve(allocator, &want, ret_block, NULL)) == GS_E_NOT_FOUND)
		error = serve(allocator, &want, ret_block);
	if (error == GS_E_BUSY) {
		error = gsa_lend_more(allocator, &want) ? gsa_lane_serve(allocator, &want, ret_block, NULL) : GS_E_NOT_FOUND;
		if (error != GS_OK)
			error = serve(allocator, &want, ret_block);
	}
	if (error == GS_E_NOT_FOUND || error == GS_E_BUSY)
		error = gsa_reclaim_serve(allocator, &want, ret_block);
	if (error == GS_E_NO_MEMORY && !request->again) {
		gsb_lock_acquire(&allocator->lock);
		allocator->stats.out_of_memory++;
		gsb_lock_release(&allocator->lock);
	}
	return error;
}
