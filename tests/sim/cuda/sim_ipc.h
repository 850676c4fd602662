/* Handles that another process can open, and the files that they name.
 *
 * What is shared is a file in memory of the exporter; a handle names the process, its descriptor and the file itself,
 * so that a handle whose file is gone opens nothing else. What was opened stays when the exporter goes away. */
#ifndef SIM_IPC_H
#define SIM_IPC_H

#include "tests/sim/cuda/sim_call.h"

struct sim_ipc_handle {
	uint64_t magic;
	uint64_t process;
	uint64_t id;   /* buffer or event, unique in the process */
	uint64_t file; /* inode */
	uint64_t size_bytes;
	int fd;
};

_Static_assert(sizeof(struct sim_ipc_handle) <= sizeof(CUipcMemHandle), "a handle fits");
_Static_assert(sizeof(struct sim_ipc_handle) <= sizeof(CUipcEventHandle), "a handle fits");

struct sim_ipc_handle sim_ipc_handle(uint64_t magic, uint64_t id, int fd, size_t size_bytes);

/* A descriptor of the file, which the caller closes. CUDA_ERROR_INVALID_CONTEXT for this process's own handle,
 * CUDA_ERROR_INVALID_VALUE for what is none or names nothing any more, CUDA_ERROR_INVALID_HANDLE for one of a process
 * that has gone. */
CUresult sim_ipc_open(uint64_t magic, const struct sim_ipc_handle *handle, int *ret_fd);

#endif
