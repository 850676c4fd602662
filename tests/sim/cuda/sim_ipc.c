/* The driver's own sharing of cuMemAlloc memory, as far as one process sees it: handles are made, and what must be
 * refused is refused. A handle of another process is NOT_SUPPORTED: device memory here is private to its process. */
#include "tests/sim/cuda/sim_range.h"

#include <string.h>
#include <unistd.h>

#define HANDLE_MAGIC 0x636d69536d697073ull

struct ipc_handle {
	uint64_t magic;
	uint64_t process;
	uint64_t buffer_id;
};

_Static_assert(sizeof(struct ipc_handle) <= sizeof(CUipcMemHandle), "a handle fits");

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
	struct ipc_handle made = {.magic = HANDLE_MAGIC, .process = (uint64_t)getpid()};
	const struct sim_range *range;
	struct sim_ctx *ctx;

	SIM_ENTER(cuIpcGetMemHandle);
	SIM_TRY(sim_ctx_current(&ctx));
	range = sim_range_find(pointer);
	if (!handle || !range || range->kind != SIM_RANGE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	made.buffer_id = range->buffer_id;
	*handle = (CUipcMemHandle){{0}};
	memcpy(handle, &made, sizeof(made));
	return CUDA_SUCCESS;
}

static CUresult ipc_open(const CUdeviceptr *pointer, const CUipcMemHandle *handle, unsigned flags)
{
	struct ipc_handle given;
	struct sim_ctx *ctx;

	SIM_TRY(sim_ctx_current(&ctx));
	memcpy(&given, handle, sizeof(given));
	if (!pointer || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || given.magic != HANDLE_MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	return given.process == (uint64_t)getpid() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
	SIM_ENTER(cuIpcOpenMemHandle);
	return ipc_open(pointer, &handle, flags);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned flags)
{
	SIM_ENTER(cuIpcOpenMemHandle_v2);
	return ipc_open(pointer, &handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
	SIM_ENTER(cuIpcCloseMemHandle);
	(void)pointer;
	return CUDA_ERROR_INVALID_VALUE;
}
