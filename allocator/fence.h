/* Fences: recording, asking, and giving them back. Nothing here is called with a lock held unless it says so; the
 * driver is never called with one.
 *
 * A fence covers exactly the frees whose serial is at most the serial read before it was recorded: work submitted
 * before such a free was submitted before the fence. */
#ifndef GSA_FENCE_H
#define GSA_FENCE_H

#include "allocator/types.h"

/* Whether all work submitted before now is done, or waits for it. */
bool gsa_fence_all_done(const struct gsa_ops *ops, void *device, bool wait);

/* Asks the driver about the fences under way; what they cover becomes idle. */
void gsa_fences_poll(struct gsa *allocator);

/* Polls, records a fence for every tag that holds at least least_bytes and something not covered by one, and polls again:
 * a stream without work is done at once. */
void gsa_fences_gather(struct gsa *allocator, uint64_t least_bytes);

/* Records a fence for what was freed on the stream, if there is none that covers it. */
void gsa_fences_early(struct gsa *allocator, uint64_t stream_id);

/* Blocks the host until everything freed so far is idle. False when that cannot be had now. */
bool gsa_fences_wait(struct gsa *allocator);

/* Records the fence of a tag whose stream is about to go, however many it has already. Waits until no other thread is
 * about to record there: its handle may mean another stream soon. */
void gsa_fences_stream_ending(struct gsa *allocator, uint64_t stream_id);

/* Fences of the tag that cover no more than `before` have nothing more to say. ALLOCATOR lock held. */
void gsa_fences_expire(struct gsa *allocator, struct gsa_tag *tag, uint64_t before);

/* Gives fences that have nothing more to say back to the driver. */
void gsa_fences_drain(struct gsa *allocator);

#endif
