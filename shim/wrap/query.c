/* What a program may ask of memory that we serve: answers as for memory of the driver's own (H30, H32). */
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/device.h"
#include "shim/core/host.h"
#include "shim/ipc/ipc.h"

/* Buffer ids of ours lie far from the driver's own, which count from 1: ids are unique in the process. */
#define BUFFER_ID_BASE (1ull << 62)
#define HOST_BUFFER_ID_BASE (1ull << 61)

/* Memory at or around the address that we serve, or opened from another process that serves it. What the driver says
 * of it is about the physical memory below: pieces of a block, or a larger allocation that is used again. */
static bool is_ours(CUdeviceptr address, struct gsa_block_info *ret_block)
{
	return gs_device_of(address, ret_block) != NULL || gs_ipc_find(address, ret_block);
}

/* What the driver is asked about: for memory that the program has freed and we still hold, an address that is nothing
 * to it, as the freed one would be. */
static CUdeviceptr asked_address(CUdeviceptr address)
{
	static const char nothing;
	struct gsa_block_info block;
	bool freed = gs_device_of(address, &block) == NULL && gs_device_holds(address);

	return freed ? (CUdeviceptr)(uintptr_t)&nothing
		     : (CUdeviceptr)(uintptr_t)gs_host_asked((void *)(uintptr_t)address);
}

/* Bytes that the device counts as used and we could give to the program again. */
static uint64_t held_free_bytes(const struct gs_device *device)
{
	struct gsa_stats stats;

	gsa_stats_read(device->allocator, &stats);
	return stats.pending_bytes.now + stats.idle_bytes.now;
}

CUresult gs_on_cuMemGetInfo_v2(struct gs_call *call, PFN_cuMemGetInfo_v3020 real, size_t *free, size_t *total)
{
	CUresult result = real(free, total);
	struct gs_device *device;
	CUdevice ordinal;

	(void)call;
	if (result == CUDA_SUCCESS && free != NULL && gs_driver.cuCtxGetDevice(&ordinal) == CUDA_SUCCESS &&
	    (device = gs_device_used(ordinal)) != NULL) {
		if (total != NULL)
			gs_device_saw(device, *free, *total);
		*free += held_free_bytes(device);
	}
	return result;
}

/* Pinned memory may be a larger allocation that is used again. */
static CUresult host_range(CUresult result, size_t *psize, CUdeviceptr address)
{
	struct gsa_pinned_info info;

	if (result == CUDA_SUCCESS && psize != NULL && gs_host_find(address, &info))
		*psize = info.size_bytes;
	return result;
}

CUresult gs_on_cuMemGetAddressRange_v2(struct gs_call *call, PFN_cuMemGetAddressRange_v3020 real, CUdeviceptr_v2 *pbase,
				       size_t *psize, CUdeviceptr_v2 dptr)
{
	struct gsa_block_info block;

	(void)call;
	if (!is_ours(dptr, &block))
		return host_range(real(pbase, psize, asked_address(dptr)), psize, dptr);
	if (pbase != NULL)
		*pbase = block.address;
	if (psize != NULL)
		*psize = block.size_bytes;
	return CUDA_SUCCESS;
}

/* Corrects one attribute of a block of ours; the driver has answered for the physical memory below it. */
static void correct_attribute(CUpointer_attribute attribute, const struct gsa_block_info *block, void *data)
{
	bool legacy = block->origin == GSA_ORIGIN_LEGACY;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = legacy ? (CUcontext)(uintptr_t)block->owner : NULL;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = block->address;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = block->size_bytes;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = BUFFER_ID_BASE + block->serial;
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: /* our handles hold other blocks too */
		*(unsigned int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = (CUmemoryPool)(uintptr_t)block->pool;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(bool *)data = legacy;
		break;
	default:
		break;
	}
}

/* What a network card's library asks for before it registers memory, which it may then find by its address (H12). */
static void note_asked(CUpointer_attribute attribute, CUdeviceptr address)
{
	struct gsa_block_info block;
	const struct gs_device *device;

	if (attribute != CU_POINTER_ATTRIBUTE_BUFFER_ID && attribute != CU_POINTER_ATTRIBUTE_P2P_TOKENS &&
	    attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return;
	device = gs_device_of(address, &block);
	if (device != NULL)
		gsa_hold(device->allocator, address);
}

/* The same for pinned memory, which may have had another life before. */
static void correct_host_attribute(CUpointer_attribute attribute, const struct gsa_pinned_info *info, void *data)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = info->size_bytes;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = HOST_BUFFER_ID_BASE + info->serial;
		break;
	default:
		break;
	}
}

CUresult gs_on_cuPointerGetAttribute(struct gs_call *call, PFN_cuPointerGetAttribute_v4000 real, void *data,
				     CUpointer_attribute attribute, CUdeviceptr_v2 ptr)
{
	struct gsa_pinned_info info;
	struct gsa_block_info block;
	CUresult result = real(data, attribute, asked_address(ptr));

	(void)call;
	if (result == CUDA_SUCCESS && is_ours(ptr, &block)) {
		correct_attribute(attribute, &block, data);
		note_asked(attribute, ptr);
	} else if (result == CUDA_SUCCESS && gs_host_find(ptr, &info)) {
		correct_host_attribute(attribute, &info, data);
	}
	return result;
}

CUresult gs_on_cuPointerGetAttributes(struct gs_call *call, PFN_cuPointerGetAttributes_v7000 real,
				      unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
				      CUdeviceptr_v2 ptr)
{
	struct gsa_pinned_info info;
	struct gsa_block_info block;
	CUresult result = real(numAttributes, attributes, data, asked_address(ptr));

	(void)call;
	if (result == CUDA_SUCCESS && is_ours(ptr, &block))
		for (unsigned int i = 0; i < numAttributes; i++) {
			correct_attribute(attributes[i], &block, data[i]);
			note_asked(attributes[i], ptr);
		}
	else if (result == CUDA_SUCCESS && gs_host_find(ptr, &info))
		for (unsigned int i = 0; i < numAttributes; i++)
			correct_host_attribute(attributes[i], &info, data[i]);
	return result;
}

CUresult gs_on_cuPointerSetAttribute(struct gs_call *call, PFN_cuPointerSetAttribute_v6000 real, const void *value,
				     CUpointer_attribute attribute, CUdeviceptr_v2 ptr)
{
	CUresult result = real(value, attribute, asked_address(ptr));

	(void)call;
	note_asked(attribute, ptr);
	return result;
}
