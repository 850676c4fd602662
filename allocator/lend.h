/* Lending: lanes (lane.h) open and end, and memory of the small pool goes to them and comes back. ALLOCATOR lock held for
 * all of these but where it says otherwise, and no lane's.
 *
 * A lane gets a chunk when it has no room for a request and what it holds free is little beside what lives in it
 * (gsa_lend_wanted): so a lane holds at most a quarter of that, and a chunk and a MiB more. It gives back chunks in which
 * nothing lives when it holds twice as much. A refused lane asks again after some time. */
#ifndef GSA_LEND_H
#define GSA_LEND_H

#include "allocator/lane.h"

/* The ALLOCATOR lock was found free. True: it was not lately, or lanes are wanted anyhow. */
static inline bool gsa_lend_cool(struct gsa *allocator)
{
	if (__builtin_expect(allocator->heat == 0, 1))
		return false;
	if (allocator->heat > 1 || allocator->options.lanes != GSA_LANES_ALWAYS)
		allocator->heat--;
	return true;
}

/* Takes the ALLOCATOR lock, and remembers whether somebody else had it. */
static inline void gsa_lend_acquire(struct gsa *allocator)
{
	if (gsb_lock_try(&allocator->lock)) {
		gsa_lend_cool(allocator);
		return;
	}
	gsb_lock_acquire(&allocator->lock);
	if (allocator->heat < GSA_HEAT_MOST)
		allocator->heat += GSA_HEAT_STEP;
}

/* The stream of the request has no lane and should have one: gsa_lend_more. */
bool gsa_lend_is_due(struct gsa *allocator, const struct gsa_want *want);

static inline bool gsa_lend_due(struct gsa *allocator, const struct gsa_want *want)
{
	return __builtin_expect(allocator->heat >= GSA_HEAT_LANES || allocator->options.lanes == GSA_LANES_ALWAYS, 0) &&
	       gsa_lend_is_due(allocator, want);
}

/* Memory for the lane of the request's stream, which is opened if it has none and one is due. May call the driver. False:
 * the request is not for a lane. No lock held. */
bool gsa_lend_more(struct gsa *allocator, const struct gsa_want *want);

/* What gsa_live_take does for a want with a loan. GS_E_NO_MEMORY: the stream has no lane any more. */
int gsa_lend_take(struct gsa *allocator, const struct gsa_want *want, struct gsa_block **ret_block);

/* The lane has no room for so much: whether it should have more. The lane's lock held, and maybe no other. */
bool gsa_lend_wanted(struct gsa_lane *lane);

/* Settles the books of a lane, gives it nodes and serials, takes back what it does not need. The lane's lock held, too. */
void gsa_lend_settle(struct gsa *allocator, struct gsa_lane *lane);

/* Settles the books of all lanes. */
void gsa_lend_settle_all(struct gsa *allocator);

/* Ends those that were not used since the last look; all, if fewer than two were. */
void gsa_lend_look(struct gsa *allocator);

/* Ends all lanes, the one of the stream, all lanes for want of memory. */
void gsa_lend_end_all(struct gsa *allocator);
void gsa_lend_end_stream(struct gsa *allocator, uint64_t stream_id);
void gsa_lend_end_for_want(struct gsa *allocator);

/* The chunk with the address, if it is lent, comes back. */
void gsa_lend_back(struct gsa *allocator, uint64_t address);

/* Gives the map of what is lent back; nothing is. */
void gsa_lend_fini(struct gsa *allocator);

/* What is in all lanes, proved to be right, with settled books. For gsa_check. */
struct gsa_lend_totals {
	uint64_t asked_bytes;
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t free_bytes;
};
void gsa_lend_check(struct gsa *allocator, struct gsa_lend_totals *ret_totals);

#endif
