/* Addresses that are alive and not blocks of our allocator: PyTorch's tensors, pinned host memory, what the driver
 * served itself. A hash table from address to entry; thread-safe (lock LIVE, a leaf); own pages, never the heap. */
#ifndef GS_WATCH_LIVE_H
#define GS_WATCH_LIVE_H

#include <stddef.h>
#include <stdint.h>

/*  X(name, key in the snapshot, meaning) */
#define GS_LIVE_CLASSES(X)                                                                                             \
	X(TENSOR, "tensor", "reported by PyTorch's allocator; lies inside a segment")                                  \
	X(HOST, "host", "pinned host memory")                                                                          \
	X(DRIVER, "driver", "device memory served by the driver: passed-through allocations")                          \
	X(MANAGED, "managed", "managed memory")                                                                        \
	X(IPC, "ipc", "memory of another process that is open here; it counts there")                                  \
	X(REGISTERED, "registered", "host memory of the program's own that it pinned where it lies")                   \
	X(HANDLE, "handle", "physical memory the program created itself (cuMemCreate); the address is the handle")

enum gs_live_class {
#define GS_LIVE_ENUM(name, key, text) GS_LIVE_##name,
	GS_LIVE_CLASSES(GS_LIVE_ENUM)
#undef GS_LIVE_ENUM
	GS_LIVE_CLASS_COUNT
};

struct gs_live {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t time_ns;    /* CLOCK_MONOTONIC of the allocation */
	uint64_t owner;      /* context that it dies with; 0: none */
	uint32_t stack;      /* 0 = unknown */
	uint32_t thread;     /* kernel thread id */
	uint8_t live_class;  /* enum gs_live_class */
	uint8_t device;      /* ordinal; 255 = host */
};

/* Replaces an entry with the same address and class. Out of host memory: the entry is not kept, and counted. */
void gs_live_add(const struct gs_live *entry);

/* Removes and returns it. 0 or GS_E_NOT_FOUND. */
int gs_live_remove(enum gs_live_class live_class, uint64_t address, struct gs_live *ret_entry);

/* Removes entries of the owner, as many as there is room for. Returns how many those were. */
size_t gs_live_remove_owned(uint64_t owner, struct gs_live *ret_entries, size_t capacity);

/* Now and highest, by class and device; device 255 = host. */
struct gs_live_total {
	uint64_t bytes;
	uint64_t peak_bytes;
	uint64_t count;
	uint64_t peak_count;
	uint64_t total_count; /* ever added */
};
struct gs_live_total gs_live_total(enum gs_live_class live_class, uint8_t device);
void gs_live_reset_peak(uint8_t device);
uint64_t gs_live_dropped(void);

/* Visits all entries under the lock: the callback takes no lock and calls nothing of ours. */
void gs_live_walk(void (*visit)(void *user, const struct gs_live *entry), void *user);

void gs_live_reset_locks(void);

#endif
