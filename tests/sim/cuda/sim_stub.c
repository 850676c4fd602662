/* A default entry for every driver function that no other file here defines: it counts the call and answers
 * CUDA_ERROR_NOT_SUPPORTED. Does not include cuda.h: the entries ignore their arguments. */
#include "tests/sim/cuda/sim_fn.h"

#define SIM_NOT_SUPPORTED 801

int sim_stub_call(enum sim_fn fn);

#define SIM_FN(symbol, name, since, twin)                                                                              \
	__attribute__((weak, visibility("default"))) int symbol(void);                                                 \
	int symbol(void)                                                                                               \
	{                                                                                                              \
		return sim_stub_call(SIM_FN_##symbol);                                                                 \
	}
#include "tests/sim/cuda/driver_names.def"
