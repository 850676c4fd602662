/* Contexts: see sim_ctx.h. Destroying one frees its cuMemAlloc memory, its events, streams and modules; memory from
 * cuMemCreate and from pools outlives it, as libraries do. */
#include "tests/sim/cuda/sim_ctx.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_event.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_module.h"
#include "tests/sim/cuda/sim_pool.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_sched.h"
#include "tests/sim/cuda/sim_stream.h"

#define STACK_MAX 64
#define PRIORITY_GREATEST (-5)

struct thread_stream {
	uint64_t ctx_id;
	struct sim_stream *stream;
};

/* A handle alone does not say which context: a later one may have it. */
struct entry {
	struct sim_ctx *ctx;
	uint64_t id;
};

static __thread struct entry stack[STACK_MAX];
static __thread unsigned depth;
static __thread struct thread_stream thread_streams[SIM_DEVICES_MAX * 2];

static uint64_t next_id = 1;
static struct sim_ctx *ended; /* the next one made takes over the handle of the last; stacks may still hold it */

struct sim_ctx *sim_ctx_new(struct sim_device *device, unsigned flags, bool primary)
{
	static const size_t limits[CU_LIMIT_MAX] = {
	    [CU_LIMIT_STACK_SIZE] = 1024,
	    [CU_LIMIT_PRINTF_FIFO_SIZE] = 7 << 20,
	    [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
	};
	struct sim_ctx *ctx = ended;

	if (ctx) {
		ended = ctx->next;
		memset(ctx, 0, sizeof(*ctx));
	} else {
		ctx = calloc(1, sizeof(*ctx));
	}
	if (!ctx)
		abort();
	ctx->id = next_id++;
	ctx->device = device;
	ctx->flags = flags;
	ctx->primary = primary;
	for (int i = 0; i < CU_LIMIT_MAX; i++)
		ctx->limits[i] = limits[i];
	sim_handle_add(ctx, SIM_KIND_CTX);
	ctx->legacy = sim_stream_new(ctx, 0, 0);
	ctx->legacy->legacy = true;
	return ctx;
}

void sim_ctx_destroy(struct sim_ctx *ctx)
{
	sim_capture_forget(ctx);
	sim_sched_drain(ctx);
	sim_handle_remove(ctx);
	sim_event_forget(ctx);
	sim_module_forget(ctx);
	sim_range_forget(ctx);
	while (ctx->streams) {
		struct sim_stream *stream = ctx->streams;

		ctx->streams = stream->next;
		sim_stream_end(stream);
	}
	ctx->next = ended;
	ended = ctx;
}

static bool entry_lives(const struct entry *entry)
{
	return sim_handle_is(entry->ctx, SIM_KIND_CTX) && entry->ctx->id == entry->id;
}

static struct entry entry_of(CUcontext handle)
{
	struct sim_ctx *ctx = (struct sim_ctx *)handle;

	return (struct entry){ctx, ctx ? ctx->id : 0};
}

CUresult sim_ctx_current(struct sim_ctx **ret_ctx)
{
	const struct entry *top = depth ? &stack[depth - 1] : NULL;

	SIM_TRY(sim_ready());
	if (!top || !top->ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!entry_lives(top))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (top->ctx->sticky != CUDA_SUCCESS)
		return top->ctx->sticky;
	*ret_ctx = top->ctx;
	return CUDA_SUCCESS;
}

void sim_ctx_break(CUresult error)
{
	struct entry *top = depth ? &stack[depth - 1] : NULL;

	if (error != CUDA_ERROR_ILLEGAL_ADDRESS || !top || !entry_lives(top))
		return;
	top->ctx->sticky = error;
	sim_sched_drain(top->ctx);
}

struct sim_stream *sim_ctx_thread_stream(struct sim_ctx *ctx)
{
	struct thread_stream *slot = thread_streams;

	while (slot < thread_streams + SIM_DEVICES_MAX * 2 - 1 && slot->ctx_id && slot->ctx_id != ctx->id)
		slot++;
	if (slot->ctx_id != ctx->id) {
		slot->ctx_id = ctx->id;
		slot->stream = sim_stream_new(ctx, 0, 0);
	}
	return slot->stream;
}

static CUresult ctx_set(CUcontext handle)
{
	SIM_TRY(sim_ready());
	if (handle && !sim_handle_is(handle, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == 0)
		depth = 1;
	stack[depth - 1] = entry_of(handle);
	if (!handle)
		depth--;
	return CUDA_SUCCESS;
}

static CUresult ctx_push(CUcontext handle)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == STACK_MAX)
		return CUDA_ERROR_UNKNOWN;
	stack[depth++] = entry_of(handle);
	return CUDA_SUCCESS;
}

static CUresult ctx_create(CUcontext *ret_handle, unsigned flags, CUdevice ordinal)
{
	struct sim_device *device;
	struct sim_ctx *ctx;

	SIM_TRY(sim_device_get(ordinal, &device));
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	ctx = sim_ctx_new(device, flags, false);
	*ret_handle = (CUcontext)ctx;
	return ctx_push(*ret_handle);
}

CUresult cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice ordinal)
{
	SIM_ENTER(cuCtxCreate_v2);
	return ctx_create(handle, flags, ordinal);
}

CUresult cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *params, int count, unsigned flags, CUdevice ordinal)
{
	SIM_ENTER(cuCtxCreate_v3);
	return params || count ? CUDA_ERROR_NOT_SUPPORTED : ctx_create(handle, flags, ordinal);
}

CUresult cuCtxCreate_v4(CUcontext *handle, CUctxCreateParams *params, unsigned flags, CUdevice ordinal)
{
	SIM_ENTER(cuCtxCreate_v4);
	return params ? CUDA_ERROR_NOT_SUPPORTED : ctx_create(handle, flags, ordinal);
}

static CUresult ctx_destroy(CUcontext handle)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_CTX) || ((struct sim_ctx *)handle)->primary || ((struct sim_ctx *)handle)->green)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_ctx_destroy((struct sim_ctx *)handle);
	if (depth && stack[depth - 1].ctx == (struct sim_ctx *)handle)
		depth--;
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext handle)
{
	SIM_ENTER(cuCtxDestroy);
	return ctx_destroy(handle);
}

CUresult cuCtxDestroy_v2(CUcontext handle)
{
	SIM_ENTER(cuCtxDestroy_v2);
	return ctx_destroy(handle);
}

CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
	SIM_ENTER(cuCtxPushCurrent_v2);
	return ctx_push(handle);
}

CUresult cuCtxPopCurrent_v2(CUcontext *handle)
{
	SIM_ENTER(cuCtxPopCurrent_v2);
	SIM_TRY(sim_ready());
	if (depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (handle)
		*handle = (CUcontext)stack[depth].ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
	SIM_ENTER(cuCtxSetCurrent);
	return ctx_set(handle);
}

CUresult cuCtxGetCurrent(CUcontext *handle)
{
	SIM_ENTER(cuCtxGetCurrent);
	SIM_TRY(sim_ready());
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = depth ? (CUcontext)stack[depth - 1].ctx : NULL;
	return CUDA_SUCCESS;
}

/* NULL means the current context, for the calls that take one since 13.0. */
static CUresult ctx_find(CUcontext handle, struct sim_ctx **ret_ctx)
{
	if (!handle)
		return sim_ctx_current(ret_ctx);
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_ctx = (struct sim_ctx *)handle;
	return (*ret_ctx)->sticky;
}

static CUresult ctx_device(CUdevice *device, CUcontext handle)
{
	struct sim_ctx *ctx;

	SIM_TRY(ctx_find(handle, &ctx));
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = ctx->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	SIM_ENTER(cuCtxGetDevice);
	return ctx_device(device, NULL);
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
	SIM_ENTER(cuCtxGetDevice_v2);
	return ctx_device(device, handle);
}

static CUresult ctx_synchronize(CUcontext handle)
{
	struct sim_ctx *ctx;

	SIM_TRY(ctx_find(handle, &ctx));
	SIM_TRY(sim_capture_ask_ctx(ctx));
	sim_sched_drain(ctx);
	sim_pool_settle();
	return ctx->sticky;
}

CUresult cuCtxSynchronize(void)
{
	SIM_ENTER(cuCtxSynchronize);
	return ctx_synchronize(NULL);
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
	SIM_ENTER(cuCtxSynchronize_v2);
	return ctx_synchronize(handle);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuCtxGetId);
	SIM_TRY(ctx_find(handle, &ctx));
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = ctx->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned *flags)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuCtxGetFlags);
	SIM_TRY(sim_ctx_current(&ctx));
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = ctx->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuCtxGetApiVersion);
	SIM_TRY(ctx_find(handle, &ctx));
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuCtxGetStreamPriorityRange);
	SIM_TRY(sim_ctx_current(&ctx));
	if (least)
		*least = 0;
	if (greatest)
		*greatest = PRIORITY_GREATEST;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuCtxGetLimit);
	SIM_TRY(sim_ctx_current(&ctx));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*value = ctx->limits[limit];
	return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct sim_ctx *ctx;

	SIM_ENTER(cuCtxSetLimit);
	SIM_TRY(sim_ctx_current(&ctx));
	if (limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	ctx->limits[limit] = value;
	return CUDA_SUCCESS;
}

/* Memory of every device lies in one address space, so only the answers depend on this. */
static CUresult peer_find(CUcontext handle, struct sim_ctx **ret_ctx, uint32_t *ret_bit)
{
	const struct sim_ctx *peer = (const struct sim_ctx *)handle;

	SIM_TRY(sim_ctx_current(ret_ctx));
	if (!sim_handle_is(peer, SIM_KIND_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!sim_device_reaches((*ret_ctx)->device->ordinal, peer->device->ordinal))
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	*ret_bit = 1u << peer->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	struct sim_ctx *ctx;
	uint32_t bit;

	SIM_ENTER(cuCtxEnablePeerAccess);
	SIM_TRY(peer_find(peer, &ctx, &bit));
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx->peers & bit)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	ctx->peers |= bit;
	return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	struct sim_ctx *ctx;
	uint32_t bit;

	SIM_ENTER(cuCtxDisablePeerAccess);
	SIM_TRY(peer_find(peer, &ctx, &bit));
	if (!(ctx->peers & bit))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	ctx->peers &= ~bit;
	return CUDA_SUCCESS;
}
