/* Notes for the snapshot what happened: history, tracked addresses, the stack of the caller. None of these can
 * fail or change what the program sees. */
#ifndef GS_WATCH_NOTE_H
#define GS_WATCH_NOTE_H

#include <stdint.h>

#include "allocator/gsa.h"
#include "shim/api/call.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/stack/stack.h"
#include "shim/watch/event.h"
#include "shim/watch/live.h"

/* The stack of the program at this call, or at the return address into it; 0 with stacks:off. */
uint32_t gs_note_stack(const struct gs_call *call);

static inline uint32_t gs_note_stack_at(const void *call_site)
{
	return gs_conf.stacks == GS_STACK_OFF ? 0 : gs_stack_capture(call_site);
}

/* Served by us. stream_id: where it was freed; 0 = nowhere. */
void gs_note_alloc(const struct gs_device *device, const struct gsa_block_info *block);
/* when_ns: of a moment before it was freed (gs_note_now). */
void gs_note_free(const struct gs_device *device, const struct gsa_block_info *block, uint64_t stream_id, uint64_t when_ns);

/* The time for that; 0 without a history. What is freed may be served to another thread at once, and that comes later. */
uint64_t gs_note_now(void);

/* The same at the door. time_ns: of a moment after it was served, or before it was freed. */
void gs_note_served(const struct gs_device *device, const struct gsa_note *note, uint64_t stream_id, uint64_t time_ns);
void gs_note_freed(const struct gs_device *device, const struct gsa_note *note, uint64_t stream_id, uint64_t time_ns);

/* Served by the driver, in the current context. */
void gs_note_driver_alloc(const struct gs_call *call, enum gs_live_class live_class, uint64_t address,
			  uint64_t size_bytes);
void gs_note_pool_alloc(const struct gs_call *call, uint64_t address, uint64_t size_bytes); /* outlives all but primary contexts */
void gs_note_driver_free(uint64_t address);
void gs_note_driver_release(uint64_t handle);

/* Memory of another process, or a part of it, was opened or closed; size 0: unknown. */
void gs_note_ipc_open(const struct gs_call *call, uint64_t address);
void gs_note_ipc_close(uint64_t address);

/* Host memory was pinned where it lies, or is no longer. */
void gs_note_registered(const struct gs_call *call, const void *address, uint64_t size_bytes);
void gs_note_unregistered(const void *address);

/* A capture, a memory pool: type is one of GS_EVENT_CAPTURE_* and GS_EVENT_POOL_*. stream: id or 0. */
void gs_note_event(const struct gs_call *call, enum gs_event_type type, uint64_t handle, uint64_t stream);

void gs_note_host_alloc(const struct gs_call *call, const void *address, uint64_t size_bytes);
void gs_note_host_free(const void *address);

/* What was allocated in the context is gone with it. */
void gs_note_context_gone(CUcontext context);

/* Reported by PyTorch's allocator. */
void gs_note_tensor_alloc(const void *address, uint64_t size_bytes, uint8_t device, const void *call_site);
void gs_note_tensor_free(const void *address);

/* One true line, an event, and the snapshot if asked for. */
void gs_note_out_of_memory(const struct gs_call *call, struct gs_device *device, uint64_t size_bytes);

/* The same for pinned host memory. */
void gs_note_out_of_host_memory(const struct gs_call *call, uint64_t size_bytes);

#endif
