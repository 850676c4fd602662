/* For the programs of this folder: each states one rule of the driver or runtime, exits 0 when it holds, prints what
 * differed and exits 1 when it does not, and exits 77 where it cannot be asked. They run on the simulated driver and
 * on a real one. */
#ifndef RULE_H
#define RULE_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/sim.h"

static int rule_broken;

#define WANT(expression, wanted)                                                                                       \
	do {                                                                                                           \
		long long got_ = (long long)(expression);                                                              \
		long long wanted_ = (long long)(wanted);                                                               \
		if (got_ != wanted_) {                                                                                 \
			printf("%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #expression, got_, wanted_);       \
			rule_broken = 1;                                                                               \
		}                                                                                                      \
	} while (0)

/* What the program cannot go on without. */
#define NEED(expression)                                                                                               \
	do {                                                                                                           \
		long long got_ = (long long)(expression);                                                              \
		if (got_ != 0) {                                                                                       \
			printf("%s:%d: %s gives %lld\n", __FILE__, __LINE__, #expression, got_);                       \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static inline void rule_simulator_only(const char *why)
{
	if (!sim_is_real())
		return;
	printf("only on the simulated driver: %s\n", why);
	exit(77);
}

#endif
