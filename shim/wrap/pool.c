/* Memory pools: the default pool of a device is ours; its figures are those of both, the driver's part being mostly
 * nothing. Other pools are the driver's.
 *
 * What the pool holds is all that we hold but live blocks of cudaMalloc: freed memory of theirs serves it too. The
 * release threshold is the driver's to keep and has no meaning to us: what is idle stays until it is trimmed or wanted
 * elsewhere. Memory comes from another stream only when it is known to be idle, so there is never a dependency to hide,
 * whatever REUSE_* says (H7). Graphs have their memory from the driver, and so their figures. */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/device.h"
#include "shim/core/order.h"
#include "shim/watch/note.h"

static struct gs_device *default_pool_device(CUmemoryPool pool)
{
	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL && pool != NULL && device->default_pool == pool)
			return device;
	}
	return NULL;
}

CUresult gs_on_cuMemPoolGetAttribute(struct gs_call *call, PFN_cuMemPoolGetAttribute_v11020 real, CUmemoryPool pool,
				     CUmemPool_attribute attr, void *value)
{
	CUresult result = real(pool, attr, value);
	struct gs_device *device = default_pool_device(pool);
	cuuint64_t *bytes = value;
	struct gsa_stats stats;

	(void)call;
	if (result != CUDA_SUCCESS || device == NULL)
		return result;
	gsa_stats_read(device->allocator, &stats);
	switch (attr) {
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*bytes += stats.allocated_async_bytes.now;
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*bytes += stats.allocated_async_bytes.peak;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*bytes += stats.pool_bytes.now;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*bytes += stats.pool_bytes.peak;
		break;
	default:
		break;
	}
	return result;
}

CUresult gs_on_cuMemPoolSetAttribute(struct gs_call *call, PFN_cuMemPoolSetAttribute_v11020 real, CUmemoryPool pool,
				     CUmemPool_attribute attr, void *value)
{
	CUresult result = real(pool, attr, value);
	struct gs_device *device = default_pool_device(pool);

	(void)call;
	if (result == CUDA_SUCCESS && device != NULL && attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		gsa_stats_reset_pool_used(device->allocator);
	if (result == CUDA_SUCCESS && device != NULL && attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
		gsa_stats_reset_pool_held(device->allocator);
	return result;
}

/* What a pool keeps counts the memory in use, what the allocator keeps does not. */
static void trim(const struct gs_device *device, uint64_t keep_bytes)
{
	struct gsa_stats stats;
	uint64_t used_bytes;

	gsa_stats_read(device->allocator, &stats);
	used_bytes = stats.pool_bytes.now - stats.idle_bytes.now - stats.pending_bytes.now;
	gsa_trim(device->allocator, keep_bytes > used_bytes ? keep_bytes - used_bytes : 0);
}

CUresult gs_on_cuMemPoolTrimTo(struct gs_call *call, PFN_cuMemPoolTrimTo_v11020 real, CUmemoryPool pool,
			       size_t minBytesToKeep)
{
	CUresult result = real(pool, minBytesToKeep);
	struct gs_device *device = default_pool_device(pool);

	(void)call;
	if (result == CUDA_SUCCESS && device != NULL && !gs_order_capturing())
		trim(device, minBytesToKeep);
	return result;
}

CUresult gs_on_cuMemPoolSetAccess(struct gs_call *call, PFN_cuMemPoolSetAccess_v11020 real, CUmemoryPool pool,
				  const CUmemAccessDesc_v1 *map, size_t count)
{
	CUresult result = real(pool, map, count);
	struct gs_device *device = default_pool_device(pool);

	(void)call;
	if (result != CUDA_SUCCESS || device == NULL)
		return result;
	for (size_t i = 0; i < count; i++)
		if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && map[i].location.id < GS_DEVICE_LIMIT &&
		    map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			gs_device_add_peer(device, map[i].location.id);
	return result;
}

CUresult gs_on_cuDeviceSetMemPool(struct gs_call *call, PFN_cuDeviceSetMemPool_v11020 real, CUdevice_v1 dev,
				  CUmemoryPool pool)
{
	CUresult result = real(dev, pool);
	struct gs_device *device = gs_device_used(dev);

	(void)call;
	if (result == CUDA_SUCCESS && device != NULL)
		gs_device_set_pool(device, pool == device->default_pool);
	return result;
}

#if CUDA_VERSION >= 13000
CUresult gs_on_cuMemSetMemPool(struct gs_call *call, PFN_cuMemSetMemPool_v13000 real, CUmemLocation_v1 *location,
			       CUmemAllocationType type, CUmemoryPool pool)
{
	CUresult result = real(location, type, pool);
	struct gs_device *device =
	    location != NULL && location->type == CU_MEM_LOCATION_TYPE_DEVICE ? gs_device_used(location->id) : NULL;

	(void)call;
	if (result == CUDA_SUCCESS && device != NULL && type == CU_MEM_ALLOCATION_TYPE_PINNED)
		gs_device_set_pool(device, pool == device->default_pool);
	return result;
}
#endif

CUresult gs_on_cuMemPoolCreate(struct gs_call *call, PFN_cuMemPoolCreate_v11020 real, CUmemoryPool *pool,
			       const CUmemPoolProps_v1 *poolProps)
{
	CUresult result = real(pool, poolProps);

	if (result == CUDA_SUCCESS)
		gs_note_event(call, GS_EVENT_POOL_MADE, (uint64_t)(uintptr_t)*pool, 0);
	return result;
}

/* The device that had it for its current pool is back at its default one. */
CUresult gs_on_cuMemPoolDestroy(struct gs_call *call, PFN_cuMemPoolDestroy_v11020 real, CUmemoryPool pool)
{
	CUresult result = real(pool);

	if (result == CUDA_SUCCESS)
		gs_note_event(call, GS_EVENT_POOL_ENDED, (uint64_t)(uintptr_t)pool, 0);
	for (CUdevice ordinal = 0; result == CUDA_SUCCESS && ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);
		CUmemoryPool current = NULL;

		if (device != NULL && gs_driver.cuDeviceGetMemPool(&current, ordinal) == CUDA_SUCCESS)
			gs_device_set_pool(device, current == device->default_pool);
	}
	return result;
}
