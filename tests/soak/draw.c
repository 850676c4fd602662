/* The seeded generator: see draw.h. Two splitmix64 states. */
#include "tests/soak/draw.h"

static uint64_t states[2];

static uint64_t scramble(uint64_t z)
{
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

void draw_begin(uint64_t seed, uint64_t operation)
{
	states[0] = scramble(scramble(seed + 1) ^ operation * 0x9E3779B97F4A7C15ull);
	states[1] = scramble(states[0] + 1);
}

static uint32_t next(unsigned which, uint32_t below)
{
	states[which] += 0x9E3779B97F4A7C15ull;
	return (uint32_t)((scramble(states[which]) >> 32) * below >> 32);
}

uint32_t draw(uint32_t below)
{
	return next(0, below);
}

uint32_t way(uint32_t below)
{
	return next(1, below);
}
