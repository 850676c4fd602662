/* Shadow ownership: who owns which bytes, by generation, and whether queued work still fits.
 *
 * Two kinds of owner. The driver's own is the range (its buffer_id): known without help. An allocator that serves
 * blocks from a range of its own is seen only by what the program announces (tests/sim/sim.h): a new owner, for one
 * stream or for any, and the end of one; of device memory or of pinned host memory. Numbers of both are never reused,
 * so an operation remembers the generations that it may touch by what was the newest when it was queued.
 *
 *   at an announcement   nothing queued may touch the bytes unless it comes before whatever the new owner can queue:
 *                        that is judged from the queues alone, and what they do not prove is an error
 *   as a range goes      nothing queued may touch it
 *   as work runs         every byte must be in ranges that were there when it was queued; the owner must not have
 *                        ended before that; and no work of a newer owner may have run on the bytes
 *
 * Each error is a line on stderr, and then where the operation was queued and where its memory was given away. At exit
 * a process that had any ends with SIM_SHADOW_STATUS. SIM_SHADOW=off. */
#ifndef SIM_SHADOW_H
#define SIM_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/cuda/sim_op.h"

/* Fills in the generations of the span as it is queued. */
void sim_shadow_note(struct sim_span *span);

/* The end of the announced block that holds the address, or else `end`: how far a pointer given to a kernel reaches. */
uintptr_t sim_shadow_end(uintptr_t address, uintptr_t end);

/* Checks the head operation of a stream, about to run. False when memory that it touches is the driver's no more. */
bool sim_shadow_check(const struct sim_stream *stream);

/* As sim_shadow_owner and sim_shadow_free of tests/sim/sim.h, for memory that the simulator announces itself: that of
 * graphs. The new owner comes after what is queued on the stream; NULL = any stream may use it. */
struct sim_stream;
void sim_shadow_own(uintptr_t address, size_t size_bytes, struct sim_stream *target);
void sim_shadow_disown(uintptr_t address);

/* The driver's range is going, and what was announced in it. */
void sim_shadow_forget(uintptr_t start, uintptr_t end);

#endif
