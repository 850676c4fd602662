/* See stream.h. */
#include "shim/core/stream.h"

#include <stdatomic.h>
#include <stdint.h>

#include "shim/api/driver.h"
#include "shim/base/hot.h"
#include "shim/core/device.h"
#include "shim/core/epoch.h"
#include "shim/core/order.h"
#include "shim/core/thread.h"

/* Ids of default streams are ours: the driver does not say that it tells those of two contexts or two threads apart.
 * Its own ids are counted and stay far below this bit; all are exact as a double, as JSON readers have it. */
#define DEFAULT_STREAM_ID (1ull << 52)
#define CONTEXT_ID_MASK 0xfffffull

/* What this thread found out about the streams that it used last, by handle. Holds as long as no stream and no context
 * has ended since, and all ends are seen. */
#define KNOWN_STREAMS 8u

static _Thread_local struct {
	struct gsa_stream stream;
	uint64_t stream_ends;
	uint64_t context_changes;
} known[KNOWN_STREAMS] __attribute__((tls_model("initial-exec")));
GSB_HOT static _Atomic uint64_t stream_ends = 1;

static bool resolve_default(const struct gs_context *context, CUstream handle, struct gsa_stream *ret_stream)
{
	ret_stream->id = DEFAULT_STREAM_ID | (context->id & CONTEXT_ID_MASK) << 32 |
			 (handle == CU_STREAM_PER_THREAD ? gs_thread_serial() : 0);
	ret_stream->handle = (uint64_t)(uintptr_t)handle;
	ret_stream->owner = (uint64_t)(uintptr_t)context->handle;
	return true;
}

static bool resolve_made(CUstream handle, struct gsa_stream *ret_stream)
{
	unsigned slot = ((uintptr_t)handle >> 4 ^ (uintptr_t)handle >> 12) % KNOWN_STREAMS;
	uint64_t ends = atomic_load_explicit(&stream_ends, memory_order_acquire), context_changes = gs_context_changes();
	unsigned long long id = 0;
	CUcontext context = NULL;

	if (known[slot].stream.handle == (uint64_t)(uintptr_t)handle && known[slot].stream_ends == ends &&
	    known[slot].context_changes == context_changes && !gs_order_blind()) {
		*ret_stream = known[slot].stream;
		return true;
	}
	if (gs_driver.cuStreamGetId == NULL || gs_driver.cuStreamGetId(handle, &id) != CUDA_SUCCESS ||
	    gs_driver.cuStreamGetCtx(handle, &context) != CUDA_SUCCESS)
		return false;
	/* Ids count from 0 or 1 by driver; the allocator keeps 0 for "no stream". */
	ret_stream->id = id + 1;
	ret_stream->handle = (uint64_t)(uintptr_t)handle;
	ret_stream->owner = (uint64_t)(uintptr_t)context;
	known[slot].stream = *ret_stream;
	known[slot].stream_ends = ends;
	known[slot].context_changes = context_changes;
	return true;
}

/* context NULL: to be found out. */
static bool resolve(const struct gs_context *context, CUstream handle, bool per_thread, struct gsa_stream *ret_stream)
{
	struct gs_context current;

	if (handle == NULL)
		handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (gs_order_stream_captures(handle))
		return false;
	if (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
		return resolve_made(handle, ret_stream);
	if (context == NULL && gs_context_current(&current))
		context = &current;
	return context != NULL && resolve_default(context, handle, ret_stream);
}

bool gs_stream_resolve(CUstream handle, bool per_thread, struct gsa_stream *ret_stream)
{
	return resolve(NULL, handle, per_thread, ret_stream);
}

bool gs_stream_resolve_in(const struct gs_context *context, CUstream handle, bool per_thread,
			  struct gsa_stream *ret_stream)
{
	return resolve(context, handle, per_thread, ret_stream);
}

bool gs_stream_takes_part(const struct gsa_stream *stream)
{
	CUstream handle = (CUstream)(uintptr_t)stream->handle;
	unsigned flags = 0;

	if (handle == CU_STREAM_LEGACY)
		return atomic_load(&gs_order_blocking_seen);
	return handle == CU_STREAM_PER_THREAD || gs_driver.cuStreamGetFlags(handle, &flags) != CUDA_SUCCESS ||
	       (flags & CU_STREAM_NON_BLOCKING) == 0;
}

bool gs_stream_is_of_thread(uint64_t id, uint32_t serial)
{
	return serial != 0 && (id & DEFAULT_STREAM_ID) != 0 && (uint32_t)id == serial;
}

void gs_stream_ends(void)
{
	atomic_fetch_add(&stream_ends, 1);
	gs_epoch_end();
}

uint64_t gs_stream_endings(void)
{
	return atomic_load_explicit(&stream_ends, memory_order_acquire);
}
