/* Where the parameters of kernels lie, as the driver tells it: cached per function, because a launch hands over pointers to
 * them and not their sizes. Thread-safe. */
#ifndef GS_CORE_PARAMS_H
#define GS_CORE_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/api/cuda.h"

#define GS_PARAMS_LIMIT 512u	    /* parameters of one kernel; more: unknown */
#define GS_PARAMS_BYTES_LIMIT 32764u /* of all parameters of a kernel: the limit of CUDA 12.1 and later */

struct gs_params {
	uint32_t count;
	uint32_t size_bytes; /* up to the end of the last one */
	struct gs_param {
		uint32_t offset, size_bytes;
	} each[];
};

/* The driver can tell (12.4 and later, H24). */
bool gs_params_known(void);

/* Of a CUfunction or CUkernel. Makes driver calls the first time. NULL: not known, or it has none. The result stays readable for
 * ever; it is right until code is unloaded. */
const struct gs_params *gs_params_of(CUfunction function);

/* Code was unloaded, or a context ended: handles may be used again. */
void gs_params_forget(void);

void gs_params_reset_locks(void);

#endif
