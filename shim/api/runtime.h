/* The real runtime functions: one set of slots for each CUDA runtime in the process.
 *
 * A process can hold libcudart.so.12, libcudart.so.13 and objects with a static runtime that exports its functions. A
 * call belongs to the instance that its caller is linked to: found once per calling object and remembered per thread. */
#ifndef GS_API_RUNTIME_H
#define GS_API_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/api/cuda.h"
#include "shim/api/fn.h"
#include "shim/api/lookup.h"

struct gs_runtime {
#define RT(symbol, suffix, parameters, arguments, disposition, call_class) __typeof__(&symbol) symbol;
#include "shim/api/runtime.def"
	uintptr_t start, end; /* of the shared runtime whose own functions all of these are; 0, 0: of none such */
};

/* An object that calls, and its runtime. Holds as long as nothing was unloaded. */
struct gs_runtime_caller {
	uintptr_t start, end;
	uint64_t unloads;
	const struct gs_runtime *runtime;
};

#define GS_RUNTIME_CALLERS 7 /* of one thread: thread-local storage is scarce */
extern _Thread_local struct gs_runtime_caller gs_runtime_callers[GS_RUNTIME_CALLERS] __attribute__((tls_model("initial-exec")));

static inline bool gs_runtime_fits(const struct gs_runtime_caller *known, const void *caller, uint64_t unloads)
{
	return (uintptr_t)caller >= known->start && (uintptr_t)caller < known->end && known->unloads == unloads;
}

const struct gs_runtime *gs_runtime_find(const void *caller, uint64_t unloads);

/* The instance that code at this address calls; NULL when no runtime can be found. */
static inline __attribute__((always_inline)) const struct gs_runtime *gs_runtime_of(const void *caller)
{
	uint64_t unloads = atomic_load_explicit(&gs_lookup_unloads, memory_order_acquire);

	if (__builtin_expect(gs_runtime_fits(&gs_runtime_callers[0], caller, unloads), 1))
		return gs_runtime_callers[0].runtime;
	return gs_runtime_find(caller, unloads);
}

/* The object that the code belongs to, with its runtime, as the thread knows it; NULL likewise. */
const struct gs_runtime_caller *gs_runtime_caller_of(const void *caller);

void gs_runtime_reset_locks(void);

#endif
