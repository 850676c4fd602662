/* Pinned host memory: what the program frees is kept and serves it again (allocator/pinned.h).
 *
 * While a capture is open, and after an error that sticks to a context, every call is the driver's, with the driver's
 * own answer. Memory that is kept never reaches the driver's own free: it is refused as freed memory is. */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/base/err.h"
#include "shim/base/memory.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/host.h"
#include "shim/core/moment.h"
#include "shim/core/order.h"
#include "shim/watch/hazard.h"
#include "shim/watch/note.h"

/* cuMemAllocHost takes no flags; what it returns is kept apart. */
#define NO_FLAGS (1u << 31)

static bool serves(void)
{
	return gs_conf.backend != GS_BACKEND_OFF && !gs_order_capturing() && !gs_order_broken();
}

/* The cache, and the kind of memory that the call asks for; NULL: the call is the driver's. */
static struct gsa_pinned *cache_for(unsigned int flags, struct gsa_pinned_kind *ret_kind)
{
	struct gs_context context;

	if (!gs_conf.pinned_cache || !serves() || gs_device_current(&context) == NULL)
		return NULL;
	*ret_kind = (struct gsa_pinned_kind){
	    .owner = (uint64_t)(uintptr_t)context.handle, .flags = flags, .node = gsb_memory_node()};
	return gs_host_cache();
}

static bool serve(struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind, const struct gs_call *call, void **pp,
		  size_t bytesize)
{
	struct gsa_pinned_info info;

	if (pinned == NULL || pp == NULL || bytesize == 0 ||
	    gsa_pinned_take(pinned, kind, bytesize, &info) != GS_OK)
		return false;
	*pp = (void *)(uintptr_t)info.address;
	gs_note_host_alloc(call, *pp, bytesize);
	return true;
}

static CUresult allocated(CUresult result, struct gsa_pinned *pinned, const struct gsa_pinned_kind *kind,
			  const struct gs_call *call, void *const *pp, size_t bytesize)
{
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		gs_note_out_of_host_memory(call, bytesize);
	if (result != CUDA_SUCCESS || bytesize == 0)
		return result;
	if (pinned != NULL)
		gsa_pinned_add(pinned, kind, bytesize, (uint64_t)(uintptr_t)*pp);
	gs_note_host_alloc(call, *pp, bytesize);
	return result;
}

CUresult gs_on_cuMemAllocHost_v2(struct gs_call *call, PFN_cuMemAllocHost_v3020 real, void **pp, size_t bytesize)
{
	struct gsa_pinned_kind kind;
	struct gsa_pinned *pinned = cache_for(NO_FLAGS, &kind);
	CUresult result;

	if (serve(pinned, &kind, call, pp, bytesize))
		return CUDA_SUCCESS;
	result = real(pp, bytesize);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(pp, bytesize);
	return allocated(result, pinned, &kind, call, pp, bytesize);
}

CUresult gs_on_cuMemHostAlloc(struct gs_call *call, PFN_cuMemHostAlloc_v2020 real, void **pp, size_t bytesize,
			      unsigned int Flags)
{
	struct gsa_pinned_kind kind;
	struct gsa_pinned *pinned = cache_for(Flags, &kind);
	CUresult result;

	if (serve(pinned, &kind, call, pp, bytesize))
		return CUDA_SUCCESS;
	result = real(pp, bytesize, Flags);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(pp, bytesize, Flags);
	return allocated(result, pinned, &kind, call, pp, bytesize);
}

CUresult gs_on_cuMemHostRegister(struct gs_call *call, PFN_cuMemHostRegister_v4000 real, void *p, size_t bytesize,
				 unsigned int Flags)
{
	CUresult result = real(p, bytesize, Flags);

	if (result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)
		result = real(p, bytesize, Flags);
	if (result == CUDA_SUCCESS)
		gs_note_registered(call, p, bytesize);
	return result;
}

CUresult gs_on_cuMemHostRegister_v2(struct gs_call *call, PFN_cuMemHostRegister_v6050 real, void *p, size_t bytesize,
				    unsigned int Flags)
{
	return gs_on_cuMemHostRegister(call, real, p, bytesize, Flags);
}

/* Whether a free waits as the driver's own does: for everything, since any kernel may write pinned memory that the program
 * reads next (H4). */
static bool waits(struct gsa_pinned *pinned)
{
	return gs_conf.free_sync != GS_FREE_SYNC_NEVER && !gsa_pinned_quiet(pinned);
}

/* Keeps what the program frees. False: that is the driver's business. */
static bool keep(struct gsa_pinned *pinned, void *p)
{
	struct gsa_pinned_info info;

	if (!serves() || gsa_pinned_find(pinned, (uint64_t)(uintptr_t)p, &info) != GS_OK ||
	    info.address != (uint64_t)(uintptr_t)p)
		return false;
	if (waits(pinned) &&
	    (gs_moment_await((CUcontext)(uintptr_t)info.kind.owner) != CUDA_SUCCESS || gs_order_capturing()))
		return false;
	return gsa_pinned_free(pinned, info.address) == GS_OK;
}

CUresult gs_on_cuMemFreeHost(struct gs_call *call, PFN_cuMemFreeHost_v2000 real, void *p)
{
	struct gsa_pinned *pinned = gs_host_known();
	CUresult result = CUDA_SUCCESS;

	if (__builtin_expect(gs_hazards, 0))
		gs_hazard_unpins(call, p);
	if (pinned == NULL) {
		result = real(p);
	} else if (!keep(pinned, p)) {
		void *asked = gs_host_asked(p);

		gsa_pinned_leave(pinned, (uint64_t)(uintptr_t)asked);
		result = real(asked);
		gsa_pinned_left(pinned, (uint64_t)(uintptr_t)asked, result == CUDA_SUCCESS);
	}
	if (result == CUDA_SUCCESS)
		gs_note_host_free(p);
	return result;
}

/* --- Questions about memory that is kept: as about memory that is no longer there. */

CUresult gs_on_cuMemHostUnregister(struct gs_call *call, PFN_cuMemHostUnregister_v4000 real, void *p)
{
	CUresult result;

	if (__builtin_expect(gs_hazards, 0))
		gs_hazard_unpins(call, p);
	result = real(gs_host_asked(p));
	if (result == CUDA_SUCCESS)
		gs_note_unregistered(p);
	return result;
}

CUresult gs_on_cuMemHostGetFlags(struct gs_call *call, PFN_cuMemHostGetFlags_v2030 real, unsigned int *pFlags, void *p)
{
	(void)call;
	return real(pFlags, gs_host_asked(p));
}

CUresult gs_on_cuMemHostGetDevicePointer_v2(struct gs_call *call, PFN_cuMemHostGetDevicePointer_v3020 real,
					    CUdeviceptr_v2 *pdptr, void *p, unsigned int Flags)
{
	(void)call;
	return real(pdptr, gs_host_asked(p), Flags);
}
