/* A growing array with a hash index, for things that are interned: items are added, never changed or removed, so their
 * numbers and addresses are stable and readers need no lock. (Behind its key an item may hold figures that its owner adds
 * up, atomically.)
 *
 * Adding happens under the STACK lock, which lives here; finding and reading at any time. An item is complete before
 * the count covers it, and the count covers it before the index names it (release here, acquire there). The index
 * doubles; old ones stay where they are for readers that still look into them (together at most as large as the
 * newest). A reader with an old index may miss a new item: who wants to add looks again under the lock. */
#ifndef GS_STACK_TABLE_H
#define GS_STACK_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GS_TABLE_CHUNK_ITEMS 4096u
#define GS_TABLE_CHUNKS 256u /* so a table ends at 1,048,576 items */

struct gs_table_index {
	uint32_t mask;		  /* slot count - 1 */
	_Atomic uint64_t slots[]; /* hash << 32 | number + 1; 0 = free */
};

struct gs_table {
	uint32_t item_bytes;	/* fixed */
	uint32_t limit;		/* items at most; fixed */
	_Atomic uint32_t count; /* published items */
	_Atomic(char *) chunks[GS_TABLE_CHUNKS];
	_Atomic(struct gs_table_index *) index;
};

#define GS_TABLE_INIT(type, item_limit)                                                                                \
	{                                                                                                              \
		.item_bytes = sizeof(type), .limit = (item_limit)                                                      \
	}

void gs_table_lock(void);
void gs_table_unlock(void);
void gs_table_reset_locks(void);

/* Copies the item in; the caller holds the lock. GS_E_LIMIT at the limit, GS_E_NO_HOST_MEMORY without pages; nothing
 * has changed then. */
int gs_table_add(struct gs_table *table, uint32_t hash, const void *item, uint32_t *ret_number);

static inline uint32_t gs_table_count(const struct gs_table *table)
{
	return atomic_load_explicit(&table->count, memory_order_acquire);
}

/* number is below a count that the caller has seen. */
static inline const void *gs_table_at(const struct gs_table *table, uint32_t number)
{
	const char *chunk = atomic_load_explicit(&table->chunks[number / GS_TABLE_CHUNK_ITEMS], memory_order_relaxed);

	return chunk + (size_t)(number % GS_TABLE_CHUNK_ITEMS) * table->item_bytes;
}

/* The item with this hash for which same(item, key) holds. */
static inline __attribute__((always_inline)) bool gs_table_find(const struct gs_table *table, uint32_t hash,
								bool (*same)(const void *item, const void *key),
								const void *key, uint32_t *ret_number)
{
	const struct gs_table_index *index = atomic_load_explicit(&table->index, memory_order_acquire);

	if (index == NULL)
		return false;
	for (uint32_t at = hash & index->mask;; at = (at + 1) & index->mask) {
		uint64_t slot = atomic_load_explicit(&index->slots[at], memory_order_acquire);
		uint32_t number = (uint32_t)slot - 1;

		if (slot == 0)
			return false;
		if (slot >> 32 == hash && same(gs_table_at(table, number), key)) {
			*ret_number = number;
			return true;
		}
	}
}

/* Finds the item equal to this one, or adds it. */
static inline __attribute__((always_inline)) int gs_table_intern(struct gs_table *table, uint32_t hash,
								 bool (*same)(const void *item, const void *key),
								 const void *item, uint32_t *ret_number)
{
	int error = 0;

	if (gs_table_find(table, hash, same, item, ret_number))
		return 0;
	gs_table_lock();
	if (!gs_table_find(table, hash, same, item, ret_number))
		error = gs_table_add(table, hash, item, ret_number);
	gs_table_unlock();
	return error;
}

/* Mixes two words into a hash; all bits of both count. */
static inline uint32_t gs_hash(uint64_t a, uint64_t b)
{
	uint64_t hash = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	hash = (hash ^ hash >> 32) * 0xc4ceb9fe1a85ec53u;
	return (uint32_t)(hash >> 32);
}

#endif
