/* Giving back what nobody wants: see gsa_purge.
 *
 * What counts is how little was free at any moment, not how long single blocks were: a program that repeats its steps
 * takes any block of the free ones, and what it never needs at once is too much. Small looks make up an age, so that
 * where memory is low a second of them is enough. */
#include "allocator/aside.h"
#include "allocator/fence.h"
#include "allocator/lend.h"
#include "allocator/reclaim.h"

#define LOOK_NS 1000000000ull

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What to give back; 0: nothing now. ALLOCATOR lock held. */
static uint64_t judge(struct gsa *allocator, uint64_t age_ns, bool low)
{
	uint64_t free_bytes = gsa_held(allocator)->stats.pending_bytes.now + allocator->stats.idle_bytes.now;
	uint64_t now_ns = allocator->ops.now_ns(allocator->device), unwanted_bytes;

	if (allocator->look_ns == 0) {
		allocator->look_ns = allocator->age_since_ns = now_ns;
		allocator->least_free_bytes = allocator->least_aged_bytes = free_bytes;
		return 0;
	}
	if (now_ns - allocator->look_ns < least(age_ns, LOOK_NS))
		return 0;
	unwanted_bytes = least(allocator->least_free_bytes, free_bytes);
	allocator->look_ns = now_ns;
	allocator->least_free_bytes = free_bytes;
	allocator->least_aged_bytes = least(allocator->least_aged_bytes, unwanted_bytes);
	if (low)
		return unwanted_bytes;
	if (now_ns - allocator->age_since_ns < age_ns)
		return 0;
	unwanted_bytes = allocator->least_aged_bytes;
	allocator->age_since_ns = now_ns;
	allocator->least_aged_bytes = free_bytes;
	return unwanted_bytes;
}

uint64_t gsa_purge(struct gsa *allocator, uint64_t age_ns, bool low)
{
	uint64_t unwanted_bytes, idle_bytes;
	struct gsa_stats stats;

	gsa_acquire(allocator);
	if (low)
		gsa_lend_end_all(allocator);
	gsa_lend_look(allocator);
	gsa_lend_settle_all(allocator);
	unwanted_bytes = judge(allocator, age_ns, low);
	gsb_lock_release(&allocator->lock);
	if (unwanted_bytes == 0)
		return 0;
	gsa_fences_gather(allocator, 0);
	gsa_stats_read(allocator, &stats);
	idle_bytes = stats.idle_bytes.now;
	return gsa_reclaim_trim(allocator, idle_bytes > unwanted_bytes ? idle_bytes - unwanted_bytes : 0, false);
}
