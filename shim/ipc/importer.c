/* The opening side: memory of other processes mapped here, and how often it was opened.
 *
 * An entry is open while its count is above 0. One with count 0 waits to be swept: at this or the next close outside a
 * capture its context is waited for and its memory unmapped; until then the same handle opened again revives it.
 *
 * busy_lock is held for a whole open, across driver calls and the talk with the exporter, so that the same
 * handle opened by two threads is mapped once. It is not held while a context is waited for: what the device waits for may be what
 * others do next. The exporter's thread never takes it: two processes may open each
 * other's memory at the same time. table_lock guards the list itself, for those who only look. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/assert.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/slab.h"
#include "shim/core/order.h"
#include "shim/ipc/exporter.h"
#include "shim/ipc/fetch.h"
#include "shim/ipc/ipc.h"

struct gs_ipc_import {
	struct gs_ipc_handle handle;
	CUcontext context;
	CUdeviceptr start;     /* reserved addresses; 0 = none */
	uint64_t whole_bytes;  /* of these; all physical handles together */
	uint64_t mapped_bytes; /* from start on */
	CUdeviceptr address;   /* of the block */
	uint64_t block_bytes;
	uint64_t serial; /* never 0 */
	_Atomic unsigned count; /* opens not yet closed; changes under busy_lock */
	uint64_t closed;	/* if that is 0: the number of the close */
	struct gs_ipc_import *next;
};

static struct gsb_lock busy_lock = GSB_LOCK_INIT(IPC);
static struct gsb_lock table_lock = GSB_LOCK_INIT(LIVE);
static struct gsb_slab import_slab;   /* of struct gs_ipc_import; under busy_lock */
static struct gs_ipc_import *imports; /* any order */
static _Atomic unsigned import_count; /* length of imports */
static uint64_t import_serial;	      /* under busy_lock */
static uint64_t close_serial;	      /* likewise */

/* Serials of our own blocks count up from 1. */
#define SERIAL_BASE (1ull << 63)

/* --- The list */

/* For those who hold table_lock. */
static struct gs_ipc_import **table(void)
{
	gsb_debug_assert(gsb_lock_held(&table_lock));
	return &imports;
}

static struct gs_ipc_import *import_new(void)
{
	gsb_debug_assert(gsb_lock_held(&busy_lock));
	if (import_slab.node_bytes == 0)
		gsb_slab_init(&import_slab, sizeof(struct gs_ipc_import));
	return gsb_slab_take(&import_slab);
}

static void import_link(struct gs_ipc_import *import)
{
	gsb_lock_acquire(&table_lock);
	import->next = *table();
	*table() = import;
	atomic_fetch_add(&import_count, 1);
	gsb_lock_release(&table_lock);
}

/* Only entries that are in the list are counted. */
static void import_drop(struct gs_ipc_import *import)
{
	gsb_debug_assert(gsb_lock_held(&busy_lock));
	gsb_lock_acquire(&table_lock);
	for (struct gs_ipc_import **link = table(); *link != NULL; link = &(*link)->next)
		if (*link == import) {
			*link = import->next;
			atomic_fetch_sub(&import_count, 1);
			break;
		}
	gsb_lock_release(&table_lock);
	gsb_slab_give(&import_slab, import);
}

static struct gs_ipc_import *import_of(const struct gs_ipc_handle *handle, CUcontext context)
{
	for (struct gs_ipc_import *import = imports; import != NULL; import = import->next)
		if (import->context == context && memcmp(&import->handle, handle, sizeof(*handle)) == 0)
			return import;
	return NULL;
}

static struct gs_ipc_import *import_at(CUdeviceptr address)
{
	for (struct gs_ipc_import *import = imports; import != NULL; import = import->next)
		if (import->count > 0 && import->address == address)
			return import;
	return NULL;
}

/* --- Mapping */

/* Asked once more if the driver does not want to: what stays mapped is lost, and its addresses with it. */
static void unmap(struct gs_ipc_import *import)
{
	CUresult result = CUDA_SUCCESS;

	if (import->mapped_bytes != 0)
		result = gs_driver.cuMemUnmap(import->start, import->mapped_bytes);
	if (result != CUDA_SUCCESS)
		result = gs_driver.cuMemUnmap(import->start, import->mapped_bytes);
	if (import->start != 0 && result == CUDA_SUCCESS)
		gs_driver.cuMemAddressFree(import->start, import->whole_bytes);
}

/* Access for the memory's own device, the opener's, and those that the program made peers of the first. */
static int set_access(const struct gs_ipc_import *import, CUdevice owner, CUdevice opener)
{
	const struct gs_device *used = gs_device_used(owner);
	uint64_t wanted = 1ull << owner | 1ull << opener | (used != NULL ? atomic_load(&used->peers) : 0);
	CUmemAccessDesc access[GS_DEVICE_LIMIT];
	size_t count = 0;

	for (CUdevice device = 0; device < GS_DEVICE_LIMIT; device++)
		if (wanted >> device & 1)
			access[count++] = (CUmemAccessDesc){
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
				.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
			};
	return gs_driver_error(gs_driver.cuMemSetAccess(import->start, import->whole_bytes, access, count));
}

/* What it leaves half done is undone by unmap. */
static int map(struct gs_ipc_import *import, const struct gs_ipc_arrived *arrived, CUdevice owner, CUdevice opener)
{
	int error;

	import->whole_bytes = arrived->bytes;
	error = gs_driver_error(gs_driver.cuMemAddressReserve(&import->start, import->whole_bytes, 0, 0, 0));
	for (size_t i = 0; i < arrived->count && error == GS_OK; i++) {
		const struct gsa_handle_span *span = &arrived->spans[i];

		error = gs_driver_error(
			gs_driver.cuMemMap(import->start + import->mapped_bytes, span->size_bytes, 0, span->handle, 0));
		if (error == GS_OK)
			import->mapped_bytes += span->size_bytes;
	}
	return error == GS_OK ? set_access(import, owner, opener) : error;
}

/* --- Filling */

static int device_of_uuid(const uint8_t *uuid, CUdevice *ret_device)
{
	int count = 0;

	gs_driver.cuDeviceGetCount(&count);
	for (CUdevice device = 0; device < count && device < GS_DEVICE_LIMIT; device++) {
		CUuuid found;

		if (gs_driver.cuDeviceGetUuid_v2(&found, device) != CUDA_SUCCESS ||
		    memcmp(&found, uuid, sizeof(found)) != 0)
			continue;
		*ret_device = device;
		return GS_OK;
	}
	gsb_log_once(GSB_LOG_WARN, "memory shared by another process lies on a GPU that this one cannot see");
	return GS_E_UNSUPPORTED;
}

/* Fills an entry that has its handle and context. Leaves nothing behind when it fails. */
static int import_fill(struct gs_ipc_import *import, CUdevice opener)
{
	struct gs_ipc_arrived arrived = {0};
	CUdevice owner;
	int error = device_of_uuid(import->handle.uuid, &owner);

	if (error == GS_OK)
		error = gs_ipc_fetch(&import->handle, &arrived);
	if (error == GS_OK)
		error = map(import, &arrived, owner, opener);
	gs_ipc_arrived_drop(&arrived); /* a mapping keeps its memory */
	if (error != GS_OK) {
		unmap(import);
		return error;
	}
	import->address = import->start + arrived.offset_bytes;
	import->block_bytes = arrived.block_bytes;
	return GS_OK;
}

/* --- Closing */

static bool is_closed(const struct gs_ipc_import *import, uint64_t before)
{
	return import->count == 0 && import->closed <= before;
}

/* A context in which something was closed; NULL. */
static CUcontext next_closed(uint64_t before)
{
	struct gs_ipc_import *import = imports;

	gsb_debug_assert(gsb_lock_held(&busy_lock));
	while (import != NULL && !is_closed(import, before))
		import = import->next;
	return import != NULL ? import->context : NULL;
}

static void unmap_closed(CUcontext context, uint64_t before)
{
	struct gs_ipc_import *next;

	for (struct gs_ipc_import *import = imports; import != NULL; import = next) {
		next = import->next;
		if (import->context != context || !is_closed(import, before))
			continue;
		unmap(import);
		import_drop(import);
	}
}

/* Unmapping does not wait for work that uses the memory, so we do. busy_lock is held, and let go meanwhile: what others close by then
 * is theirs. */
static void sweep(void)
{
	uint64_t before = close_serial;
	CUcontext context;
	CUresult met;
	int error;

	while ((context = next_closed(before)) != NULL) {
		gsb_lock_release(&busy_lock);
		error = gs_context_wait(context, &met);
		gsb_lock_acquire(&busy_lock);
		if (error == GS_E_FORBIDDEN)
			return;
		unmap_closed(context, before);
	}
}

/* --- Public */

bool gs_ipc_is_ours(const CUipcMemHandle *handle)
{
	uint64_t magic;

	memcpy(&magic, handle, sizeof(magic));
	return magic == GS_IPC_MAGIC;
}

static int open_new(const struct gs_ipc_handle *handle, CUcontext context, CUdevice device,
		    struct gs_ipc_import **ret_import)
{
	struct gs_ipc_import *import = import_new();
	int error;

	if (import == NULL)
		return GS_E_NO_HOST_MEMORY;
	import->handle = *handle;
	import->context = context;
	import->serial = SERIAL_BASE + ++import_serial;
	error = import_fill(import, device);
	if (error != GS_OK) {
		import_drop(import);
		return error;
	}
	import->count = 1;
	import_link(import);
	*ret_import = import;
	return GS_OK;
}

int gs_ipc_open(const CUipcMemHandle *opaque, CUcontext context, CUdevice device, CUdeviceptr *ret_address)
{
	int saved_errno = errno, error = GS_OK, cancel;
	struct gs_order_relaxed relaxed;
	struct gs_ipc_import *import;
	struct gs_ipc_handle handle;

	memcpy(&handle, opaque, sizeof(handle));
	if (handle.nonce == gs_ipc_nonce())
		return GS_E_INVALID;
	if (device < 0 || device >= GS_DEVICE_LIMIT)
		return GS_E_UNSUPPORTED;
	cancel = gsb_os_cancel_hold();
	gsb_lock_acquire(&busy_lock);
	relaxed = gs_order_relaxed_begin();
	import = import_of(&handle, context);
	if (import != NULL)
		import->count++;
	else
		error = open_new(&handle, context, device, &import);
	if (error == GS_OK)
		*ret_address = import->address;
	gs_order_relaxed_end(relaxed);
	gsb_lock_release(&busy_lock);
	gsb_os_cancel_restore(cancel);
	errno = saved_errno;
	return error;
}

int gs_ipc_close(CUdeviceptr address)
{
	int saved_errno = errno, error = GS_E_NOT_FOUND;
	struct gs_order_relaxed relaxed;
	struct gs_ipc_import *import;

	if (atomic_load(&import_count) == 0)
		return GS_E_NOT_FOUND;
	relaxed = gs_order_relaxed_begin();
	gsb_lock_acquire(&busy_lock);
	import = import_at(address);
	if (import != NULL) {
		if (--import->count == 0)
			import->closed = ++close_serial;
		sweep();
		error = GS_OK;
	}
	gsb_lock_release(&busy_lock);
	gs_order_relaxed_end(relaxed);
	errno = saved_errno;
	return error;
}

bool gs_ipc_find(CUdeviceptr address, struct gsa_block_info *ret_block)
{
	bool found = false;

	if (atomic_load_explicit(&import_count, memory_order_acquire) == 0)
		return false;
	gsb_lock_acquire(&table_lock);
	for (const struct gs_ipc_import *import = *table(); import != NULL && !found; import = import->next) {
		found = import->count > 0 && address - import->address < import->block_bytes;
		if (found)
			*ret_block = (struct gsa_block_info){
				.address = import->address,
				.size_bytes = import->block_bytes,
				.reserved_bytes = import->block_bytes,
				.segment_address = import->start,
				.segment_bytes = import->whole_bytes,
				.owner = (uint64_t)(uintptr_t)import->context,
				.serial = import->serial,
				.origin = GSA_ORIGIN_LEGACY,
			};
	}
	gsb_lock_release(&table_lock);
	return found;
}

void gs_ipc_context_gone(CUcontext context)
{
	struct gs_order_relaxed relaxed;
	struct gs_ipc_import *next;

	if (atomic_load(&import_count) == 0)
		return;
	relaxed = gs_order_relaxed_begin();
	gsb_lock_acquire(&busy_lock);
	for (struct gs_ipc_import *import = imports; import != NULL; import = next) {
		next = import->next;
		if (import->context != context)
			continue;
		unmap(import);
		import_drop(import);
	}
	gsb_lock_release(&busy_lock);
	gs_order_relaxed_end(relaxed);
}

void gs_ipc_after_fork(void)
{
	gs_ipc_exporter_after_fork();
	gsb_lock_reset(&busy_lock);
	gsb_lock_reset(&table_lock);
}
