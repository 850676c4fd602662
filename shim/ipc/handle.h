/* What processes say to each other about shared memory: the 64 bytes that a program carries from one to the other, and
 * the two packets that the opener and the exporter exchange. One machine, one build or a later one: the version is part
 * of the magic.
 *
 *   opener                                 exporter (its server thread)
 *   request: handle, how far in bytes  ->
 *                                      <-  reply: error, or the next physical handles, their descriptors beside it
 *   ... until left_count is what came ...
 *
 * Each reply is complete in itself: the exporter keeps nothing between requests, and checks each time, after it took
 * the descriptors, that the block still lives. So the last good reply vouches for the earlier ones. */
#ifndef GS_IPC_HANDLE_H
#define GS_IPC_HANDLE_H

#include <stdint.h>

#include "shim/api/cuda.h"

#define GS_IPC_MAGIC 0x316d696873757067ull /* "gpushim1" */

/* The opaque CUipcMemHandle, for memory of ours. Names the whole block, whatever pointer into it was asked about; the
 * bytes are the same every time while the block lives, and never again after it. */
struct gs_ipc_handle {
	uint64_t magic;	  /* GS_IPC_MAGIC */
	uint64_t nonce;	  /* of the exporting process; never 0 */
	uint64_t address; /* of the block, there */
	uint64_t serial;  /* of the block */
	uint8_t uuid[16]; /* of its device */
	uint32_t pid;	  /* as the exporter sees itself */
	uint32_t device;  /* its ordinal there */
	uint64_t zero;
};

_Static_assert(sizeof(struct gs_ipc_handle) == sizeof(CUipcMemHandle), "it travels as one");

/* Descriptors in one reply. Far below the kernel's limit of 253, because descriptors on their way count against the
 * sender's RLIMIT_NOFILE. */
#define GS_IPC_BATCH 64

struct gs_ipc_request {
	struct gs_ipc_handle handle;
	uint64_t skip_bytes; /* bytes of the block to pass over: where the first wanted physical handle starts in it */
};

struct gs_ipc_reply {
	int32_t error;	     /* GS_OK, or why nothing else here means anything */
	uint32_t count;	     /* physical handles in this reply, one descriptor each */
	uint32_t left_count; /* from the first of this reply to the last of the block */
	uint32_t zero;
	uint64_t offset_bytes; /* from the start of the first handle of this reply to where the block goes on */
	uint64_t block_bytes;  /* as asked for by the program */
	uint64_t sizes[GS_IPC_BATCH];
};

#endif
