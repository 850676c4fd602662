/* See map.h. Linear probing; a removal closes the gap, so there are no tombstones. */
#include "report/map.h"

#include <stdlib.h>
#include <string.h>

void gsr_map_drop(struct gsr_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

static size_t home_of(const struct gsr_map *map, uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15u;
	return (size_t)(key >> 20) & (map->slot_count - 1);
}

/* The slot of the key, or the free one where it belongs. */
static size_t slot_of(const struct gsr_map *map, uint64_t key)
{
	size_t at = home_of(map, key);

	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & (map->slot_count - 1);
	return at;
}

static void grow(struct gsr_map *map)
{
	struct gsr_map old = *map;

	map->slot_count = old.slot_count == 0 ? 64 : old.slot_count * 2;
	map->slots = calloc(map->slot_count, sizeof(*map->slots));
	if (map->slots == NULL)
		abort();
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].used)
			map->slots[slot_of(map, old.slots[i].key)] = old.slots[i];
	free(old.slots);
}

void gsr_map_put(struct gsr_map *map, uint64_t key, uint64_t value)
{
	size_t at;

	if (3 * (map->count + 1) > 2 * map->slot_count)
		grow(map);
	at = slot_of(map, key);
	map->count += !map->slots[at].used;
	map->slots[at] = (struct gsr_map_slot){.key = key, .value = value, .used = true};
}

bool gsr_map_find(const struct gsr_map *map, uint64_t key, uint64_t *ret_value)
{
	size_t at;

	if (map->count == 0)
		return false;
	at = slot_of(map, key);
	if (!map->slots[at].used)
		return false;
	*ret_value = map->slots[at].value;
	return true;
}

bool gsr_map_take(struct gsr_map *map, uint64_t key, uint64_t *ret_value)
{
	size_t mask = map->slot_count - 1, gap, at;

	if (!gsr_map_find(map, key, ret_value))
		return false;
	gap = slot_of(map, key);
	for (at = (gap + 1) & mask; map->slots[at].used; at = (at + 1) & mask) {
		size_t home = home_of(map, map->slots[at].key);

		/* may it move into the gap, or would it then lie before its home? */
		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		map->slots[gap] = map->slots[at];
		gap = at;
	}
	map->slots[gap].used = false;
	map->count--;
	return true;
}
