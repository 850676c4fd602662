/* See addr_map.h. */
#include "allocator/addr_map.h"

#include <stddef.h>

#include "shim/base/assert.h"
#include "shim/base/err.h"

#define LEVELS 5
#define ADDRESS_END (1ull << 48)

/* Unit number = address / 256, 40 bits: 10 + 9 + 9 + 6 + 6. */
static const struct {
	unsigned shift;
	unsigned slots;
} level_of[LEVELS] = {{30, GSA_MAP_ROOT_SLOTS}, {21, 512}, {12, 512}, {6, 64}, {0, 64}};

_Static_assert(GSA_MAP_LARGE + GSA_MAP_SMALL + 1 == LEVELS, "every level below the root has a slab");
_Static_assert(1024ull * 512 * 512 * 64 * 64 * GSA_MAP_UNIT_BYTES == ADDRESS_END, "the levels cover the addresses");

static unsigned slot_at(unsigned level, uint64_t unit)
{
	return (unsigned)(unit >> level_of[level].shift) & (level_of[level].slots - 1);
}

static uint64_t *slot_in(uint64_t *node, unsigned level, unsigned slot)
{
	return node + level_of[level].slots / 64 + slot;
}

static bool slot_used(const uint64_t *node, unsigned slot)
{
	return node[slot / 64] >> (slot % 64) & 1;
}

static uint64_t *child_of(const uint64_t *node, unsigned level, unsigned slot)
{
	return (uint64_t *)(uintptr_t)node[level_of[level].slots / 64 + slot];
}

static bool node_empty(const uint64_t *node, unsigned level)
{
	for (unsigned word = 0; word < level_of[level].slots / 64; word++)
		if (node[word] != 0)
			return false;
	return true;
}

static struct gsb_slab *slab_of(struct gsa_map_slabs *slabs, unsigned level)
{
	return level_of[level].slots == 512 ? &slabs->large : &slabs->small;
}

/* Highest used slot at or below `slot`, or -1. */
static int slot_before(const uint64_t *node, int slot)
{
	int word = slot / 64;
	uint64_t bits;

	if (slot < 0)
		return -1;
	bits = node[word] & (~0ull >> (63 - slot % 64));
	while (bits == 0) {
		if (word == 0)
			return -1;
		bits = node[--word];
	}
	return word * 64 + 63 - __builtin_clzll(bits);
}

/* Lowest used slot at or above `slot`, or -1. */
static int slot_after(const uint64_t *node, unsigned level, unsigned slot)
{
	unsigned words = level_of[level].slots / 64;
	unsigned word = slot / 64;
	uint64_t bits;

	if (word >= words)
		return -1;
	bits = node[word] & (~0ull << slot % 64);
	while (bits == 0) {
		if (++word == words)
			return -1;
		bits = node[word];
	}
	return (int)(word * 64) + __builtin_ctzll(bits);
}

void gsa_map_slabs_init(struct gsa_map_slabs *slabs)
{
	gsb_slab_init(&slabs->large, (512 / 64 + 512) * sizeof(uint64_t));
	gsb_slab_init(&slabs->small, (64 / 64 + 64) * sizeof(uint64_t));
}

/* Gives back the nodes on the way to the unit that have become empty. */
static void prune(uint64_t **path, struct gsa_map_slabs *slabs, uint64_t unit, unsigned level)
{
	for (; level > 0 && node_empty(path[level], level); level--) {
		unsigned slot = slot_at(level - 1, unit);

		gsb_slab_give(slab_of(slabs, level), path[level]);
		path[level - 1][slot / 64] &= ~(1ull << slot % 64);
	}
}

int gsa_map_insert(struct gsa_map *map, struct gsa_map_slabs *slabs, uint64_t address, void *value)
{
	uint64_t unit = address / GSA_MAP_UNIT_BYTES;
	uint64_t *path[LEVELS] = {map->root};

	if (address >= ADDRESS_END || gsa_map_find(map, address) != NULL)
		return GS_E_INVALID;
	for (unsigned level = 0; level < LEVELS; level++) {
		unsigned slot = slot_at(level, unit);

		if (level + 1 < LEVELS && !slot_used(path[level], slot)) {
			uint64_t *child = gsb_slab_take(slab_of(slabs, level + 1));

			if (child == NULL) {
				prune(path, slabs, unit, level);
				return GS_E_NO_HOST_MEMORY;
			}
			*slot_in(path[level], level, slot) = (uintptr_t)child;
		} else if (level + 1 == LEVELS) {
			*slot_in(path[level], level, slot) = (uintptr_t)value;
		}
		path[level][slot / 64] |= 1ull << slot % 64;
		if (level + 1 < LEVELS)
			path[level + 1] = child_of(path[level], level, slot);
	}
	return GS_OK;
}

void gsa_map_remove(struct gsa_map *map, struct gsa_map_slabs *slabs, uint64_t address)
{
	uint64_t unit = address / GSA_MAP_UNIT_BYTES;
	uint64_t *path[LEVELS] = {map->root};
	unsigned slot = slot_at(LEVELS - 1, unit);

	for (unsigned level = 0; level + 1 < LEVELS; level++) {
		gsb_assert(slot_used(path[level], slot_at(level, unit)));
		path[level + 1] = child_of(path[level], level, slot_at(level, unit));
	}
	gsb_assert(slot_used(path[LEVELS - 1], slot));
	path[LEVELS - 1][slot / 64] &= ~(1ull << slot % 64);
	prune(path, slabs, unit, LEVELS - 1);
}

void *gsa_map_find(const struct gsa_map *map, uint64_t address)
{
	uint64_t unit = address / GSA_MAP_UNIT_BYTES;
	const uint64_t *node = map->root;

	if (address >= ADDRESS_END)
		return NULL;
	for (unsigned level = 0; level < LEVELS; level++) {
		unsigned slot = slot_at(level, unit);

		if (!slot_used(node, slot))
			return NULL;
		node = child_of(node, level, slot);
	}
	return (void *)(uintptr_t)node;
}

/* Follows the unit down as far as its slots are used. Returns the level at which they end, LEVELS when none is
 * missing; path holds the nodes up to there. */
static unsigned descend(const struct gsa_map *map, uint64_t unit, const uint64_t **path)
{
	unsigned level = 0;

	path[0] = map->root;
	while (level < LEVELS && slot_used(path[level], slot_at(level, unit))) {
		path[level + 1] = child_of(path[level], level, slot_at(level, unit));
		level++;
	}
	return level;
}

void *gsa_map_floor(const struct gsa_map *map, uint64_t address)
{
	uint64_t unit = (address < ADDRESS_END ? address : ADDRESS_END - 1) / GSA_MAP_UNIT_BYTES;
	const uint64_t *path[LEVELS + 1];
	unsigned level = descend(map, unit, path);
	int slot = -1;

	if (level == LEVELS)
		return (void *)(uintptr_t)path[LEVELS];
	for (level++; level > 0 && slot < 0;) {
		level--;
		slot = slot_before(path[level], (int)slot_at(level, unit) - 1);
	}
	if (slot < 0)
		return NULL;
	for (;;) {
		const uint64_t *child = child_of(path[level], level, (unsigned)slot);

		if (++level == LEVELS)
			return (void *)(uintptr_t)child;
		path[level] = child;
		slot = slot_before(child, (int)level_of[level].slots - 1);
	}
}

void *gsa_map_ceiling(const struct gsa_map *map, uint64_t address)
{
	uint64_t unit = (address + GSA_MAP_UNIT_BYTES - 1) / GSA_MAP_UNIT_BYTES;
	const uint64_t *path[LEVELS + 1];
	unsigned level;
	int slot = -1;

	if (address > ADDRESS_END - GSA_MAP_UNIT_BYTES)
		return NULL;
	level = descend(map, unit, path);
	if (level == LEVELS)
		return (void *)(uintptr_t)path[LEVELS];
	for (level++; level > 0 && slot < 0;) {
		level--;
		slot = slot_after(path[level], level, slot_at(level, unit) + 1);
	}
	if (slot < 0)
		return NULL;
	for (;;) {
		const uint64_t *child = child_of(path[level], level, (unsigned)slot);

		if (++level == LEVELS)
			return (void *)(uintptr_t)child;
		path[level] = child;
		slot = slot_after(child, level, 0);
	}
}
