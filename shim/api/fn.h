/* Numbers and properties of the intercepted functions, made from the table. */
#ifndef GS_API_FN_H
#define GS_API_FN_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/api/class.h"
#include "shim/api/cuda.h"

enum gs_fn {
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class) GS_FN_##symbol,
#include "shim/api/driver.def"
	GS_FN_DRIVER_COUNT,
	GS_FN_BEFORE_RUNTIME = GS_FN_DRIVER_COUNT - 1,
#define RT(symbol, suffix, parameters, arguments, disposition, call_class) GS_FN_##symbol,
#include "shim/api/runtime.def"
	GS_FN_COUNT
};

struct gs_fn_info {
	const char *symbol;            /* as exported */
	const char *name;              /* what callers pass to cuGetProcAddress; runtime: the symbol */
	unsigned since;                /* first version for which name means symbol; runtime: 0 */
	enum gs_call_class call_class;
	bool per_thread;               /* the per-thread-stream twin */
	void *entry;                   /* our exported function */
};

extern const struct gs_fn_info gs_fn_info[GS_FN_COUNT];

/* The key of a class in the snapshot. */
const char *gs_class_key(enum gs_call_class call_class);

static inline bool gs_fn_is_driver(enum gs_fn fn)
{
	return fn < GS_FN_DRIVER_COUNT;
}

#endif
