/* A hash table from 64-bit keys to 64-bit values, for addresses and the like. */
#ifndef GSR_MAP_H
#define GSR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsr_map_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

/* All zero: empty. slot_count is a power of two, at most two thirds of the slots are used. */
struct gsr_map {
	struct gsr_map_slot *slots;
	size_t slot_count;
	size_t count;
};

void gsr_map_drop(struct gsr_map *map);

/* Replaces the value of a key that is there. Ends the program when memory runs out. */
void gsr_map_put(struct gsr_map *map, uint64_t key, uint64_t value);

/* Whether the key was there; take removes it. */
bool gsr_map_find(const struct gsr_map *map, uint64_t key, uint64_t *ret_value);
bool gsr_map_take(struct gsr_map *map, uint64_t key, uint64_t *ret_value);

#endif
