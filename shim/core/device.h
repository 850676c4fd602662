/* Devices and contexts that the process has used, and the allocator of each device.
 *
 * A device appears at its first use by a hooked call; entries never go away and never move. A context appears when it
 * is created, retained or first seen current, and is marked dead when it is destroyed. Thread-safe. */
#ifndef GS_CORE_DEVICE_H
#define GS_CORE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/gsa.h"
#include "shim/api/cuda.h"

#define GS_DEVICE_LIMIT 64   /* devices with a higher ordinal are left to the driver */
#define GS_CONTEXT_LIMIT 256 /* contexts alive at one time; more: the shim stops serving memory */

struct gs_device {
	CUdevice device;
	char name[128];
	unsigned char uuid[16];
	uint64_t total_bytes;
	uint64_t granularity_bytes;	 /* of physical handles */
	bool vmm;			 /* virtual memory management works here */
	bool pools;			 /* so do memory pools */
	_Atomic uint64_t peers;		 /* bit d: device d may access this one's memory */
	CUmemoryPool default_pool;	 /* NULL without pools */
	_Atomic bool default_is_current; /* cuMemAllocAsync means the default pool */
	struct gsa *allocator;
	_Atomic uint64_t others_bytes;	 /* used on the device beyond what this process was served, when last seen */
	_Atomic uint64_t others_time_ns; /* CLOCK_MONOTONIC; 0 = not seen yet */
};

struct gs_context;

/* The device of the calling thread's current context, ready for use; NULL when there is no context, the device is
 * beyond our limits, or its allocator could not be set up. Makes driver calls the first time. ret_context may be
 * NULL. */
struct gs_device *gs_device_current(struct gs_context *ret_context);

/* Allocations that name no pool come from the default one, or not. */
void gs_device_set_pool(struct gs_device *device, bool is_default);

/* What the driver says of the memory of the device: as it was asked by somebody, and to ask it now, where the device is
 * that of the calling thread's current context. */
void gs_device_saw(struct gs_device *device, uint64_t free_bytes, uint64_t total_bytes);
void gs_device_look(struct gs_device *device);

/* A device that was used before, by ordinal; NULL otherwise. Makes no driver call. */
struct gs_device *gs_device_used(CUdevice device);

/* The used device whose allocator has a live block at or around the address; NULL. */
struct gs_device *gs_device_of(uint64_t address, struct gsa_block_info *ret_block);

/* gsa_free on the used device that has such a block; NULL if none has. */
struct gs_device *gs_device_free(uint64_t address, const struct gsa_stream *stream, struct gsa_block_info *ret_block);

/* The address lies in memory that some allocator holds, live or free. */
bool gs_device_holds(uint64_t address);

/* The address lies among those that some allocator has reserved for its pools, with memory or without. */
bool gs_device_reserves(uint64_t address);

/* Gives the idle memory of the device back to the driver; likewise. */
uint64_t gs_device_trim(struct gs_device *device, bool wait);

/* Gives the idle memory of all devices, and pinned host memory that is kept, back to the driver, which has none left
 * for something else (H28). wait: also what was freed and is not known to be idle yet, after waiting for it; not while a
 * capture is open. Returns the bytes given back. */
uint64_t gs_devices_trim(bool wait);

/* Likewise what is known to be idle, for the submission thread: others may wait for it with locks held. */
uint64_t gs_devices_trim_try(void);

/* Lets a device read and write all memory of another that we serve, past and future. Where all devices reach each other,
 * those in use have it unasked; otherwise memory that cuCtxEnablePeerAccess is about is plain. */
void gs_device_add_peer(struct gs_device *device, CUdevice peer);

/* True when every device of the machine can access every other one's memory; asked once. */
bool gs_device_all_peers(void);

/* Contexts. id is unique for the life of the process, unlike the handle. */
struct gs_context {
	CUcontext handle;
	uint64_t id;
	CUdevice device;
	bool alive;
	bool primary; /* surely; memory of pools outlives all others */
};

/* Known and alive, or made known now; false when there is no room. ret_context may be NULL. */
bool gs_context_add(CUcontext handle, CUdevice device, bool primary, struct gs_context *ret_context);
bool gs_context_find(CUcontext handle, struct gs_context *ret_context);

/* The primary context of the device, if it was seen to be retained and lives; NULL. */
CUcontext gs_context_primary(CUdevice device);

/* The calling thread's current context, made known if it is not; false when there is none, or no room. */
bool gs_context_current(struct gs_context *ret_context);

/* Grows whenever a context has come or gone or more has become known of one: what was found out before may no longer
 * hold. */
uint64_t gs_context_changes(void);

/* Copies the living contexts; returns how many there are (at most capacity are written). */
unsigned gs_context_list(struct gs_context *contexts, unsigned capacity);

/* Makes the context current until gs_context_leave. False: it cannot be; then there is nothing to leave. Where the
 * driver says that there is no such context any more, its end was missed, and is made up for. */
bool gs_context_enter(CUcontext handle, bool *ret_pushed);
void gs_context_leave(bool pushed);

/* Waits for the context. *ret_result: what the wait met. GS_E_NOT_FOUND: it cannot be made current; GS_E_FORBIDDEN: a capture
 * is open (H9). Not between gs_order_enter and gs_order_leave: it may take long. */
int gs_context_wait(CUcontext handle, CUresult *ret_result);

/* The error that sticks to the context. Waits for nothing, and breaks no capture. */
CUresult gs_context_error(CUcontext handle);

/* The context is gone: marks it dead, and frees what the allocators hold for it. */
void gs_context_gone(CUcontext handle);

/* Ordinals of devices in use are below the count. Makes no driver call; the other is for the snapshot: GS_E_NOT_FOUND
 * for a device never used. */
struct gs_device_info {
	int ordinal;
	char name[128];
	unsigned char uuid[16];
	uint64_t total_bytes;
	uint64_t others_bytes; /* as in struct gs_device */
	uint64_t others_time_ns;
	struct gsa *allocator;
};

int gs_device_count(void);
int gs_device_read(int index, struct gs_device_info *ret_info);

void gs_device_reset_locks(void);

#endif
