/* Brings the physical memory of another process's block here: the opener's half of the talk in handle.h. */
#ifndef GS_IPC_FETCH_H
#define GS_IPC_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/gsa.h"
#include "shim/ipc/handle.h"

/* Zeroed before; dropped after, whatever gs_ipc_fetch said. */
struct gs_ipc_arrived {
	struct gsa_handle_span *spans; /* handles of this process, in address order; pages of our own */
	size_t count;		       /* of these, so far */
	size_t capacity;	       /* as many as there will be; 0 before the first reply */
	uint64_t bytes;		       /* sum of their sizes */
	uint64_t offset_bytes;	       /* where the block starts within the first */
	uint64_t block_bytes;
};

/* Says once, on standard error, what a user can do something about. */
int gs_ipc_fetch(const struct gs_ipc_handle *handle, struct gs_ipc_arrived *arrived);

void gs_ipc_arrived_drop(struct gs_ipc_arrived *arrived);

#endif
