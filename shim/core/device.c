/* See device.h. */
#include "shim/core/device.h"

#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/core/clock.h"
#include "shim/core/conf.h"
#include "shim/core/device_ops.h"
#include "shim/core/epoch.h"
#include "shim/core/fences.h"
#include "shim/core/host.h"
#include "shim/core/order.h"
#include "shim/submit/submit.h"
#include "shim/snap/trigger.h"
#include "shim/watch/live.h"

static struct gsb_lock device_lock = GSB_LOCK_INIT(CONTEXT);

/* Each slot is filled once; `ready` publishes it. */
static struct {
	struct gs_device device;
	_Atomic int state; /* 0 unknown, 1 ready, -1 unusable */
} devices[GS_DEVICE_LIMIT];

GSB_HOT static _Atomic int device_count; /* ordinals of devices that are ready are below it */

static struct gs_context contexts[GS_CONTEXT_LIMIT];
static unsigned context_count; /* slots ever used */
static uint64_t context_serial;

/* What this thread saw current last. A context that goes, or of which more becomes known,
 * raises context_changes, which nobody's copy survives. */
static _Thread_local struct {
	struct gs_context context;
	struct gs_device *device; /* NULL: not asked yet */
	uint64_t changes;
} seen __attribute__((tls_model("initial-exec")));
GSB_HOT static _Atomic uint64_t context_changes = 1;

static void contexts_changed(void)
{
	atomic_fetch_add(&context_changes, 1);
	gs_epoch_end();
}

static int attribute(CUdevice_attribute which, CUdevice device)
{
	int value = 0;

	if (gs_driver.cuDeviceGetAttribute(&value, which, device) != CUDA_SUCCESS)
		return 0;
	return value;
}

static uint64_t granularity_of(CUdevice device)
{
	CUmemAllocationProp properties = gs_device_properties(device);
	size_t granularity = 0;

	if (gs_driver.cuMemGetAllocationGranularity == NULL ||
	    gs_driver.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) !=
		CUDA_SUCCESS)
		return 0;
	return granularity;
}

/* Asks the driver about the device; no lock held. */
static void device_probe(struct gs_device *device, CUdevice ordinal)
{
	size_t total = 0;

	memset(device, 0, sizeof(*device));
	device->device = ordinal;
	gs_driver.cuDeviceGetName(device->name, sizeof(device->name), ordinal);
	if (gs_driver.cuDeviceGetUuid_v2 != NULL)
		gs_driver.cuDeviceGetUuid_v2((CUuuid *)device->uuid, ordinal);
	gs_driver.cuDeviceTotalMem_v2(&total, ordinal);
	device->total_bytes = total;
	device->granularity_bytes = granularity_of(ordinal);
	device->vmm = device->granularity_bytes != 0 &&
		      attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, ordinal) != 0;
	device->pools = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, ordinal) != 0 &&
			gs_driver.cuDeviceGetDefaultMemPool != NULL &&
			gs_driver.cuDeviceGetDefaultMemPool(&device->default_pool, ordinal) == CUDA_SUCCESS;
	if (device->pools) {
		CUmemoryPool current = NULL;

		atomic_init(&device->default_is_current,
			    gs_driver.cuDeviceGetMemPool(&current, ordinal) == CUDA_SUCCESS &&
				current == device->default_pool);
	}
}

static void say_ready(const struct gs_device *device)
{
	gsb_log(GSB_LOG_INFO, "device %d: %s, memory from %s", device->device, device->name,
		gs_conf.backend == GS_BACKEND_OFF		   ? "the driver"
		: device->vmm && gs_conf.backend == GS_BACKEND_VMM ? "virtual memory management"
								   : "cached cudaMalloc");
}

/* Of the slots that were ever used. */
static struct gs_context *context_at(unsigned slot)
{
	gsb_debug_assert(gsb_lock_held(&device_lock));
	return slot < context_count ? &contexts[slot] : NULL;
}

/* Bit d: device d has a context in this process. */
static uint64_t devices_in_use(void)
{
	const struct gs_context *context;
	uint64_t in_use = 0;

	for (unsigned i = 0; (context = context_at(i)) != NULL; i++)
		if (context->alive && context->device >= 0 && context->device < GS_DEVICE_LIMIT)
			in_use |= 1ull << context->device;
	return in_use;
}

static bool device_publish(struct gs_device *device, CUdevice ordinal)
{
	bool reachable = gs_device_all_peers(), first = false;
	int state;

	gsb_lock_acquire(&device_lock);
	state = atomic_load(&devices[ordinal].state);
	if (state == 0) {
		devices[ordinal].device = *device;
		atomic_init(&devices[ordinal].device.peers, reachable ? devices_in_use() : 0);
		state = gs_device_bind(&devices[ordinal].device) == GS_OK ? 1 : -1;
		atomic_store(&devices[ordinal].state, state);
		if (state == 1 && ordinal >= atomic_load(&device_count))
			atomic_store(&device_count, ordinal + 1);
		first = state == 1;
		if (first)
			gs_trigger_device_used(ordinal, device->uuid);
	}
	gsb_lock_release(&device_lock);
	if (first)
		say_ready(&devices[ordinal].device);
	return state > 0;
}

static struct gs_device *device_ready(CUdevice ordinal)
{
	struct gs_device probed;

	if (ordinal < 0 || ordinal >= GS_DEVICE_LIMIT)
		return NULL;
	switch (atomic_load_explicit(&devices[ordinal].state, memory_order_acquire)) {
	case 1:
		return &devices[ordinal].device;
	case -1:
		return NULL;
	}
	device_probe(&probed, ordinal);
	return device_publish(&probed, ordinal) ? &devices[ordinal].device : NULL;
}

struct gs_device *gs_device_current(struct gs_context *ret_context)
{
	struct gs_context context;

	if (!gs_context_current(&context))
		return NULL;
	if (ret_context != NULL)
		*ret_context = context;
	if (seen.device == NULL) {
		seen.device = device_ready(context.device);
		if (seen.device != NULL && atomic_load(&seen.device->others_time_ns) == 0)
			gs_device_look(seen.device);
	}
	return seen.device;
}

void gs_device_set_pool(struct gs_device *device, bool is_default)
{
	atomic_store(&device->default_is_current, is_default);
	gs_epoch_end();
}

void gs_device_saw(struct gs_device *device, uint64_t free_bytes, uint64_t total_bytes)
{
	uint64_t used_bytes = total_bytes - free_bytes, served_bytes;
	struct gsa_stats stats;

	gsa_stats_read(device->allocator, &stats);
	served_bytes = stats.reserved_bytes.now + gs_live_total(GS_LIVE_DRIVER, (uint8_t)device->device).bytes +
		       gs_live_total(GS_LIVE_HANDLE, (uint8_t)device->device).bytes;
	atomic_store(&device->others_bytes, used_bytes > served_bytes ? used_bytes - served_bytes : 0);
	atomic_store(&device->others_time_ns, gs_clock_ns());
}

void gs_device_look(struct gs_device *device)
{
	size_t free_bytes, total_bytes;
	CUdevice current;

	if (!gs_order_capturing() && !gs_order_broken() && gs_driver.cuCtxGetDevice(&current) == CUDA_SUCCESS &&
	    current == device->device && gs_driver.cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS)
		gs_device_saw(device, free_bytes, total_bytes);
}

struct gs_device *gs_device_used(CUdevice ordinal)
{
	if (ordinal < 0 || ordinal >= GS_DEVICE_LIMIT ||
	    atomic_load_explicit(&devices[ordinal].state, memory_order_acquire) != 1)
		return NULL;
	return &devices[ordinal].device;
}

struct gs_device *gs_device_of(uint64_t address, struct gsa_block_info *ret_block)
{
	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL && gsa_find(device->allocator, address, ret_block) == GS_OK)
			return device;
	}
	return NULL;
}

struct gs_device *gs_device_free(uint64_t address, const struct gsa_stream *stream, struct gsa_block_info *ret_block)
{
	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL && gsa_free(device->allocator, address, stream, ret_block) == GS_OK)
			return device;
	}
	return NULL;
}

bool gs_device_holds(uint64_t address)
{
	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL && gsa_holds(device->allocator, address))
			return true;
	}
	return false;
}

bool gs_device_reserves(uint64_t address)
{
	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL && gsa_reserves(device->allocator, address))
			return true;
	}
	return false;
}

uint64_t gs_device_trim(struct gs_device *device, bool wait)
{
	return wait ? gsa_trim_all(device->allocator) : gsa_trim(device->allocator, 0);
}

uint64_t gs_devices_trim(bool wait)
{
	uint64_t given_back = 0;

	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL)
			given_back += gs_device_trim(device, wait);
	}
	if (wait)
		given_back += gs_submit_trim();
	return given_back + gs_host_trim(wait && !gs_order_capturing());
}

uint64_t gs_devices_trim_try(void)
{
	uint64_t given_back = 0;

	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL)
			given_back += gsa_trim_try(device->allocator);
	}
	return given_back;
}

void gs_device_add_peer(struct gs_device *device, CUdevice peer)
{
	uint64_t bit;

	if (peer == device->device || peer < 0 || peer >= GS_DEVICE_LIMIT)
		return;
	bit = 1ull << peer;
	if ((atomic_fetch_or(&device->peers, bit) & bit) != 0)
		return;
	/* Once more: the driver may have lacked something for a moment. */
	if (gsa_access_changed(device->allocator) != GS_OK && gsa_access_changed(device->allocator) != GS_OK)
		gsb_log(GSB_LOG_WARN, "device %d could not be given access to memory of device %d that exists already",
			peer, device->device);
}

bool gs_device_all_peers(void)
{
	static _Atomic int known; /* 0 not asked, 1 yes, -1 no */
	int count = 0, can = 1;

	if (atomic_load_explicit(&known, memory_order_relaxed) != 0)
		return atomic_load_explicit(&known, memory_order_relaxed) > 0;
	if (gs_driver.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return false;
	for (CUdevice from = 0; from < count && can; from++)
		for (CUdevice to = 0; to < count && can; to++)
			if (from != to && gs_driver.cuDeviceCanAccessPeer(&can, from, to) != CUDA_SUCCESS)
				can = 0;
	atomic_store_explicit(&known, can ? 1 : -1, memory_order_relaxed);
	return can != 0;
}

static struct gs_context *context_slot(CUcontext handle)
{
	struct gs_context *context;

	for (unsigned i = 0; (context = context_at(i)) != NULL; i++)
		if (context->alive && context->handle == handle)
			break;
	return context;
}

static struct gs_context *context_free_slot(void)
{
	struct gs_context *context;

	for (unsigned i = 0; (context = context_at(i)) != NULL; i++)
		if (!context->alive)
			return context;
	return context_count < GS_CONTEXT_LIMIT ? &contexts[context_count++] : NULL;
}

/* The driver copies memory of cudaMalloc's own from and to any device of the process; mapped memory only where the
 * device of the copy has access. So all devices that are in use have it, where each can reach the others. */
static void device_reaches_others(CUdevice ordinal)
{
	for (CUdevice other = 0; other < gs_device_count(); other++) {
		struct gs_device *device = gs_device_used(other);

		if (device != NULL && other != ordinal && gs_device_all_peers())
			gs_device_add_peer(device, ordinal);
	}
}

bool gs_context_add(CUcontext handle, CUdevice device, bool primary, struct gs_context *ret_context)
{
	struct gs_context *context;
	bool found;

	gsb_lock_acquire(&device_lock);
	context = context_slot(handle);
	found = context != NULL;
	if (context == NULL && (context = context_free_slot()) != NULL)
		*context =
		    (struct gs_context){.handle = handle, .device = device, .id = ++context_serial, .alive = true};
	if (context != NULL && primary && !context->primary) {
		context->primary = true;
		contexts_changed();
	}
	if (context != NULL && ret_context != NULL)
		*ret_context = *context;
	gsb_lock_release(&device_lock);
	if (!found) {
		atomic_fetch_add(&context_changes, 1);
		device_reaches_others(device);
	}
	return context != NULL;
}

bool gs_context_find(CUcontext handle, struct gs_context *ret_context)
{
	struct gs_context *context;

	gsb_lock_acquire(&device_lock);
	context = context_slot(handle);
	if (context != NULL)
		*ret_context = *context;
	gsb_lock_release(&device_lock);
	return context != NULL;
}

CUcontext gs_context_primary(CUdevice device)
{
	const struct gs_context *context;
	CUcontext handle = NULL;

	gsb_lock_acquire(&device_lock);
	for (unsigned i = 0; (context = context_at(i)) != NULL; i++)
		if (context->alive && context->primary && context->device == device)
			handle = context->handle;
	gsb_lock_release(&device_lock);
	return handle;
}

bool gs_context_current(struct gs_context *ret_context)
{
	CUcontext handle = NULL;
	CUdevice device;
	uint64_t changes = atomic_load_explicit(&context_changes, memory_order_acquire);

	if (gs_driver.cuCtxGetCurrent(&handle) != CUDA_SUCCESS || handle == NULL)
		return false;
	if (handle != seen.context.handle || changes != seen.changes) {
		seen.changes = 0;
		if (!gs_context_find(handle, &seen.context) &&
		    (gs_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS || !gs_context_add(handle, device, false, &seen.context)))
			return false;
		seen.device = NULL;
		seen.changes = changes;
	}
	*ret_context = seen.context;
	return true;
}

uint64_t gs_context_changes(void)
{
	return atomic_load_explicit(&context_changes, memory_order_acquire);
}

unsigned gs_context_list(struct gs_context *list, unsigned capacity)
{
	const struct gs_context *context;
	unsigned count = 0;

	gsb_lock_acquire(&device_lock);
	for (unsigned i = 0; (context = context_at(i)) != NULL; i++) {
		if (!context->alive)
			continue;
		if (count < capacity)
			list[count] = *context;
		count++;
	}
	gsb_lock_release(&device_lock);
	return count;
}

bool gs_context_enter(CUcontext handle, bool *ret_pushed)
{
	CUcontext current = NULL;
	CUresult result;

	*ret_pushed = false;
	if (gs_driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == handle)
		return true;
	result = gs_driver.cuCtxPushCurrent_v2(handle);
	*ret_pushed = result == CUDA_SUCCESS;
	if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
		gs_context_gone(handle);
	return *ret_pushed;
}

/* Asked once more if nothing was popped: the program must not go on in a context that we chose. */
void gs_context_leave(bool pushed)
{
	CUcontext popped = NULL;

	if (pushed && gs_driver.cuCtxPopCurrent_v2(&popped) != CUDA_SUCCESS && popped == NULL)
		gs_driver.cuCtxPopCurrent_v2(&popped);
}

static int context_wait(CUcontext handle, CUresult *ret_result)
{
	bool pushed;

	if (!gs_context_enter(handle, &pushed))
		return GS_E_NOT_FOUND;
	gs_submit_flush();
	*ret_result = gs_driver.cuCtxSynchronize();
	gs_context_leave(pushed);
	return GS_OK;
}

int gs_context_wait(CUcontext handle, CUresult *ret_result)
{
	struct gs_order_relaxed saved = gs_order_relaxed_begin();
	int error = GS_E_FORBIDDEN;

	if (gs_order_wait_enter()) {
		error = context_wait(handle, ret_result);
		gs_order_wait_leave();
	}
	gs_order_relaxed_end(saved);
	return error;
}

CUresult gs_context_error(CUcontext handle)
{
	struct gs_order_relaxed saved = gs_order_relaxed_begin();
	CUresult result = CUDA_SUCCESS;
	size_t free_bytes, total_bytes;
	bool pushed;

	if (gs_context_enter(handle, &pushed)) {
		result = gs_driver.cuMemGetInfo_v2(&free_bytes, &total_bytes);
		gs_context_leave(pushed);
	}
	gs_order_relaxed_end(saved);
	return gs_order_breaks(result) ? result : CUDA_SUCCESS;
}

void gs_context_gone(CUcontext handle)
{
	struct gs_context *context;
	uint64_t id = 0;

	gsb_lock_acquire(&device_lock);
	context = context_slot(handle);
	if (context != NULL) {
		context->alive = false;
		id = context->id;
	}
	gsb_lock_release(&device_lock);
	contexts_changed();
	if (context == NULL)
		return;
	gs_fences_context_gone(id);
	for (CUdevice ordinal = 0; ordinal < gs_device_count(); ordinal++) {
		struct gs_device *device = gs_device_used(ordinal);

		if (device != NULL)
			gsa_owner_gone(device->allocator, (uint64_t)(uintptr_t)handle);
	}
	gs_host_context_gone((uint64_t)(uintptr_t)handle);
}

int gs_device_count(void)
{
	return atomic_load_explicit(&device_count, memory_order_acquire);
}

int gs_device_read(int index, struct gs_device_info *ret_info)
{
	struct gs_device *device = gs_device_used(index);

	if (device == NULL)
		return GS_E_NOT_FOUND;
	ret_info->ordinal = index;
	memcpy(ret_info->name, device->name, sizeof(ret_info->name));
	memcpy(ret_info->uuid, device->uuid, sizeof(ret_info->uuid));
	ret_info->total_bytes = device->total_bytes;
	ret_info->others_bytes = atomic_load(&device->others_bytes);
	ret_info->others_time_ns = atomic_load(&device->others_time_ns);
	ret_info->allocator = device->allocator;
	return GS_OK;
}

void gs_device_reset_locks(void)
{
	gsb_lock_reset(&device_lock);
}
