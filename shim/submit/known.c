/* See known.h. Two places for each key: a new one takes the place that is out of date, or else the first. A place names a slot;
 * slots are used one after the other, so that the few that a program has lie side by side. */
#include "shim/submit/known.h"

#include <string.h>

#include "shim/base/os.h"
#include "shim/core/counter.h"

#define PLACES 2048u /* a power of two */

struct known_slot {
	struct gs_known_key key;
	const struct gs_params *params;
};

struct gs_known_table {
	uint16_t places[PLACES]; /* number of the slot; slot 0 is nobody's, and stays zero */
	uint16_t count;
	struct known_slot slots[PLACES + 1];
};

const struct gs_params gs_known_never, gs_known_plain;

_Static_assert(sizeof(struct gs_known_key) == 4 * 8 + 8 * 4 + 2 * 8, "no padding: compared as bytes");

uint64_t gs_known_hash(const void *bytes, uint64_t size_bytes)
{
	const unsigned char *at = bytes;
	uint64_t hash = size_bytes, word;

	for (; size_bytes >= sizeof(word); at += sizeof(word), size_bytes -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (; size_bytes > 0; at++, size_bytes--)
		hash = (hash ^ *at) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* Of what differs between launches of one program, without a chain of multiplications: a place is all that it gives. */
static uint16_t *first_of(struct gs_known_table *table, const struct gs_known_key *key)
{
	uint64_t place = (uint64_t)(uintptr_t)key->function * 0x9e3779b97f4a7c15u + key->detail * 0xbf58476d1ce4e5b9u +
			 ((uint64_t)(uintptr_t)key->stream + key->kind + key->context_id) * 0x94d049bb133111ebu +
			 ((uint64_t)key->grid[1] << 32 | key->grid[0]) * 0xd6e8feb86659fd93u +
			 ((uint64_t)key->block[1] << 32 | key->block[0]) * 0xff51afd7ed558ccdu +
			 ((uint64_t)key->shared_bytes << 32 ^ key->grid[2] ^ key->block[2] << 16) * 0xc4ceb9fe1a85ec53u;

	return &table->places[place >> 53];
}
_Static_assert(PLACES == 1u << (64 - 53), "a key has its place by its highest bits");

static inline bool same(const struct gs_known_key *a, const struct gs_known_key *b)
{
	const uint64_t *left = (const uint64_t *)a, *right = (const uint64_t *)b;
	uint64_t differs = 0;

	for (size_t i = 0; i < sizeof(*a) / sizeof(*left); i++)
		differs |= left[i] ^ right[i];
	return differs == 0;
}

/* Its neighbour: the other place of the key. */
static uint16_t *other_of(struct gs_known_table *table, const uint16_t *place)
{
	return &table->places[(size_t)(place - table->places) ^ 1];
}

const struct gs_params *gs_known_find(const struct gs_known_key *key)
{
	struct gs_known_table *table = gs_thread.counters != NULL ? gs_thread.counters->known : NULL;
	const struct known_slot *slot;
	const uint16_t *place;

	if (table == NULL)
		return NULL;
	place = first_of(table, key);
	slot = &table->slots[*place];
	if (same(&slot->key, key))
		return slot->params;
	slot = &table->slots[*other_of(table, place)];
	return same(&slot->key, key) ? slot->params : NULL;
}

void gs_known_add(const struct gs_known_key *key, const struct gs_params *params)
{
	struct gs_counter_block *block = gs_thread.counters;
	struct gs_known_table *table;
	struct known_slot *slot;
	uint16_t *place, *other;

	if (block == NULL)
		return; /* it counts in the last resort, which several threads share */
	if (block->known == NULL)
		block->known = gsb_os_pages_map(sizeof(struct gs_known_table));
	if (block->known == NULL)
		return;
	table = block->known;
	place = first_of(table, key);
	other = other_of(table, place);
	if (table->slots[*place].key.epoch == key->epoch && table->slots[*other].key.epoch != key->epoch)
		place = other;
	if (*place == 0)
		*place = ++table->count;
	slot = &table->slots[*place];
	slot->key = *key;
	slot->params = params;
}
