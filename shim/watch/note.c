/* See note.h. */
#include "shim/watch/note.h"

#include <stdatomic.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/memory.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/core/clock.h"
#include "shim/core/conf.h"
#include "shim/core/host.h"
#include "shim/ipc/ipc.h"
#include "shim/snap/snapshot.h"
#include "shim/snap/trigger.h"
#include "shim/stack/stack.h"
#include "shim/core/device_ops.h"
#include "shim/watch/hazard.h"
#include "shim/watch/kept.h"
#include "shim/watch/live_top.h"
#include "shim/watch/ring.h"

#define HOST_DEVICE 255 /* in events and tracked addresses */
#define OOM_FREELY 8u	/* snapshots at out-of-memory written without a pause */
#define OOM_PAUSE 20u	/* then: times the time that writing the last one took */

uint32_t gs_note_stack(const struct gs_call *call)
{
	return gs_thread.stack = gs_note_stack_at(gs_thread.caller != NULL ? gs_thread.caller : call->caller);
}

/* born_ns: when what the event is about was allocated, which tells it from others at the same address. */
static void add_event(enum gs_event_type type, uint64_t time_ns, uint64_t born_ns, uint64_t address, uint64_t size_bytes,
		      uint64_t stream, uint32_t stack, uint8_t device)
{
	struct gs_event event;

	if (gs_conf.history == 0)
		return;
	event = (struct gs_event){
		.time_ns = time_ns,
		.address = address,
		.size_bytes = size_bytes,
		.stream = stream,
		.stack = stack,
		.thread = gs_thread_id(),
		.type = (uint8_t)type,
		.device = device,
	};
	gs_ring_add(&event);
	if (__builtin_expect(gs_kept_on, 0))
		gs_kept_event(&event, born_ns);
}

void gs_note_served(const struct gs_device *device, const struct gsa_note *note, uint64_t stream_id, uint64_t time_ns)
{
	add_event(GS_EVENT_ALLOC, time_ns, time_ns, note->address, note->size_bytes, stream_id, note->stack,
		  (uint8_t)device->device);
	if (gs_conf.snapshot & GS_SNAPSHOT_PEAK)
		gs_trigger_grown(device->device);
}

void gs_note_freed(const struct gs_device *device, const struct gsa_note *note, uint64_t stream_id, uint64_t time_ns)
{
	add_event(GS_EVENT_FREE, time_ns, 0, note->address, note->size_bytes, stream_id, note->stack, (uint8_t)device->device);
}

static struct gsa_note note_of(const struct gsa_block_info *block)
{
	return (struct gsa_note){
		.address = block->address,
		.size_bytes = block->size_bytes,
		.stack = block->stack,
	};
}

void gs_note_alloc(const struct gs_device *device, const struct gsa_block_info *block)
{
	struct gsa_note note = note_of(block);

	gs_note_served(device, &note, block->stream_id, block->time_ns);
}

uint64_t gs_note_now(void)
{
	return gs_conf.history != 0 ? gs_clock_ns() : 0;
}

void gs_note_free(const struct gs_device *device, const struct gsa_block_info *block, uint64_t stream_id, uint64_t when_ns)
{
	add_event(GS_EVENT_FREE, when_ns, block->time_ns, block->address, block->size_bytes, stream_id, block->stack,
		  (uint8_t)device->device);
}

static void track(enum gs_live_class live_class, enum gs_event_type type, uint64_t address, uint64_t size_bytes,
		  uint64_t owner, uint8_t device, uint32_t stack)
{
	struct gs_live entry = {
		.address = address,
		.size_bytes = size_bytes,
		.time_ns = gs_clock_ns(),
		.owner = owner,
		.stack = stack,
		.thread = gs_thread_id(),
		.live_class = (uint8_t)live_class,
		.device = device,
	};

	gs_live_add(&entry);
	if (__builtin_expect(gs_hazards, 0))
		gs_hazard_memory_begins(live_class, address, size_bytes);
	add_event(type, entry.time_ns, entry.time_ns, address, size_bytes, 0, entry.stack, device);
}

static void untracked(enum gs_event_type type, const struct gs_live *entry)
{
	add_event(type, gs_clock_ns(), entry->time_ns, entry->address, entry->size_bytes, 0, entry->stack, entry->device);
}

static int untrack(enum gs_live_class live_class, enum gs_event_type type, uint64_t address)
{
	struct gs_live entry;
	int error = gs_live_remove(live_class, address, &entry);

	if (__builtin_expect(gs_hazards, 0))
		gs_hazard_memory_ends(live_class, address);
	if (error == GS_OK)
		untracked(type, &entry);
	return error;
}

/* The current context; 0: none, or only_primary, and it is another one. */
static uint64_t owner_now(bool only_primary)
{
	struct gs_context context;

	return gs_context_current(&context) && (context.primary || !only_primary) ? (uint64_t)(uintptr_t)context.handle : 0;
}

static void driver_alloc(const struct gs_call *call, enum gs_live_class live_class, uint64_t address, uint64_t size_bytes,
			 uint64_t owner)
{
	CUdevice device = 0;

	if (gs_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS)
		device = 0;
	track(live_class, GS_EVENT_DRIVER_ALLOC, address, size_bytes, owner, (uint8_t)device, gs_note_stack(call));
}

void gs_note_driver_alloc(const struct gs_call *call, enum gs_live_class live_class, uint64_t address,
			  uint64_t size_bytes)
{
	driver_alloc(call, live_class, address, size_bytes, live_class != GS_LIVE_HANDLE ? owner_now(false) : 0);
}

void gs_note_pool_alloc(const struct gs_call *call, uint64_t address, uint64_t size_bytes)
{
	driver_alloc(call, GS_LIVE_DRIVER, address, size_bytes, owner_now(true));
}

void gs_note_driver_free(uint64_t address)
{
	if (untrack(GS_LIVE_DRIVER, GS_EVENT_DRIVER_FREE, address) != GS_OK)
		untrack(GS_LIVE_MANAGED, GS_EVENT_DRIVER_FREE, address);
}

void gs_note_driver_release(uint64_t handle)
{
	untrack(GS_LIVE_HANDLE, GS_EVENT_DRIVER_FREE, handle);
}

static uint64_t range_bytes(uint64_t address)
{
	struct gsa_block_info block;
	CUdeviceptr base = 0;
	size_t bytes = 0;

	if (gs_ipc_find(address, &block))
		return block.size_bytes;
	return gs_driver.cuMemGetAddressRange_v2(&base, &bytes, address) == CUDA_SUCCESS ? bytes : 0;
}

void gs_note_ipc_open(const struct gs_call *call, uint64_t address)
{
	gs_note_driver_alloc(call, GS_LIVE_IPC, address, range_bytes(address));
}

void gs_note_ipc_close(uint64_t address)
{
	untrack(GS_LIVE_IPC, GS_EVENT_DRIVER_FREE, address);
}

void gs_note_registered(const struct gs_call *call, const void *address, uint64_t size_bytes)
{
	track(GS_LIVE_REGISTERED, GS_EVENT_HOST_ALLOC, (uint64_t)(uintptr_t)address, size_bytes, 0, HOST_DEVICE,
	      gs_note_stack(call));
}

void gs_note_unregistered(const void *address)
{
	untrack(GS_LIVE_REGISTERED, GS_EVENT_HOST_FREE, (uint64_t)(uintptr_t)address);
}

void gs_note_event(const struct gs_call *call, enum gs_event_type type, uint64_t handle, uint64_t stream)
{
	CUdevice device = 0;

	if (gs_conf.history == 0)
		return;
	if (gs_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS)
		device = 0;
	add_event(type, gs_clock_ns(), 0, handle, 0, stream, gs_note_stack(call), (uint8_t)device);
}

void gs_note_host_alloc(const struct gs_call *call, const void *address, uint64_t size_bytes)
{
	track(GS_LIVE_HOST, GS_EVENT_HOST_ALLOC, (uint64_t)(uintptr_t)address, size_bytes, owner_now(false), HOST_DEVICE,
	      gs_note_stack(call));
}

void gs_note_host_free(const void *address)
{
	untrack(GS_LIVE_HOST, GS_EVENT_HOST_FREE, (uint64_t)(uintptr_t)address);
}

void gs_note_context_gone(CUcontext context)
{
	struct gs_live entries[64];
	size_t count;

	while ((count = gs_live_remove_owned((uint64_t)(uintptr_t)context, entries, sizeof(entries) / sizeof(entries[0]))) > 0)
		for (size_t i = 0; i < count; i++) {
			if (__builtin_expect(gs_hazards, 0))
				gs_hazard_memory_ends(entries[i].live_class, entries[i].address);
			untracked(entries[i].live_class == GS_LIVE_HOST ? GS_EVENT_HOST_FREE : GS_EVENT_DRIVER_FREE, &entries[i]);
		}
}

void gs_note_tensor_alloc(const void *address, uint64_t size_bytes, uint8_t device, const void *call_site)
{
	track(GS_LIVE_TENSOR, GS_EVENT_TENSOR_ALLOC, (uint64_t)(uintptr_t)address, size_bytes, 0, device,
	      gs_note_stack_at(call_site));
	if (gs_conf.snapshot & GS_SNAPSHOT_PEAK)
		gs_trigger_grown(device);
}

void gs_note_tensor_free(const void *address)
{
	untrack(GS_LIVE_TENSOR, GS_EVENT_TENSOR_FREE, (uint64_t)(uintptr_t)address);
}

/* What the device has given away and we do not know of: other processes', and the driver's own for contexts and code. */
static void add_others(struct gsb_text *text, const struct gs_device *device, uint64_t used_bytes, uint64_t held_bytes)
{
	held_bytes += gs_live_total(GS_LIVE_DRIVER, (uint8_t)device->device).bytes;
	held_bytes += gs_live_total(GS_LIVE_HANDLE, (uint8_t)device->device).bytes;
	gsb_text_add(text, ", with other processes and the driver ");
	gsb_text_add_bytes(text, used_bytes > held_bytes ? used_bytes - held_bytes : 0);
}

static void add_limit(struct gsb_text *text, const struct gs_device *device, uint64_t size_bytes, uint64_t held_bytes)
{
	uint64_t limit_bytes = gs_device_limit(device);

	if (limit_bytes == 0 || held_bytes + size_bytes <= limit_bytes)
		return;
	gsb_text_add(text, ", limit ");
	gsb_text_add_bytes(text, limit_bytes);
	gsb_text_add(text, " (memory_limit or per_process_memory_fraction)");
}

static void say_out_of_memory(struct gs_device *device, uint64_t size_bytes)
{
	size_t free_bytes = 0, total_bytes = 0;
	struct gsa_stats stats;
	char line[1024];
	struct gsb_text text;

	gsb_text_init(&text, line, sizeof(line));
	gsa_stats_read(device->allocator, &stats);
	gsb_text_add(&text, "out of memory on device %d: asked ", device->device);
	gsb_text_add_bytes(&text, size_bytes);
	gsb_text_add(&text, ", live ");
	gsb_text_add_bytes(&text, stats.allocated_bytes.now);
	gsb_text_add(&text, ", held free ");
	gsb_text_add_bytes(&text, stats.pending_bytes.now + stats.idle_bytes.now);
	gs_live_top_add_hole(&text, device->allocator);
	if (gs_driver.cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS) {
		gs_device_saw(device, free_bytes, total_bytes);
		gsb_text_add(&text, ", free on the device ");
		gsb_text_add_bytes(&text, free_bytes);
		gsb_text_add(&text, " of ");
		gsb_text_add_bytes(&text, total_bytes);
		add_others(&text, device, total_bytes - free_bytes, stats.reserved_bytes.now);
	}
	add_limit(&text, device, size_bytes, stats.reserved_bytes.now);
	gs_live_top_add_places(&text, device->allocator);
	gsb_log(GSB_LOG_WARN, "%s", line);
}

/* The newest state counts, but a program that tries for memory again and again does not pay for it each time. */
static void write_out_of_memory(void)
{
	static _Atomic uint64_t next_ns;
	static _Atomic unsigned written;
	uint64_t start_ns = gs_clock_ns(), end_ns;

	if (!(gs_conf.snapshot & GS_SNAPSHOT_OOM) || start_ns < atomic_load(&next_ns))
		return;
	gs_snapshot_write(GS_SNAPSHOT_AT_OOM, NULL, 0);
	end_ns = gs_clock_ns();
	if (atomic_fetch_add(&written, 1) + 1 >= OOM_FREELY)
		atomic_store(&next_ns, end_ns + OOM_PAUSE * (end_ns - start_ns));
}

void gs_note_out_of_memory(const struct gs_call *call, struct gs_device *device, uint64_t size_bytes)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	add_event(GS_EVENT_OUT_OF_MEMORY, gs_clock_ns(), 0, 0, size_bytes, 0, gs_note_stack(call),
		  (uint8_t)device->device);
	if (!atomic_flag_test_and_set(&said))
		say_out_of_memory(device, size_bytes);
	write_out_of_memory();
}

static void say_out_of_host_memory(uint64_t size_bytes)
{
	struct gsb_memory memory = gsb_memory_read();
	struct gsa_pinned *pinned = gs_host_known();
	struct gsa_pinned_stats stats = {0};
	char line[512];
	struct gsb_text text;

	gsb_text_init(&text, line, sizeof(line));
	if (pinned != NULL)
		gsa_pinned_stats_read(pinned, &stats);
	gsb_text_add(&text, "out of pinned host memory: asked ");
	gsb_text_add_bytes(&text, size_bytes);
	gsb_text_add(&text, ", live ");
	gsb_text_add_bytes(&text, gs_live_total(GS_LIVE_HOST, HOST_DEVICE).bytes);
	gsb_text_add(&text, ", kept free ");
	gsb_text_add_bytes(&text, stats.kept_bytes);
	if (memory.total_bytes != UINT64_MAX) {
		gsb_text_add(&text, ", available on the host ");
		gsb_text_add_bytes(&text, memory.available_bytes);
		gsb_text_add(&text, " of ");
		gsb_text_add_bytes(&text, memory.total_bytes);
	}
	gsb_log(GSB_LOG_WARN, "%s", line);
}

void gs_note_out_of_host_memory(const struct gs_call *call, uint64_t size_bytes)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	add_event(GS_EVENT_OUT_OF_MEMORY, gs_clock_ns(), 0, 0, size_bytes, 0, gs_note_stack(call), HOST_DEVICE);
	if (!atomic_flag_test_and_set(&said))
		say_out_of_host_memory(size_bytes);
	write_out_of_memory();
}
