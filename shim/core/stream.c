/* See stream.h. */
#include "shim/core/stream.h"

#include <stdint.h>

#include "shim/api/driver.h"
#include "shim/core/device.h"
#include "shim/core/order.h"
#include "shim/core/thread.h"

/* Ids of default streams are ours: the driver does not say that it tells those of two contexts or two threads apart.
 * Its own ids are counted and stay far below this bit; all are exact as a double, as JSON readers have it. */
#define DEFAULT_STREAM_ID (1ull << 52)
#define CONTEXT_ID_MASK 0xfffffull

static bool resolve_default(CUstream handle, struct gsa_stream *ret_stream)
{
	struct gs_context context;

	if (!gs_context_current(&context))
		return false;
	ret_stream->id = DEFAULT_STREAM_ID | (context.id & CONTEXT_ID_MASK) << 32 |
			 (handle == CU_STREAM_PER_THREAD ? gs_thread_serial() : 0);
	ret_stream->handle = (uint64_t)(uintptr_t)handle;
	ret_stream->owner = (uint64_t)(uintptr_t)context.handle;
	return true;
}

bool gs_stream_resolve(CUstream handle, bool per_thread, struct gsa_stream *ret_stream)
{
	unsigned long long id = 0;
	CUcontext context = NULL;

	if (handle == NULL)
		handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (gs_order_stream_captures(handle))
		return false;
	if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return resolve_default(handle, ret_stream);
	if (gs_driver.cuStreamGetId == NULL || gs_driver.cuStreamGetId(handle, &id) != CUDA_SUCCESS ||
	    gs_driver.cuStreamGetCtx(handle, &context) != CUDA_SUCCESS)
		return false;
	/* Ids count from 0 or 1 by driver; the allocator keeps 0 for "no stream". */
	ret_stream->id = id + 1;
	ret_stream->handle = (uint64_t)(uintptr_t)handle;
	ret_stream->owner = (uint64_t)(uintptr_t)context;
	return true;
}
