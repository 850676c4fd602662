/* Which handles are alive: a driver answers CUDA_ERROR_INVALID_HANDLE (or the like) for a stale or foreign handle
 * instead of crashing, and so does the simulator. A handle is the address of its object; of a stream, see sim_stream.c. */
#ifndef SIM_HANDLE_H
#define SIM_HANDLE_H

#include <stdbool.h>
#include <stddef.h>

enum sim_kind {
	SIM_KIND_CTX,
	SIM_KIND_STREAM,
	SIM_KIND_EVENT,
	SIM_KIND_POOL,
	SIM_KIND_GRAPH,
	SIM_KIND_NODE,
	SIM_KIND_EXEC,
	SIM_KIND_USER_OBJECT,
	SIM_KIND_PHYSICAL, /* CUmemGenericAllocationHandle */
	SIM_KIND_MODULE,   /* CUmodule and CUlibrary alike */
	SIM_KIND_FUNCTION  /* CUfunction and CUkernel alike */
};

void sim_handle_add(const void *object, enum sim_kind kind);
void sim_handle_remove(const void *object);
bool sim_handle_is(const void *object, enum sim_kind kind);
size_t sim_handle_count(enum sim_kind kind);

#endif
