/* What a program may ask of a pointer. Pageable host memory is no pointer of ours: CUDA_ERROR_INVALID_VALUE from
 * cuPointerGetAttribute, zeros from cuPointerGetAttributes. */
#include "tests/sim/cuda/sim_graph_memory.h"
#include "tests/sim/cuda/sim_pages.h"
#include "tests/sim/cuda/sim_vmm.h"

#include <fcntl.h>
#include <string.h>

static unsigned range_memory_type(const struct sim_range *range)
{
	return range->kind == SIM_RANGE_HOST || range->kind == SIM_RANGE_REGISTERED ? CU_MEMORYTYPE_HOST
										    : CU_MEMORYTYPE_DEVICE;
}

/* The driver maps device memory in whole granules, several allocations in one. */
static uintptr_t mapping_start(const struct sim_range *range)
{
	return range->kind == SIM_RANGE_DEVICE ? range->start & ~(SIM_GRANULARITY_BYTES - 1) : range->start;
}

static uintptr_t mapping_end(const struct sim_range *range)
{
	uintptr_t end = range->start + range->size_bytes;

	return range->kind == SIM_RANGE_DEVICE ? (end + SIM_GRANULARITY_BYTES - 1) & ~(SIM_GRANULARITY_BYTES - 1) : end;
}

#define ANSWER(type, value) (*(type *)data = (type)(value))

static CUresult range_answer(void *data, CUpointer_attribute attribute, const struct sim_range *range,
			     uintptr_t address)
{
	bool host = range_memory_type(range) == CU_MEMORYTYPE_HOST;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		ANSWER(CUcontext, (CUcontext)range->ctx);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		ANSWER(unsigned, range_memory_type(range));
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		ANSWER(CUdeviceptr, address);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!host && range->kind != SIM_RANGE_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		ANSWER(void *, address);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		ANSWER(unsigned, 0);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		ANSWER(unsigned long long, range->buffer_id);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		ANSWER(unsigned, range->kind == SIM_RANGE_MANAGED);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		ANSWER(int, range->device->ordinal);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		ANSWER(unsigned, range->kind == SIM_RANGE_DEVICE);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		ANSWER(CUdeviceptr, range->start);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		ANSWER(size_t, range->size_bytes);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		ANSWER(CUdeviceptr, mapping_start(range));
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		ANSWER(size_t, mapping_end(range) - mapping_start(range));
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		ANSWER(unsigned, 1);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		ANSWER(unsigned long long, range->kind == SIM_RANGE_VMM ? range->memory->prop.requestedHandleTypes : 0);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		ANSWER(unsigned, 0);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		ANSWER(unsigned, range->kind == SIM_RANGE_VMM ? range->access[range->device->ordinal]
							      : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		ANSWER(CUmemoryPool, (CUmemoryPool)range->pool);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		ANSWER(unsigned long long, range->memory ? range->memory->id : range->buffer_id);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* Memory of a graph is none before the graph was launched. */
static const struct sim_range *range_known(CUdeviceptr pointer)
{
	const struct sim_range *range = sim_range_find(pointer);

	return range && range->kind == SIM_RANGE_GRAPH && !range->graph_memory->live ? NULL : range;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
	const struct sim_range *range;

	SIM_ENTER(cuPointerGetAttribute);
	SIM_TRY(sim_ready());
	range = range_known(pointer);
	if (!data || !range)
		return CUDA_ERROR_INVALID_VALUE;
	return range_answer(data, attribute, range, pointer);
}

static size_t answer_bytes(CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return 4;
	default:
		return 8;
	}
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr pointer)
{
	const struct sim_range *range;

	SIM_ENTER(cuPointerGetAttributes);
	SIM_TRY(sim_ready());
	range = range_known(pointer);
	if (!attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		CUresult result =
		    range ? range_answer(data[i], attributes[i], range, pointer) : CUDA_ERROR_INVALID_VALUE;

		if (result == CUDA_ERROR_NOT_SUPPORTED)
			return CUDA_ERROR_INVALID_VALUE;
		if (result == CUDA_SUCCESS)
			continue;
		memset(data[i], 0, answer_bytes(attributes[i]));
		if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = -2;
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr pointer)
{
	SIM_ENTER(cuPointerSetAttribute);
	SIM_TRY(sim_ready());
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !sim_range_is_device(pointer))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_range_find(pointer)->kind == SIM_RANGE_VMM ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* The descriptor is a file with the memory of the range and what lies around it. */
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr pointer, size_t size_bytes, CUmemRangeHandleType type,
				       unsigned long long flags)
{
	const size_t page_bytes = 4096;
	struct sim_range *range;
	int fd = -1;

	SIM_ENTER(cuMemGetHandleForAddressRange);
	SIM_TRY(sim_ready());
	range = sim_range_find(pointer);
	if (!handle || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags || !range || pointer % page_bytes ||
	    size_bytes == 0 || size_bytes % page_bytes ||
	    (range->kind == SIM_RANGE_DEVICE && size_bytes > range->start + range->size_bytes - pointer))
		return CUDA_ERROR_INVALID_VALUE;
	if (range->kind == SIM_RANGE_DEVICE && !range->shared_fd)
		range->shared_fd = sim_pages_share(range->start, range->size_bytes);
	if (range->kind == SIM_RANGE_DEVICE)
		fd = fcntl(range->shared_fd, F_DUPFD_CLOEXEC, 0);
	else if (range->kind == SIM_RANGE_VMM)
		fd = fcntl(range->memory->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	*(int *)handle = fd;
	return CUDA_SUCCESS;
}
