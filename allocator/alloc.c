/* Allocating: the fast path. What is not free for the request yet is reclaim.c's business. */
#include "allocator/lend.h"
#include "allocator/live.h"
#include "allocator/reclaim.h"
#include "shim/base/err.h"

/* No device has more: keeps sums of sizes from wrapping. */
#define SIZE_MAX_BYTES (1ull << 46)

/* The next of the divisions between two powers of two, as PyTorch counts them: of sizes above as many units. */
static inline uint64_t round_size(const struct gsa *allocator, uint64_t size_bytes)
{
	uint64_t divisions = allocator->options.roundup_divisions;

	if (divisions > 1 && size_bytes > divisions * GSA_ROUND_BYTES) {
		uint64_t floor_bytes = 1ull << (63 - __builtin_clzll(size_bytes));

		size_bytes = gsa_round_up(size_bytes, floor_bytes >> (63 - __builtin_clzll(divisions)));
	}
	return gsa_round_up(size_bytes, GSA_ROUND_BYTES);
}

static inline enum gsa_pool pool_of(uint64_t rounded_bytes)
{
	return rounded_bytes <= GSA_SMALL_BYTES ? GSA_POOL_SMALL : GSA_POOL_LARGE;
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
	want->pool = pool_of(want->size_bytes);
	return GS_OK;
}

/* In line in alloc_cut alone. */
static __attribute__((noinline)) struct gsa_block *take_best(struct gsa *allocator, const struct gsa_want *want)
{
	return gsa_live_take_best(allocator, want->request, want->pool, want->size_bytes);
}

/* From what all streams share; the lock is held. GS_E_NOT_FOUND: neither served nor refused. GS_E_BUSY: neither, the stream should
 * have a lane. */
static inline int serve_held(struct gsa *allocator, const struct gsa_want *want, struct gsa_block **ret_block)
{
	int error;

	if (gsa_lend_due(allocator, want))
		return GS_E_BUSY;
	*ret_block = gsa_live_retake(allocator, want->request, want->size_bytes, gsa_live_time(allocator, want->request));
	if (*ret_block == NULL)
		*ret_block = take_best(allocator, want);
	error = *ret_block != NULL ? GS_OK : gsa_live_take(allocator, want, ret_block);
	if (error == GS_OK)
		allocator->stats.hits++;
	return error;
}

/* Releases the lock. */
static inline int answer(struct gsa *allocator, int error, const struct gsa_block *block, uint64_t *ret_address)
{
	if (error == GS_OK)
		*ret_address = block->address;
	gsb_lock_release(&allocator->lock);
	return error == GS_E_BUSY ? GS_E_NOT_FOUND : error;
}

/* Whatever it takes. The lock is held, and is released; so in the next one. */
static __attribute__((noinline)) int alloc_any(struct gsa *allocator, const struct gsa_request *request, uint64_t *ret_address)
{
	struct gsa_block *block = NULL;
	struct gsa_want want;
	int error = prepare(allocator, request, &want);

	if (error == GS_OK)
		error = serve_held(allocator, &want, &block);
	return answer(allocator, error, block, ret_address);
}

/* Nothing is set aside for the request. */
static __attribute__((noinline)) int alloc_cut(struct gsa *allocator, const struct gsa_request *request, uint64_t *ret_address)
{
	uint64_t size_bytes = round_size(allocator, request->size_bytes);
	struct gsa_block *block = NULL;

	if (request->size_bytes - 1 < SIZE_MAX_BYTES)
		block = gsa_live_take_best(allocator, request, pool_of(size_bytes), size_bytes);
	if (block == NULL)
		return alloc_any(allocator, request, ret_address);
	allocator->stats.hits++;
	return answer(allocator, GS_OK, block, ret_address);
}

/* Lanes are open, or somebody has the lock. */
static __attribute__((noinline)) int alloc_crowded(struct gsa *allocator, const struct gsa_request *request, uint64_t *ret_address)
{
	struct gsa_want want;
	struct gsa_note note;
	int error = prepare(allocator, request, &want);

	if (error != GS_OK)
		return error;
	error = gsa_lane_serve(allocator, &want, NULL, &note);
	if (error == GS_OK)
		*ret_address = note.address;
	if (error != GS_E_NOT_FOUND)
		return error == GS_E_BUSY ? GS_E_NOT_FOUND : error;
	gsa_lend_acquire(allocator);
	return alloc_any(allocator, request, ret_address);
}

/* What was set aside is served here. Whatever else is called comes last: nothing has to be kept for its return. */
int gsa_alloc_held(struct gsa *allocator, const struct gsa_request *request, uint64_t *ret_address)
{
	uint64_t time_ns = request->time_ns;
	struct gsa_block *block;

	if (gsa_lane_any(allocator) || !gsb_lock_try(&allocator->lock))
		return alloc_crowded(allocator, request, ret_address);
	if (gsa_lend_cool(allocator) || __builtin_expect(time_ns == 0, 0))
		return alloc_any(allocator, request, ret_address);
	block = gsa_live_retake(allocator, request, round_size(allocator, request->size_bytes), time_ns);
	if (block == NULL)
		return alloc_cut(allocator, request, ret_address);
	allocator->stats.hits++;
	*ret_address = block->address;
	gsb_lock_release(&allocator->lock);
	return GS_OK;
}

static int serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_block)
{
	struct gsa_block *block;
	int error;

	gsa_lend_acquire(allocator);
	error = serve_held(allocator, want, &block);
	if (error == GS_OK)
		gsa_live_describe(block, ret_block);
	gsb_lock_release(&allocator->lock);
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
