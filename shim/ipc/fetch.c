/* See fetch.h. */
#include "shim/ipc/fetch.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/ipc/channel.h"

#define ANSWER_NS 5000000000ull /* longest wait for one answer */

static int keep(struct gs_ipc_arrived *arrived, const struct gs_ipc_reply *reply, const int *fds)
{
	for (size_t i = 0; i < reply->count; i++) {
		CUmemGenericAllocationHandle handle;
		int error = gs_driver_error(gs_driver.cuMemImportFromShareableHandle(
			&handle, (void *)(uintptr_t)fds[i], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));

		if (error != GS_OK)
			return error;
		arrived->spans[arrived->count++] = (struct gsa_handle_span){handle, reply->sizes[i]};
		arrived->bytes += reply->sizes[i];
	}
	return GS_OK;
}

/* The first reply says how many there will be. */
static int make_room(struct gs_ipc_arrived *arrived, const struct gs_ipc_reply *reply)
{
	if (arrived->capacity == 0) {
		arrived->spans = gsb_os_pages_map(reply->left_count * sizeof(*arrived->spans));
		arrived->capacity = arrived->spans != NULL ? reply->left_count : 0;
	}
	return arrived->spans == NULL ? GS_E_NO_HOST_MEMORY : GS_OK;
}

static bool makes_sense(const struct gs_ipc_arrived *arrived, const struct gs_ipc_reply *reply, size_t fd_count)
{
	return reply->count != 0 && reply->count <= GS_IPC_BATCH && reply->count == fd_count &&
	       reply->count <= reply->left_count &&
	       (arrived->capacity == 0 || arrived->count + reply->left_count == arrived->capacity);
}

static int ask(int fd, const struct gs_ipc_request *request, struct gs_ipc_reply *reply, int *fds, size_t *ret_count)
{
	uint64_t deadline_ns = gsb_os_now_ns() + ANSWER_NS;
	int error = gs_ipc_channel_send(fd, request, sizeof(*request), NULL, 0, deadline_ns);

	if (error == GS_OK)
		error = gs_ipc_channel_receive(fd, reply, sizeof(*reply), fds, GS_IPC_BATCH, ret_count, deadline_ns);
	return error == GS_OK ? reply->error : error;
}

/* One request and what it brings. */
static int fetch_batch(int fd, const struct gs_ipc_request *request, struct gs_ipc_arrived *arrived)
{
	struct gs_ipc_reply reply;
	int fds[GS_IPC_BATCH];
	size_t count = 0;
	int error = ask(fd, request, &reply, fds, &count);

	if (error == GS_OK && !makes_sense(arrived, &reply, count))
		error = GS_E_IO;
	if (error == GS_OK)
		error = make_room(arrived, &reply);
	if (error == GS_OK) {
		if (arrived->count == 0)
			arrived->offset_bytes = reply.offset_bytes;
		arrived->block_bytes = reply.block_bytes;
		error = keep(arrived, &reply, fds);
	}
	gs_ipc_close_all(fds, count);
	return error;
}

static int fetch_all(int fd, const struct gs_ipc_handle *handle, struct gs_ipc_arrived *arrived)
{
	struct gs_ipc_request request = {.handle = *handle};

	do {
		int error = fetch_batch(fd, &request, arrived);

		if (error != GS_OK)
			return error;
		request.skip_bytes = arrived->bytes - arrived->offset_bytes;
	} while (arrived->count < arrived->capacity);
	return arrived->offset_bytes + arrived->block_bytes <= arrived->bytes ? GS_OK : GS_E_IO;
}

static bool is_alive(uint32_t pid)
{
	return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

/* Says what a user can do something about; memory that was freed or a process that has ended is none of it. */
static void explain(const struct gs_ipc_handle *handle, int error, bool connecting)
{
	switch (error) {
	case GS_OK:
		break;
	case GS_E_NOT_FOUND:
		if (connecting && is_alive(handle->pid))
			gsb_log_once(
				GSB_LOG_WARN,
				"process %u cannot be reached for the memory that it shares: it may live in another "
				"network namespace; with GPUSHIM_ALLOC_CONF=ipc:legacy there, its memory can be "
				"opened without that",
				handle->pid);
		break;
	case GS_E_BUSY:
		gsb_log_once(GSB_LOG_WARN, "process %u does not answer for the memory that it shares", handle->pid);
		break;
	case GS_E_FORBIDDEN:
		gsb_log_once(GSB_LOG_WARN, "memory shared by process %u cannot be opened: it belongs to another user",
			     handle->pid);
		break;
	default:
		gsb_log_once(GSB_LOG_WARN, "memory shared by process %u cannot be opened: %s", handle->pid,
			     gs_error_text(error));
	}
}

int gs_ipc_fetch(const struct gs_ipc_handle *handle, struct gs_ipc_arrived *arrived)
{
	int fd, error = gs_ipc_channel_connect(handle->pid, handle->nonce, gsb_os_now_ns() + ANSWER_NS, &fd);

	if (error != GS_OK) {
		explain(handle, error, true);
		return error;
	}
	error = gs_ipc_channel_check_peer(fd);
	if (error == GS_OK)
		error = fetch_all(fd, handle, arrived);
	close(fd);
	explain(handle, error, false);
	return error;
}

void gs_ipc_arrived_drop(struct gs_ipc_arrived *arrived)
{
	for (size_t i = 0; i < arrived->count; i++)
		gs_driver.cuMemRelease(arrived->spans[i].handle);
	if (arrived->spans != NULL)
		gsb_os_pages_unmap(arrived->spans, arrived->capacity * sizeof(*arrived->spans));
}
