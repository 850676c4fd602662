/* See reclaim.h.
 *
 *   1. Memory freed on other streams whose fences are done by now.
 *   2. New memory.
 *   3. If there is none: idle memory elsewhere goes back to the driver, as much as is asked for, then all of it.
 *   4. Wait for everything that was freed, as the driver would, and try 3 again. Not where that cannot be enough: the caller,
 *      which is refused at once without us, may be whom the device waits for.
 *
 *   5. A small request takes what lies between large blocks.
 *
 * Where virtual memory has never worked, "out of memory" may be its way of refusing; then plain memory is asked once.
 */
#include "allocator/reclaim.h"

#include "allocator/arena.h"
#include "allocator/aside.h"
#include "allocator/evict.h"
#include "allocator/fence.h"
#include "allocator/grow.h"
#include "allocator/lend.h"
#include "allocator/live.h"
#include "allocator/plain.h"
#include "allocator/share.h"
#include "allocator/stitch.h"
#include "shim/base/err.h"

/* How often fences just recorded are asked again before new memory is made: some 10 us of a driver's time, where new
 * memory costs 60 us and more. */
#define PATIENT_POLLS 32

/* How often new memory is joined with what is free beside it, before it is made large enough by itself. */
#define GROWTHS_SHARED 4

static void with_lanes(struct gsa *allocator, void (*act)(struct gsa *allocator))
{
	gsa_acquire(allocator);
	act(allocator);
	gsb_lock_release(&allocator->lock);
}

/* GS_E_NOT_FOUND: nothing free fits. */
static int serve_free(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	int error = GS_E_NOT_FOUND;

	if (want->pool == GSA_POOL_PLAIN)
		return error;
	gsa_acquire(allocator);
	error = gsa_live_serve(allocator, want, ret_info);
	gsb_lock_release(&allocator->lock);
	return error;
}

static int serve_grown(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	int error;

	for (unsigned round = 0; (error = gsa_grow(allocator, want, round >= GROWTHS_SHARED, ret_info)) == GS_E_BUSY;)
		round++;
	return error;
}

static int serve_new(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	int error;

	if (want->pool == GSA_POOL_PLAIN)
		return gsa_plain_grow(allocator, want, ret_info);
	error = serve_grown(allocator, want, ret_info);
	return error == GS_E_UNSUPPORTED ? gsa_plain_grow(allocator, want, ret_info) : error;
}

static uint64_t read_idle(struct gsa *allocator)
{
	struct gsa_stats stats;

	gsa_stats_read(allocator, &stats);
	return stats.idle_bytes.now;
}

uint64_t gsa_reclaim_trim(struct gsa *allocator, uint64_t keep_bytes, bool wait)
{
	uint64_t given_back = gsa_evict_trim(allocator, keep_bytes) + gsa_plain_trim(allocator, keep_bytes, wait);

	if (given_back > 0 && allocator->ops.on_trim != NULL)
		allocator->ops.on_trim(allocator->device, given_back);
	return given_back;
}

/* All that there is for one request, once everything freed is idle, comes to so much at least. */
static bool may_be_had(struct gsa *allocator, uint64_t size_bytes)
{
	uint64_t limit_bytes = allocator->options.limit_bytes, left_bytes = UINT64_MAX, free_bytes, used_bytes;
	struct gsa_stats stats;

	if (allocator->ops.free_bytes != NULL)
		left_bytes = allocator->ops.free_bytes(allocator->device);
	gsa_stats_read(allocator, &stats);
	free_bytes = stats.pending_bytes.now + stats.idle_bytes.now;
	used_bytes = stats.reserved_bytes.now - free_bytes;
	if (limit_bytes != 0 && used_bytes + size_bytes > limit_bytes)
		return false;
	return free_bytes >= size_bytes || left_bytes >= size_bytes - free_bytes;
}

static int serve_by_trimming(struct gsa *allocator, const struct gsa_want *want, bool wait, struct gsa_block_info *ret_info)
{
	uint64_t lack_bytes = gsa_round_up(want->size_bytes, allocator->options.granularity_bytes);
	uint64_t idle_bytes = read_idle(allocator);
	int error = serve_free(allocator, want, ret_info);

	if (error != GS_E_NOT_FOUND)
		return error;
	error = GS_E_NO_MEMORY;
	if (idle_bytes > lack_bytes && gsa_reclaim_trim(allocator, idle_bytes - lack_bytes, wait) > 0)
		error = serve_new(allocator, want, ret_info);
	if (error == GS_E_NO_MEMORY && gsa_reclaim_trim(allocator, 0, wait) > 0)
		error = serve_new(allocator, want, ret_info);
	return error;
}

/* PyTorch's garbage_collection_threshold. */
static void collect(struct gsa *allocator, const struct gsa_want *want)
{
	uint64_t most_bytes = allocator->options.collect_bytes, held_bytes, idle_bytes;
	struct gsa_stats stats;

	if (most_bytes == 0)
		return;
	gsa_stats_read(allocator, &stats);
	held_bytes = stats.reserved_bytes.now + gsa_round_up(want->size_bytes, allocator->options.granularity_bytes);
	idle_bytes = stats.idle_bytes.now;
	if (held_bytes > most_bytes && idle_bytes > 0)
		gsa_reclaim_trim(allocator,
				 idle_bytes > held_bytes - most_bytes ? idle_bytes - (held_bytes - most_bytes) : 0, false);
}

/* Pending memory is worth waiting for when there may be a block or a handle in it that is enough. */
static bool worth_waiting(struct gsa *allocator, uint64_t size_bytes)
{
	struct gsa_stats stats;

	gsa_stats_read(allocator, &stats);
	if (size_bytes > allocator->options.granularity_bytes)
		size_bytes = allocator->options.granularity_bytes;
	return stats.pending_bytes.now >= size_bytes;
}

static bool pending_may_do(struct gsa *allocator, const struct gsa_want *want)
{
	struct gsa_stats stats;

	gsa_stats_read(allocator, &stats);
	return stats.pending_bytes.now >= want->size_bytes;
}

static int serve_plain_instead(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	bool untried;
	int error;

	gsa_acquire(allocator);
	untried = !gsa_held(allocator)->vmm_worked && !allocator->plain_only;
	gsb_lock_release(&allocator->lock);
	if (!untried || want->pool == GSA_POOL_PLAIN)
		return GS_E_NO_MEMORY;
	error = gsa_plain_grow(allocator, want, ret_info);
	if (error != GS_OK)
		return error;
	gsa_arena_refuse(allocator, "creating memory", GS_E_NO_MEMORY);
	return GS_OK;
}

/* Crumbs between large blocks, when there is nothing else, or no addresses are left for small ones. */
static int serve_from_large(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	struct gsa_want large = *want;
	int error;

	large.pool = GSA_POOL_LARGE;
	error = serve_free(allocator, &large, ret_info);
	return error == GS_E_NOT_FOUND ? serve_new(allocator, &large, ret_info) : error;
}

/* Memory freed on the request's own stream, too, may join with others when it is known to be idle.
 *
 * Fences recorded a moment ago: on a device that has little to do they are done in a few microseconds, which is less
 * than new memory costs. */
static int serve_pending(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	uint64_t unit_bytes = allocator->options.granularity_bytes;
	int error;

	gsa_fences_gather(allocator, want->size_bytes < unit_bytes ? want->size_bytes : unit_bytes);
	error = serve_free(allocator, want, ret_info);
	for (unsigned poll = 0; poll < PATIENT_POLLS && error == GS_E_NOT_FOUND && pending_may_do(allocator, want);
	     poll++) {
		gsa_fences_poll(allocator);
		error = serve_free(allocator, want, ret_info);
	}
	return error;
}

/* True when there may be more free memory afterwards. */
static bool wait_for_more(struct gsa *allocator, uint64_t size_bytes)
{
	bool waited = worth_waiting(allocator, size_bytes) && gsa_fences_wait(allocator);

	return gsa_stitch_learn(allocator, true) || waited;
}

int gsa_reclaim_lend(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	int error = serve_free(allocator, want, ret_info);

	if (error == GS_E_NOT_FOUND)
		error = serve_pending(allocator, want, ret_info);
	if (error != GS_E_NOT_FOUND)
		return error;
	collect(allocator, want);
	return serve_grown(allocator, want, ret_info);
}

int gsa_reclaim_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info)
{
	int error = GS_E_NOT_FOUND;
	bool wait;

	with_lanes(allocator, gsa_lend_look);
	gsa_share_sweep(allocator);
	if (want->pool != GSA_POOL_PLAIN)
		error = serve_pending(allocator, want, ret_info);
	if (error == GS_E_NOT_FOUND) {
		collect(allocator, want);
		error = serve_new(allocator, want, ret_info);
	}
	if (error != GS_E_NO_MEMORY)
		return error;
	with_lanes(allocator, gsa_lend_end_for_want);
	gsa_fences_gather(allocator, 0);
	wait = may_be_had(allocator, want->size_bytes);
	error = serve_by_trimming(allocator, want, wait, ret_info);
	if (error == GS_E_NO_MEMORY && wait && wait_for_more(allocator, want->size_bytes))
		error = serve_by_trimming(allocator, want, wait, ret_info);
	if (error == GS_E_NO_MEMORY && want->pool == GSA_POOL_SMALL)
		error = serve_from_large(allocator, want, ret_info);
	if (error == GS_E_NO_MEMORY)
		error = serve_plain_instead(allocator, want, ret_info);
	return error;
}

static bool nothing_pends(struct gsa *allocator)
{
	struct gsa_stats stats;

	gsa_stats_read(allocator, &stats);
	return stats.pending_bytes.now == 0;
}

bool gsa_wait(struct gsa *allocator)
{
	bool waited = nothing_pends(allocator) || gsa_fences_wait(allocator);

	gsa_stitch_learn(allocator, true);
	return waited;
}

static uint64_t trim(struct gsa *allocator, uint64_t keep_bytes, bool wait)
{
	with_lanes(allocator, gsa_lend_end_all);
	gsa_fences_gather(allocator, 0);
	gsa_share_sweep(allocator);
	return gsa_reclaim_trim(allocator, keep_bytes, wait);
}

uint64_t gsa_trim(struct gsa *allocator, uint64_t keep_bytes)
{
	return trim(allocator, keep_bytes, false);
}

uint64_t gsa_trim_all(struct gsa *allocator)
{
	gsa_wait(allocator);
	return trim(allocator, 0, true);
}

uint64_t gsa_trim_try(struct gsa *allocator)
{
	uint64_t given_back;

	with_lanes(allocator, gsa_lend_end_all);
	given_back = gsa_evict_trim_try(allocator);

	if (given_back > 0 && allocator->ops.on_trim != NULL)
		allocator->ops.on_trim(allocator->device, given_back);
	return given_back;
}
