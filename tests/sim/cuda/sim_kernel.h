/* Kernels: C functions registered by name. Any module contains all of them. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <stddef.h>

#include "tests/sim/sim.h"

#define SIM_PARAMS_MAX 64

struct sim_kernel {
	const char *name; /* owned */
	sim_kernel_fn fn;
	unsigned steps_param; /* 1 + index of the u32 that says how many steps a launch takes; 0 = one step */
	unsigned fails_param; /* 1 + index of the u32 that says with which CUresult it breaks its context; 0 = never */
	unsigned param_count;
	size_t param_sizes[SIM_PARAMS_MAX];
	size_t param_offsets[SIM_PARAMS_MAX]; /* naturally aligned, at most to 16 */
	size_t param_bytes;		      /* of the whole buffer */
	struct sim_kernel *next;
};

/* NULL when there is none of that name. */
const struct sim_kernel *sim_kernel_find(const char *name);

/* The first of all, then through ->next. */
const struct sim_kernel *sim_kernel_first(void);

#endif
