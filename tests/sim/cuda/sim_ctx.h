/* Contexts, primary and created, and each thread's stack of current ones. */
#ifndef SIM_CTX_H
#define SIM_CTX_H

#include "tests/sim/cuda/sim_device.h"

struct sim_stream;

struct sim_ctx {
	uint64_t id; /* cuCtxGetId */
	struct sim_device *device;
	unsigned flags;
	bool primary, green;
	CUresult sticky;	    /* an error that every later call in this context returns */
	struct sim_stream *legacy;  /* the NULL stream */
	struct sim_stream *streams; /* all of it, the legacy and per-thread ones included; through stream->next */
	size_t limits[CU_LIMIT_MAX];
	uint32_t peers;	      /* bit d: peer access to device d is enabled */
	struct sim_ctx *next; /* in the list of those that ended */
};

/* The calling thread's context. CUDA_ERROR_INVALID_CONTEXT when it has none, CUDA_ERROR_CONTEXT_IS_DESTROYED when it
 * was destroyed while current, or the context's sticky error. */
CUresult sim_ctx_current(struct sim_ctx **ret_ctx);

struct sim_ctx *sim_ctx_new(struct sim_device *device, unsigned flags, bool primary);

/* Waits for its work, then ends it with all that it owns. */
void sim_ctx_destroy(struct sim_ctx *ctx);

struct sim_ctx *sim_primary_retain(struct sim_device *device);
CUresult sim_primary_release(struct sim_device *device);

/* An error that sticks to the calling thread's context, if it has one: every later call in it returns it, and nothing
 * that is queued there runs. */
void sim_ctx_break(CUresult error);

/* The per-thread default stream of the calling thread in this context. */
struct sim_stream *sim_ctx_thread_stream(struct sim_ctx *ctx);

#endif
