/* What happened to memory: one entry of the history that a snapshot carries.
 *
 * Fixed size, no pointers: the ring that holds events is to survive the process (design: gpushim.<pid>.ring). */
#ifndef GS_WATCH_EVENT_H
#define GS_WATCH_EVENT_H

#include <stdint.h>

/*  X(name, key in the snapshot, meaning) */
#define GS_EVENT_TYPES(X)                                                                                              \
	X(ALLOC, "alloc", "a block became live")                                                                       \
	X(FREE, "free", "the program freed a block")                                                                   \
	X(TENSOR_ALLOC, "tensor_alloc", "PyTorch's allocator reported a tensor")                                       \
	X(TENSOR_FREE, "tensor_free", "PyTorch's allocator reported its end")                                          \
	X(HOST_ALLOC, "host_alloc", "pinned host memory was allocated")                                                \
	X(HOST_FREE, "host_free", "pinned host memory was freed")                                                      \
	X(DRIVER_ALLOC, "driver_alloc", "device memory that the driver served itself")                                 \
	X(DRIVER_FREE, "driver_free", "its end")                                                                       \
	X(SEGMENT_MAP, "segment_map", "physical memory was added")                                                     \
	X(SEGMENT_UNMAP, "segment_unmap", "physical memory was given back")                                            \
	X(FREE_DONE, "free_done", "freed memory became free for everybody; blocks that were merged are one")           \
	X(TRIM, "trim", "idle memory was given back to the driver; size is how much in all")                           \
	X(CAPTURE_BEGIN, "capture_begin", "a stream began to capture")                                                 \
	X(CAPTURE_END, "capture_end", "a capture ended")                                                               \
	X(POOL_MADE, "pool_made", "the program made a memory pool; the address is its handle")                         \
	X(POOL_ENDED, "pool_ended", "the program destroyed a memory pool")                                             \
	X(OUT_OF_MEMORY, "oom", "an allocation failed; size is what was asked for")

enum gs_event_type {
#define GS_EVENT_ENUM(name, key, text) GS_EVENT_##name,
	GS_EVENT_TYPES(GS_EVENT_ENUM)
#undef GS_EVENT_ENUM
	GS_EVENT_TYPE_COUNT
};

struct gs_event {
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
	uint64_t address;    /* 0 where there is none */
	uint64_t size_bytes; /* as asked for */
	uint64_t stream;     /* stream id; 0 = none or unknown */
	uint32_t stack;      /* of shim/stack; 0 = none */
	uint32_t thread;     /* kernel thread id */
	uint8_t type;        /* enum gs_event_type */
	uint8_t device;      /* ordinal; 255 = host */
	uint16_t spare;      /* 0 */
	uint32_t spare2;     /* 0 */
};
_Static_assert(sizeof(struct gs_event) == 48, "events have a fixed layout");

#endif
