/* The driver's own sharing of cuMemAlloc memory between processes: see sim_ipc.h. */
#include "tests/sim/cuda/sim_ipc.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_pages.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_sched.h"

#define MEMORY_MAGIC 0x636d69536d697073ull

/* Memory that is open here, once however often it was opened. */
struct opened {
	uint64_t process, id; /* of the exporter */
	uintptr_t start;
	uint64_t buffer_id; /* here */
	unsigned opens;
	struct opened *next;
};

static struct opened *all_opened;

struct sim_ipc_handle sim_ipc_handle(uint64_t magic, uint64_t id, int fd, size_t size_bytes)
{
	struct sim_ipc_handle handle = {
	    .magic = magic, .process = (uint64_t)getpid(), .id = id, .size_bytes = size_bytes, .fd = fd};
	struct stat file;

	if (fstat(fd, &file) == 0)
		handle.file = file.st_ino;
	return handle;
}

CUresult sim_ipc_open(uint64_t magic, const struct sim_ipc_handle *handle, int *ret_fd)
{
	struct stat file;
	char path[64];
	int fd;

	if (handle->magic != magic)
		return CUDA_ERROR_INVALID_VALUE;
	if (handle->process == (uint64_t)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	snprintf(path, sizeof(path), "/proc/%llu/fd/%d", (unsigned long long)handle->process, handle->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return kill((pid_t)handle->process, 0) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	if (fstat(fd, &file) != 0 || file.st_ino != handle->file) {
		close(fd);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*ret_fd = fd;
	return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
	struct sim_ipc_handle made;
	struct sim_range *range;
	struct sim_ctx *ctx;

	SIM_ENTER(cuIpcGetMemHandle);
	SIM_TRY(sim_ctx_current(&ctx));
	range = sim_range_find(pointer);
	if (!handle || !range || range->kind != SIM_RANGE_DEVICE || range->freed)
		return CUDA_ERROR_INVALID_VALUE;
	if (!range->shared_fd) {
		int fd = sim_pages_share(range->start, range->size_bytes);

		if (fd < 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
		range->shared_fd = fd;
	}
	made = sim_ipc_handle(MEMORY_MAGIC, range->buffer_id, range->shared_fd, range->size_bytes);
	*handle = (CUipcMemHandle){{0}};
	memcpy(handle, &made, sizeof(made));
	return CUDA_SUCCESS;
}

/* Also forgets what went with its context. */
static struct opened **opened_find(uint64_t process, uint64_t id)
{
	struct opened **link = &all_opened;

	while (*link) {
		struct opened *at = *link;
		const struct sim_range *range = sim_range_find(at->start);

		if (!range || range->buffer_id != at->buffer_id) {
			*link = at->next;
			free(at);
		} else if (at->process == process && at->id == id) {
			break;
		} else {
			link = &at->next;
		}
	}
	return link;
}

static CUresult opened_new(const struct sim_ipc_handle *handle, struct sim_ctx *ctx, struct opened **ret_opened)
{
	struct opened *made;
	uintptr_t start;
	int fd;

	SIM_TRY(sim_ipc_open(MEMORY_MAGIC, handle, &fd));
	start = sim_pages_open(fd, handle->size_bytes);
	close(fd);
	if (!start)
		return CUDA_ERROR_MAP_FAILED;
	made = calloc(1, sizeof(*made));
	if (!made)
		abort();
	*made = (struct opened){.process = handle->process, .id = handle->id, .start = start, .next = all_opened};
	made->buffer_id = sim_range_add((struct sim_range){.start = start,
							   .size_bytes = handle->size_bytes,
							   .kind = SIM_RANGE_IPC,
							   .ctx = ctx,
							   .device = ctx->device})
			      ->buffer_id;
	all_opened = made;
	*ret_opened = made;
	return CUDA_SUCCESS;
}

static CUresult ipc_open(CUdeviceptr *pointer, const CUipcMemHandle *handle, unsigned flags)
{
	struct sim_ipc_handle given;
	struct opened *opened;
	struct sim_ctx *ctx;

	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ctx_current(&ctx));
	memcpy(&given, handle, sizeof(given));
	if (!pointer || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || given.magic != MEMORY_MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	opened = *opened_find(given.process, given.id);
	if (!opened)
		SIM_TRY(opened_new(&given, ctx, &opened));
	opened->opens++;
	*pointer = opened->start;
	return CUDA_SUCCESS;
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

static struct opened **opened_at(uintptr_t start)
{
	struct opened **link = &all_opened;

	while (*link && (*link)->start != start)
		link = &(*link)->next;
	return link;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
	struct opened **link, *opened;
	struct sim_range *range;
	struct sim_ctx *ctx;

	SIM_ENTER(cuIpcCloseMemHandle);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ctx_current(&ctx));
	range = sim_range_find(pointer);
	link = opened_at(pointer);
	opened = *link;
	if (!range || range->kind != SIM_RANGE_IPC || !opened)
		return CUDA_ERROR_INVALID_VALUE;
	if (--opened->opens)
		return CUDA_SUCCESS;
	*link = opened->next;
	free(opened);
	sim_sched_drain(range->ctx);
	sim_range_free(range);
	return CUDA_SUCCESS;
}
