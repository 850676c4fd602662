/* Where a call came from: return addresses, taken at every submission and printed only with an error.
 *
 * Taking one follows the chain of frame pointers, within the bounds of the thread's stack. That costs some tens of
 * nanoseconds, so stacks are always on. The chain ends at the first frame that keeps none: the C library, most
 * optimized programs. Names are looked up when a stack is printed, in the full symbol tables. */
#ifndef SIM_STACK_H
#define SIM_STACK_H

#include <stdint.h>

#include "tests/sim/cuda/sim_fn.h"

#define SIM_STACK_FRAMES 14

struct sim_stack {
	unsigned long call;		    /* number of the driver call; 0 = before the first */
	enum sim_fn fn;			    /* of that call */
	unsigned thread;		    /* see sim_call.h */
	uintptr_t frames[SIM_STACK_FRAMES]; /* innermost first, ended by 0 unless full */
};

void sim_stack_take(struct sim_stack *ret_stack);

/* To stderr: "what, at call 17 (cuLaunchKernel) of thread 1:" and a line per frame. */
void sim_stack_print(const char *what, const struct sim_stack *stack);

#endif
