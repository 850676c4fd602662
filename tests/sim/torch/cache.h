/* Inside the stand-in for libc10_cuda.so: segments, the blocks in them, and the list of captures. One lock around
 * all (cache_enter, cache_leave); every other function here wants it held.
 *
 *   segment:  | block (tensor) | block (free) | block (waits for events) | block (free) | block (not mapped) |
 *
 * Blocks of a segment are a list in address order that covers it. Two free neighbours never touch; the same holds of
 * two that are not mapped. Only expandable segments have any of the latter. */
#ifndef CACHE_H
#define CACHE_H

#include "tests/sim/torch/torch.h"

#define CACHE_ROUND_BYTES 512u
#define CACHE_SMALL_BYTES (1u << 20)
#define CACHE_SMALL_SEGMENT_BYTES (2u << 20)
#define CACHE_LARGE_SEGMENT_BYTES (20u << 20)
#define CACHE_LARGE_SEGMENT_LIMIT_BYTES (10u << 20) /* larger requests get a segment of their own size */

enum { CACHE_USES_MAX = 8 };

struct cache_block {
	char *address;
	size_t size_bytes;
	bool mapped;
	bool allocated;
	unsigned events; /* not yet passed: uses on other streams */
	cudaStream_t uses[CACHE_USES_MAX];
	unsigned use_count;
	struct cache_segment *segment;
	struct cache_block *prev, *next;
	struct cache_block *deferred_next; /* freed with uses during a capture */
};

/* What decides which segments may serve a request. */
struct cache_key {
	int device;
	unsigned pool; /* 0 = not private */
	bool small;
	cudaStream_t stream;
};

struct cache_segment {
	struct cache_key key;
	char *address;
	size_t size_bytes;   /* of addresses */
	size_t mapped_bytes; /* the same, unless it is expandable */
	size_t handle_bytes; /* 0 = by cudaMalloc */
	uint64_t *handles;   /* of an expandable one, by offset / handle_bytes; 0 = not mapped */
	struct cache_block *first;
	struct cache_segment *next;
};

extern struct cache_segment *cache_segments;

#define CACHE_DECLARE(type, name, parameters) extern type name parameters;
TORCH_FUNCTIONS(CACHE_DECLARE)
#undef CACHE_DECLARE

void cache_enter(void);
void cache_leave(void);

/* Segments: segment.c. A new one of the key that can serve the size, as one free block, or more of an expandable one.
 * NULL: out of memory. */
struct cache_block *segment_serve(const struct cache_key *key, size_t size_bytes);

/* Gives back what is idle of each segment whose pool may be given back. */
void segments_release(void);

/* As the settings say: cache.c. */
bool segments_expandable(void);

/* Blocks: cache.c. Cuts the block; the rear part is as the front. */
struct cache_block *block_cut(struct cache_block *block, size_t size_bytes);

/* The block has nothing to do any more, or has changed its kind: joins it with neighbours that are alike. */
struct cache_block *block_merge(struct cache_block *block);

/* Uses on other streams: uses.c. */
void uses_to_events(struct cache_block *block);
void uses_poll(void);  /* frees blocks whose events have passed, unless a capture is open */
void uses_await(void); /* waits for all of them */

/* Private pools: pools.c. */
unsigned pools_choose(int device, cudaStream_t stream); /* 0 = not private */
bool pools_capturing(void);
bool pools_may_release(unsigned pool);

/* A free block has no more uses: cache.c. */
void cache_block_idle(struct cache_block *block);

/* Any failure that PyTorch would throw on: one line, and the end. */
void cache_need(cudaError_t error, const char *what);

#endif
