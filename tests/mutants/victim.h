/* What the models of this folder share. A model plays, in miniature and correct, a part that gpushim leaves to the driver:
 * a mutant of it shows that the simulated driver sees such a fault.
 *
 * A victim's run depends on the seed and policy of the simulated driver alone. Status 0 when every word was right. */
#ifndef VICTIM_H
#define VICTIM_H

#include "tests/preload/kernel.h"
#include "tests/preload/shadow.h"

static uint32_t *victim_errors;
static uint64_t victim_state;

static inline uint32_t victim_draw(uint32_t below)
{
	victim_state = victim_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(victim_state >> 33) % below;
}

static inline void victim_init(void)
{
	const char *seed = getenv("SIM_SEED");

	victim_state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
	kernels_register();
	victim_errors = errors_new();
	shadow_owner(victim_errors, sizeof(*victim_errors), SIM_SHADOW_ANY);
}

static inline int victim_end(uint32_t wrong_on_host)
{
	uint32_t wrong = errors_read(victim_errors) + wrong_on_host;

	printf("%u words wrong\n", wrong);
	return wrong != 0;
}

#endif
