/* A map from addresses to pointers: a radix tree of five levels over 48-bit addresses in units of 256 bytes.
 *
 * Looking up an address, the key at or below it (for interior pointers) and the key at or above it (for walks) each
 * cost a handful of loads whatever the number of keys, and no lookup or removal can fail. Insertion may need a node on
 * each level below the root.
 *
 *   root 1024 x 256 GiB  ->  512 x 512 MiB  ->  512 x 1 MiB  ->  64 x 16 KiB  ->  64 x 256 B
 *
 * A hash table would be as fast for exact keys, but neither knows neighbours nor grows without a pause. Not
 * thread-safe. */
#ifndef GSA_ADDR_MAP_H
#define GSA_ADDR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/slab.h"

#define GSA_MAP_UNIT_BYTES 256u
#define GSA_MAP_ROOT_SLOTS 1024u
#define GSA_MAP_LARGE 2u /* levels below the root with nodes of 512 slots */
#define GSA_MAP_SMALL 2u /* levels with nodes of 64 slots */

/* A node is a bitmap of its used slots, then the slots. */
struct gsa_map {
	uint64_t root[GSA_MAP_ROOT_SLOTS / 64 + GSA_MAP_ROOT_SLOTS];
};

/* Shared by the maps of one owner. */
struct gsa_map_slabs {
	struct gsb_slab large;
	struct gsb_slab small;
};

void gsa_map_slabs_init(struct gsa_map_slabs *slabs);

/* GS_E_INVALID: not a 48-bit address, or its unit is taken. GS_E_NO_HOST_MEMORY: no node; nothing has changed then. */
int gsa_map_insert(struct gsa_map *map, struct gsa_map_slabs *slabs, uint64_t address, void *value);

/* The address must be there. */
void gsa_map_remove(struct gsa_map *map, struct gsa_map_slabs *slabs, uint64_t address);

/* Value of the unit that holds the address; NULL when there is none. */
void *gsa_map_find(const struct gsa_map *map, uint64_t address);

/* Value of the last unit at or below, the first at or above the address; NULL when there is none. */
void *gsa_map_floor(const struct gsa_map *map, uint64_t address);
void *gsa_map_ceiling(const struct gsa_map *map, uint64_t address);

#endif
