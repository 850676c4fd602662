/* Buffers: memory by every call that gives any, used by streams and the host, and freed by every call that may.
 *
 * A buffer knows the operations that wrote it and those that touched it. Whoever reads it asks for the first to come
 * before, whoever writes it or frees it for all (stream.h). Where the device refuses (memory is short), pinned host
 * memory takes the place of what was asked for, so that the program goes on and ends with the same contents; `kind`
 * stays what was asked for, and only freeing looks at `substitute`. */
#ifndef SOAK_BUFFER_H
#define SOAK_BUFFER_H

#include <cuda.h>

#include "tests/soak/stream.h"

/*  X(name, weight, device memory, stream-ordered, the host may touch it) */
#define BUFFER_KINDS(X)                                                                                                \
	X(cudaMalloc, 6, true, false, false)                                                                           \
	X(cuMemAlloc, 2, true, false, false)                                                                           \
	X(cudaMallocPitch, 1, true, false, false)                                                                      \
	X(cudaMallocManaged, 1, true, false, true)                                                                     \
	X(cudaMallocAsync, 6, true, true, false)                                                                       \
	X(cuMemAllocAsync, 2, true, true, false)                                                                       \
	X(default_pool, 2, true, true, false)                                                                          \
	X(own_pool, 1, true, true, false)                                                                              \
	X(cuMemMap, 1, true, false, false)                                                                             \
	X(cudaHostAlloc, 2, false, false, true)                                                                        \
	X(cudaMallocHost, 1, false, false, true)                                                                       \
	X(cudaHostRegister, 1, false, false, true)

enum buffer_kind {
#define X(name, weight, device, ordered, host) BUFFER_##name,
	BUFFER_KINDS(X)
#undef X
	    BUFFER_KIND_COUNT
};

struct buffer_kind_info {
	const char *name;
	unsigned weight;
	bool device, ordered, host;
};
extern const struct buffer_kind_info buffer_kinds[BUFFER_KIND_COUNT];

struct buffer {
	bool live;
	enum buffer_kind kind;
	bool substitute;
	int context; /* where it may be used, unless `host` */
	int pool;    /* own_pool: which */
	uint32_t *words;
	uint64_t count; /* words, all of them with contents */
	size_t size_bytes;
	struct clock written, touched;
	bool copied; /* what was written last, was written by copies from a device */
	CUmemGenericAllocationHandle handle; /* cuMemMap */
};

enum { BUFFERS = 28 };
extern struct buffer buffers[BUFFERS];

/* The program's taste: which kinds it likes and how large; once. */
void buffers_start(void);

/* Fills the struct; the memory has no contents yet. */
void buffer_make(struct buffer *buffer, int stream, enum buffer_kind kind, uint64_t count);
enum buffer_kind buffer_draw_kind(void);

/* One size, by the program's taste. */
uint64_t buffer_draw_count(void);

/* On the stream, if the way that is drawn needs one. */
void buffer_free(struct buffer *buffer, int stream);

/* By cudaFree or its kin, when that is a way. */
void buffer_free_now(struct buffer *buffer);

/* Before a context is destroyed: waits for the work of others on memory that dies with it. */
void buffers_await_others(int context);

/* Its context is gone. Returns memory that went along; NULL. */
void *buffers_forget(int context);

/* Whether streams of the context may touch it. */
bool buffer_reachable(const struct buffer *buffer, int context);

/* A live buffer that the context reaches, by draw; NULL. */
struct buffer *buffer_pick(int context);
struct buffer *buffer_pick_host(void);
struct buffer *buffer_empty(void);

/* The stream is about to write dst and to read src (either may be NULL): orders that, and notes it. Right before the
 * one call that submits it. */
void buffer_use(int stream, struct buffer *dst, struct buffer *src);

/* The same for a copy that goes to the host. */
void buffer_use_copy(int stream, struct buffer *dst, struct buffer *src);

/* One operation that does all that: a graph. */
struct buffer_access {
	struct buffer *dst, *src; /* either may be NULL */
};
void buffer_use_all(int stream, const struct buffer_access *accesses, unsigned count);

/* The host waits until it may. */
void buffer_host_read(struct buffer *buffer);
void buffer_host_write(struct buffer *buffer);

int buffer_number(const struct buffer *buffer);

/* Pools that the program makes: one a device and slot. */
cudaMemPool_t pool_own(int device);
void pool_drop(int device);
bool pool_in_use(int device);

/* Which one serves cudaMallocAsync of the device from now on. */
void pool_set_current(int device, bool own);

#endif
