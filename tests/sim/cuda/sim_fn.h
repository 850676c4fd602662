/* An id for every exported driver function, in the order of driver_names.def. */
#ifndef SIM_FN_H
#define SIM_FN_H

enum sim_fn {
#define SIM_FN(symbol, name, since, twin) SIM_FN_##symbol,
#include "tests/sim/cuda/driver_names.def"
#undef SIM_FN
	SIM_FN_COUNT
};

/* "cuMemAlloc_v2". */
const char *sim_fn_symbol(enum sim_fn fn);

/* SIM_FN_COUNT when there is no such symbol. */
enum sim_fn sim_fn_find(const char *symbol);

#endif
