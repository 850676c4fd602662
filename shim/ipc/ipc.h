/* Memory that we serve, shared between processes: what cuIpcGetMemHandle and its kin do for a driver allocation.
 *
 * The driver's own handles do not exist for memory that is mapped from physical handles, so we make handles of our own
 * (handle.h). Any two processes of one user that run the shim in one network namespace can share; a process without it
 * cannot open such a handle: `ipc:legacy` serves memory that it can. Rules as the driver's: a handle names the whole
 * allocation; the same handle opened twice in a context is one mapping with a count; memory freed by its exporter while
 * it is open elsewhere must not be used any more.
 *
 * All may be called with no lock held, keep errno, and never wait longer than 5 s for an answer of another process. */
#ifndef GS_IPC_IPC_H
#define GS_IPC_IPC_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/core/device.h"
#include "shim/ipc/handle.h"

/* The handle of a live block that is not plain. Starts the server thread. GS_E_UNSUPPORTED: its physical memory cannot
 * be exported. */
int gs_ipc_export(const struct gs_device *device, const struct gsa_block_info *block, CUipcMemHandle *ret_handle);

/* True for a handle that some process made with gs_ipc_export. */
bool gs_ipc_is_ours(const CUipcMemHandle *handle);

/* Maps the memory for the context and its device. GS_E_INVALID: this process exported it. GS_E_NOT_FOUND: it was
 * freed, or its process is gone. GS_E_NO_MEMORY, and others: it cannot be mapped here. */
int gs_ipc_open(const CUipcMemHandle *handle, CUcontext context, CUdevice device, CUdeviceptr *ret_address);

/* One open less; the last one waits for the context and unmaps. During a capture that is put off until a later open or
 * close. GS_E_NOT_FOUND: no open memory starts there. */
int gs_ipc_close(CUdeviceptr address);

/* Opened memory at or around the address, described as if it were a block of ours. */
bool gs_ipc_find(CUdeviceptr address, struct gsa_block_info *ret_block);

/* The context is gone: what was opened in it is closed. */
void gs_ipc_context_gone(CUcontext context);

/* After a fork, in the child: it serves nobody, and makes the locks free. */
void gs_ipc_after_fork(void);

#endif
