/* What the allocator needs from a device: the only way by which it reaches the driver, the clock and stream order.
 *
 * The allocator sees no CUDA header. shim/core/device_ops.c fills this from the real driver functions; tests fill it
 * with counting fakes and a settable clock. Every function returns 0 or a negative code of shim/base/err.h
 * (GS_E_NO_MEMORY where the device is out of memory) unless it says otherwise. `device` is the pointer given to
 * gsa_init. None of these may call back into the allocator.
 *
 * A fence is a point in time of some streams: it is done once all work submitted before it has finished. Fences are
 * opaque non-zero numbers. */
#ifndef GSA_OPS_H
#define GSA_OPS_H

#include <stdbool.h>
#include <stdint.h>

/* A stream as the allocator knows it. id is unique for the life of the process (handles are reused, ids are not);
 * handle and owner are what the driver needs to act on it and mean nothing here. */
struct gsa_stream {
	uint64_t id;     /* never 0 */
	uint64_t handle; /* CUstream */
	uint64_t owner;  /* CUcontext */
	bool ending;     /* to fence_stream alone: the last chance to record on it */
};

#define GSA_WORK_UNKNOWN UINT64_MAX

struct gsa_ops {
	/* Virtual memory. Called with the GROW lock held, never with the ALLOCATOR lock. Sizes and addresses are
	 * multiples of the granularity. create returns physical memory of exactly size_bytes. */
	int (*reserve)(void *device, uint64_t size_bytes, uint64_t *ret_address);
	void (*unreserve)(void *device, uint64_t address, uint64_t size_bytes);
	int (*create)(void *device, uint64_t size_bytes, uint64_t *ret_handle);
	int (*map)(void *device, uint64_t address, uint64_t size_bytes, uint64_t handle);
	int (*set_access)(void *device, uint64_t address, uint64_t size_bytes);
	int (*unmap)(void *device, uint64_t address, uint64_t size_bytes);
	void (*release)(void *device, uint64_t handle);

	/* What the driver has left for create and plain_alloc; UINT64_MAX, or no such function: not known. No lock held. */
	uint64_t (*free_bytes)(void *device);

	/* Plain driver allocations (cuMemAlloc, cuMemFree); no lock held. plain_free may wait for the device. */
	int (*plain_alloc)(void *device, uint64_t size_bytes, uint64_t *ret_address);
	int (*plain_free)(void *device, uint64_t address);

	/* Around plain memory on its way between the books and the driver, either way; no lock held. The second gets what
	 * the first returned; in between no owner ends, or the driver would free what is in no book, and give its address
	 * to somebody else. Of all devices at once. Both may be NULL. */
	int (*plain_enter)(void);
	void (*plain_leave)(int entered);

	/* Fences; no lock held. fence_stream covers one stream, fence_all every stream that can reach the device's
	 * memory. They return GS_E_FORBIDDEN while a capture forbids recording. fence_stream returns GS_E_NOT_FOUND
	 * when the stream is gone. fence_poll: 1 done, 0 not yet, negative: cannot be told (treat as not done).
	 * fence_wait blocks the host. fence_drop gives the fence back, done or not. */
	int (*fence_stream)(void *device, const struct gsa_stream *stream, uint64_t *ret_fence);
	int (*fence_all)(void *device, uint64_t *ret_fence);
	int (*fence_poll)(void *device, uint64_t fence);
	int (*fence_wait)(void *device, uint64_t fence);
	void (*fence_drop)(void *device, uint64_t fence);

	/* How many calls that may submit work were begun, or have ended, on any device; GSA_WORK_UNKNOWN, or no such
	 * function: not known. What has been submitted is counted as begun, what is counted as ended has been submitted.
	 * For pinned memory. */
	uint64_t (*work_count)(void *device, bool ended);

	uint64_t (*now_ns)(void *device);

	/* Told after the fact, at most GROW held; may be NULL. For the history of the snapshot. */
	void (*on_segment)(void *device, bool mapped, uint64_t address, uint64_t size_bytes);

	/* Freed memory is free for everybody: at a moment with the ALLOCATOR lock held, so these take no lock and make
	 * no driver call. Memory was given back, so much in all: no lock held. Both may be NULL. */
	void (*on_idle)(void *device, uint64_t address, uint64_t size_bytes, uint64_t stream_id);
	void (*on_trim)(void *device, uint64_t size_bytes);
};

#endif
