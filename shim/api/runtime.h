/* The real runtime functions: one set of slots for each CUDA runtime in the process.
 *
 * A process can hold libcudart.so.12, libcudart.so.13 and objects with a static runtime that exports its functions. A
 * call belongs to the instance that its caller is linked to: found once per calling object and remembered per thread. */
#ifndef GS_API_RUNTIME_H
#define GS_API_RUNTIME_H

#include <stdint.h>

#include "shim/api/cuda.h"
#include "shim/api/fn.h"

struct gs_runtime {
#define RT(symbol, suffix, parameters, arguments, disposition, call_class) __typeof__(&symbol) symbol;
#include "shim/api/runtime.def"
	uintptr_t start, end; /* of the shared runtime whose own functions all of these are; 0, 0: of none such */
};

/* The instance that code at this address calls; NULL when no runtime can be found. */
const struct gs_runtime *gs_runtime_of(const void *caller);

void gs_runtime_reset_locks(void);

#endif
