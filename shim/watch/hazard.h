/* Memory that streams use without an order between them: found by the pointers among the parameters of launches, by copies and
 * memsets, and by frees; told as pairs of places (crossing.h). For the setting `hazards`; off: nothing of this runs.
 *
 * Blocks are those that we serve, PyTorch's tensors under torch:observe, pinned and managed memory. What a kernel does with its pointers is
 * not known, so two kernels on one block are no hazard; a hazard is
 *   a write by a copy or memset, and any use of the same bytes (for a kernel: of a block that the copy writes whole);
 *   cudaFreeAsync on one stream while another one's work uses the block;
 *   a new tensor on the memory of an old one, used on another stream than the old one was (a missing record_stream);
 *   pinned memory that is given back while a copy uses it;
 * each time unless the order of the two is sure, or in doubt (causal.h). */
#ifndef GS_WATCH_HAZARD_H
#define GS_WATCH_HAZARD_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/api/call.h"
#include "shim/api/cuda.h"
#include "shim/base/hot.h"
#include "shim/watch/causal.h"
#include "shim/watch/copy.h"
#include "shim/watch/live.h"
#include "shim/watch/proven.h"

extern GSB_OURS bool gs_hazards; /* constant after start */

/* A use of memory by work of a stream. */
struct gs_hazard_use {
	struct gs_causal_point point;
	uint32_t name, stack;
	uint64_t begin, end; /* bytes, where they are known; else begin is an address of it, and end is the same */
	bool write;
};

/* What a thread submitted last. */
struct gs_hazard_work {
	struct gs_hazard_use use;
	struct gs_work_stream stream;
	bool valid;
};

/* Once, at start. sampled: pointers of launches are looked at in a sixteenth of the time. */
void gs_hazard_init(bool on, bool sampled);

/* The calling thread has submitted work; what it uses comes with one of the next three. */
void gs_hazard_submitted(const struct gs_work_stream *stream, uint32_t name, uint32_t stack, uint64_t when);
void gs_hazard_kernel(const void *function, void *const *kernel_params, void *const *extra);
void gs_hazard_copied(const struct gs_call *call, const struct gs_copy *copy);
void gs_hazard_set(uint64_t address, uint64_t size_bytes);

/* Memory of a class that is followed by address came and went. */
void gs_hazard_memory_begins(enum gs_live_class live_class, uint64_t address, uint64_t size_bytes);
void gs_hazard_memory_ends(enum gs_live_class live_class, uint64_t address);

/* Before memory is freed on a stream; before pinned memory is given back. */
void gs_hazard_frees(const struct gs_call *call, uint64_t address, CUstream stream);
void gs_hazard_unpins(const struct gs_call *call, const void *address);

/* After a call by which the program may have learned of what is done, or by which others may record events. */
void gs_hazard_called(const struct gs_call *call, enum gs_call_class call_class);

void gs_hazard_reset_locks(void);

#endif
