/* See stream.h. */
#include "shim/core/stream.h"

#include <stdint.h>

#include "shim/api/driver.h"

bool gs_stream_resolve(CUstream handle, bool per_thread, struct gsa_stream *ret_stream)
{
	unsigned long long id = 0;
	CUcontext context = NULL;

	if (handle == NULL)
		handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (gs_driver.cuStreamGetId == NULL || gs_driver.cuStreamGetId(handle, &id) != CUDA_SUCCESS)
		return false;
	if (handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
		if (gs_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == NULL)
			return false;
	} else if (gs_driver.cuStreamGetCtx(handle, &context) != CUDA_SUCCESS) {
		return false;
	}
	/* Ids count from 0 or 1 by driver; the allocator keeps 0 for "no stream". */
	ret_stream->id = id + 1;
	ret_stream->handle = (uint64_t)(uintptr_t)handle;
	ret_stream->owner = (uint64_t)(uintptr_t)context;
	return true;
}
