/* Shadow ownership: who owns which bytes of device memory, by number, and whether queued work still fits.
 *
 * Two kinds of owner. The driver's own is the range (its buffer_id): known without help, so memory that was unmapped,
 * freed or mapped anew under queued work fails when that work runs. An allocator that serves blocks from a range of its
 * own is seen only by what the program announces (tests/sim/sim.h): a new owner, for one stream or for any, and the
 * end of one. At the announcement nothing queued may touch the bytes unless it comes before whatever the new owner can
 * queue: that is judged from the queues alone, and what they do not prove is an error. Work on memory whose owner had
 * ended when it was queued fails when it runs.
 *
 * Each error is one line on stderr. At exit a process that had any ends with SIM_SHADOW_STATUS. SIM_SHADOW=off. */
#ifndef SIM_SHADOW_H
#define SIM_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/cuda/sim_op.h"

/* Fills in who owns the span as it is queued. */
void sim_shadow_note(struct sim_span *span);

/* The end of the announced block that holds the address, or else `end`: how far a pointer given to a kernel reaches. */
uintptr_t sim_shadow_end(uintptr_t address, uintptr_t end);

/* Checks the head operation of a stream, about to run. False when memory that it touches is the driver's no more. */
bool sim_shadow_check(const struct sim_stream *stream);

/* The driver's range is gone, and what was announced in it. */
void sim_shadow_forget(uintptr_t start, uintptr_t end);

#endif
