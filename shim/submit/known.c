/* See known.h. Two places for each key: a new one takes the place that is out of date, or else the first. */
#include "shim/submit/known.h"

#include <string.h>

#include "shim/base/os.h"
#include "shim/core/counter.h"

#define SLOTS 2048u /* a power of two */

struct known_slot {
	struct gs_known_key key;
	const struct gs_params *params;
};

struct gs_known_table {
	struct known_slot slots[SLOTS];
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
static struct known_slot *first_of(struct gs_known_table *table, const struct gs_known_key *key)
{
	uint64_t place = (uint64_t)(uintptr_t)key->function * 0x9e3779b97f4a7c15u + key->detail * 0xbf58476d1ce4e5b9u +
			 ((uint64_t)(uintptr_t)key->stream + key->kind + key->context_id) * 0x94d049bb133111ebu +
			 ((uint64_t)key->grid[1] << 32 | key->grid[0]) * 0xd6e8feb86659fd93u +
			 ((uint64_t)key->block[1] << 32 | key->block[0]) * 0xff51afd7ed558ccdu +
			 ((uint64_t)key->shared_bytes << 32 ^ key->grid[2] ^ key->block[2] << 16) * 0xc4ceb9fe1a85ec53u;

	return &table->slots[place >> 53];
}
_Static_assert(SLOTS == 1u << (64 - 53), "a key has its place by its highest bits");

static inline bool same(const struct gs_known_key *a, const struct gs_known_key *b)
{
	const uint64_t *left = (const uint64_t *)a, *right = (const uint64_t *)b;
	uint64_t differs = 0;

	for (size_t i = 0; i < sizeof(*a) / sizeof(*left); i++)
		differs |= left[i] ^ right[i];
	return differs == 0;
}

/* Its neighbour: the other place of the key. */
static struct known_slot *other_of(struct gs_known_table *table, const struct known_slot *slot)
{
	return &table->slots[(size_t)(slot - table->slots) ^ 1];
}

const struct gs_params *gs_known_find(const struct gs_known_key *key)
{
	struct gs_known_table *table = gs_thread.counters != NULL ? gs_thread.counters->known : NULL;
	struct known_slot *slot;

	if (table == NULL)
		return NULL;
	slot = first_of(table, key);
	if (same(&slot->key, key))
		return slot->params;
	slot = other_of(table, slot);
	return same(&slot->key, key) ? slot->params : NULL;
}

void gs_known_add(const struct gs_known_key *key, const struct gs_params *params)
{
	struct gs_counter_block *block = gs_thread.counters;
	struct known_slot *slot, *other;

	if (block == NULL)
		return; /* it counts in the last resort, which several threads share */
	if (block->known == NULL)
		block->known = gsb_os_pages_map(sizeof(struct gs_known_table));
	if (block->known == NULL)
		return;
	slot = first_of(block->known, key);
	other = other_of(block->known, slot);
	if (slot->key.epoch == key->epoch && other->key.epoch != key->epoch)
		slot = other;
	slot->key = *key;
	slot->params = params;
}
