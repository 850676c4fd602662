/* The exporting side: makes handles, and answers openers from one thread that starts with the first handle.
 *
 * The server thread has no current context and needs none; it blocks all signals, counts as inside, and uses no heap.
 * It waits at most SERVE_NS for an opener that has connected, so that a stuck one cannot keep the others out for long.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/api/driver.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/worker.h"
#include "shim/core/mode.h"
#include "shim/core/thread.h"
#include "shim/ipc/channel.h"
#include "shim/ipc/exporter.h"
#include "shim/ipc/ipc.h"

#define SERVE_NS 1000000000ull

static struct gsb_lock server_lock = GSB_LOCK_INIT(IPC); /* guards starting */
static _Atomic uint64_t server_nonce;			 /* 0 until the server runs; then fixed */
static int server_fd = -1;
static struct stat server_file; /* what server_fd is, unless the program closed it and opened something else */

uint64_t gs_ipc_nonce(void)
{
	return atomic_load_explicit(&server_nonce, memory_order_acquire);
}

static int export_fd(uint64_t handle, int *ret_fd)
{
	if (gs_driver.cuMemExportToShareableHandle == NULL ||
	    gs_driver.cuMemExportToShareableHandle(ret_fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) !=
		    CUDA_SUCCESS)
		return GS_E_UNSUPPORTED;
	return GS_OK;
}

/* The device on which the block of the handle lives, if it still does. */
static const struct gs_device *living(const struct gs_ipc_handle *handle, struct gsa_block_info *ret_block)
{
	const struct gs_device *device = gs_device_used((CUdevice)handle->device);

	if (handle->nonce != gs_ipc_nonce() || gs_mode() != GS_MODE_ACTIVE ||
	    device == NULL || gsa_find(device->allocator, handle->address, ret_block) != GS_OK ||
	    ret_block->address != handle->address || ret_block->serial != handle->serial)
		return NULL;
	return device;
}

/* The block may be freed by another thread at any moment, so the spans and descriptors count for nothing until the
 * second look finds it alive: then it was alive in between. */
static int prepare(const struct gs_ipc_request *request, struct gs_ipc_reply *reply, int *fds)
{
	struct gsa_handle_span spans[GS_IPC_BATCH];
	struct gsa_block_info block;
	const struct gs_device *device = living(&request->handle, &block);
	int error = GS_OK;
	size_t left;

	if (device == NULL)
		return GS_E_NOT_FOUND;
	if (request->skip_bytes >= block.reserved_bytes)
		return GS_E_IO;
	left = gsa_block_handles(device->allocator, block.address + request->skip_bytes, spans, GS_IPC_BATCH,
				 &reply->offset_bytes);
	while (reply->count < left && reply->count < GS_IPC_BATCH && error == GS_OK) {
		error = export_fd(spans[reply->count].handle, &fds[reply->count]);
		if (error == GS_OK) {
			reply->sizes[reply->count] = spans[reply->count].size_bytes;
			reply->count++;
		}
	}
	if (living(&request->handle, &block) == NULL)
		error = GS_E_NOT_FOUND;
	if (error == GS_OK && left == 0)
		error = GS_E_UNSUPPORTED;
	reply->left_count = (uint32_t)left;
	reply->block_bytes = block.size_bytes;
	return error;
}

/* False when the opener is done, gone or too slow. */
static bool answer(int fd)
{
	uint64_t deadline = gsb_os_now_ns() + SERVE_NS;
	struct gs_ipc_reply reply = {0};
	struct gs_ipc_request request;
	int fds[GS_IPC_BATCH], error;
	size_t count;

	if (gs_ipc_channel_receive(fd, &request, sizeof(request), fds, 0, &count, deadline) != GS_OK)
		return false;
	reply.error = gs_ipc_channel_check_peer(fd);
	if (reply.error == GS_OK)
		reply.error = prepare(&request, &reply, fds);
	error = gs_ipc_channel_send(fd, &reply, sizeof(reply), fds, reply.error == GS_OK ? reply.count : 0, deadline);
	gs_ipc_close_all(fds, reply.count);
	return error == GS_OK && reply.error == GS_OK;
}

static bool still_listening(void)
{
	struct stat file;

	return fstat(server_fd, &file) == 0 && file.st_dev == server_file.st_dev && file.st_ino == server_file.st_ino;
}

static void *serve(void *unused)
{
	gs_thread.inside = 1;
	prctl(PR_SET_NAME, "gpushim-ipc");
	while (still_listening()) {
		int fd = accept4(server_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
			continue;
		}
		while (answer(fd))
			;
		close(fd);
	}
	return unused;
}

static int start(void)
{
	uint64_t nonce = 0;
	int error;

	gsb_debug_assert(gsb_lock_held(&server_lock));
	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce) || nonce == 0)
		return GS_E_IO;
	error = gs_ipc_channel_listen((uint32_t)getpid(), nonce, &server_fd);
	if (error != GS_OK)
		return error;
	error = fstat(server_fd, &server_file) == 0 ? gsb_worker_start(serve, NULL) : GS_E_IO;
	if (error != GS_OK) {
		close(server_fd);
		return error;
	}
	atomic_store_explicit(&server_nonce, nonce, memory_order_release);
	return GS_OK;
}

static int ensure_server(void)
{
	int error = GS_OK;

	if (gs_ipc_nonce() != 0)
		return GS_OK;
	gsb_lock_acquire(&server_lock);
	if (gs_ipc_nonce() == 0)
		error = start();
	gsb_lock_release(&server_lock);
	if (error != GS_OK)
		gsb_log_once(GSB_LOG_WARN, "memory cannot be shared with other processes: %s", gs_error_text(error));
	return error;
}

/* Whether the physical memory of the block can leave the process at all. */
static int check_exportable(const struct gs_device *device, uint64_t address)
{
	struct gsa_handle_span span;
	uint64_t offset;
	int error, fd;

	if (gsa_block_handles(device->allocator, address, &span, 1, &offset) == 0)
		return GS_E_UNSUPPORTED;
	error = export_fd(span.handle, &fd);
	if (error == GS_OK)
		close(fd);
	return error;
}

int gs_ipc_export(const struct gs_device *device, const struct gsa_block_info *block, CUipcMemHandle *ret_handle)
{
	struct gs_ipc_handle handle = {
		.magic = GS_IPC_MAGIC,
		.address = block->address,
		.serial = block->serial,
		.pid = (uint32_t)getpid(),
		.device = (uint32_t)device->device,
	};
	int saved_errno = errno, cancel = gsb_os_cancel_hold();
	int error = check_exportable(device, block->address);

	if (error == GS_OK)
		error = ensure_server();
	if (error == GS_OK)
		error = gsa_share(device->allocator, block->address);
	if (error == GS_OK) {
		handle.nonce = gs_ipc_nonce();
		memcpy(handle.uuid, device->uuid, sizeof(handle.uuid));
		memcpy(ret_handle, &handle, sizeof(handle));
	}
	gsb_os_cancel_restore(cancel);
	errno = saved_errno;
	return error;
}

void gs_ipc_exporter_after_fork(void)
{
	if (server_fd >= 0 && gs_ipc_nonce() != 0 && still_listening())
		close(server_fd);
	server_fd = -1;
	atomic_store(&server_nonce, 0);
	gsb_lock_reset(&server_lock);
}
