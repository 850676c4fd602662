/* The seeded generator of one program.
 *
 * Each operation has two streams of numbers of its own, which depend on the seed and on the number of the operation
 * alone: so an operation that is left out changes no other. `draw` decides what the program does and what it prints;
 * `way` decides how it gets there (which calls order two streams, who waits for what) and must never decide what is
 * printed: that part may differ between two runs, for example where memory is short. */
#ifndef SOAK_DRAW_H
#define SOAK_DRAW_H

#include <stdbool.h>
#include <stdint.h>

void draw_begin(uint64_t seed, uint64_t operation);

/* 0 .. below - 1; below > 0 */
uint32_t draw(uint32_t below);
uint32_t way(uint32_t below);

/* One in `chances`. */
static inline bool draw_once_in(uint32_t chances)
{
	return draw(chances) == 0;
}

static inline bool way_once_in(uint32_t chances)
{
	return way(chances) == 0;
}

#endif
