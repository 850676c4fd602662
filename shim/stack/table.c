/* See table.h. */
#include "shim/stack/table.h"

#include <string.h>

#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/base/lock.h"
#include "shim/base/os.h"

#define INDEX_FIRST_SLOTS 1024u

static struct gsb_lock lock = GSB_LOCK_INIT(STACK);

void gs_table_lock(void)
{
	gsb_lock_acquire(&lock);
}

void gs_table_unlock(void)
{
	gsb_lock_release(&lock);
}

void gs_table_reset_locks(void)
{
	gsb_lock_reset(&lock);
}

static void *pages_take(size_t size_bytes)
{
	return gsb_fault(GSB_FAULT_STACK) ? NULL : gsb_os_pages_map(size_bytes);
}

static void index_put(struct gs_table_index *index, uint64_t slot)
{
	uint32_t at = (uint32_t)(slot >> 32) & index->mask;

	while (atomic_load_explicit(&index->slots[at], memory_order_relaxed) != 0)
		at = (at + 1) & index->mask;
	atomic_store_explicit(&index->slots[at], slot, memory_order_release);
}

/* At most half of the slots are in use, so that a search always ends, and soon. */
static int index_reserve(struct gs_table *table)
{
	struct gs_table_index *old = atomic_load_explicit(&table->index, memory_order_relaxed), *index;
	uint32_t slots = old == NULL ? INDEX_FIRST_SLOTS : (old->mask + 1) * 2;

	if (old != NULL && (uint64_t)gs_table_count(table) * 2 < old->mask)
		return GS_OK;
	index = pages_take(sizeof(*index) + slots * sizeof(index->slots[0]));
	if (index == NULL)
		return GS_E_NO_HOST_MEMORY;
	index->mask = slots - 1;
	for (uint32_t at = 0; old != NULL && at <= old->mask; at++) {
		uint64_t slot = atomic_load_explicit(&old->slots[at], memory_order_relaxed);

		if (slot != 0)
			index_put(index, slot);
	}
	atomic_store_explicit(&table->index, index, memory_order_release);
	return GS_OK;
}

int gs_table_add(struct gs_table *table, uint32_t hash, const void *item, uint32_t *ret_number)
{
	uint32_t number = gs_table_count(table);
	_Atomic(char *) *chunk = &table->chunks[number / GS_TABLE_CHUNK_ITEMS];
	char *items;
	int error;

	gsb_debug_assert(gsb_lock_held(&lock));
	gsb_debug_assert(table->limit <= GS_TABLE_CHUNKS * GS_TABLE_CHUNK_ITEMS);
	if (number >= table->limit)
		return GS_E_LIMIT;
	error = index_reserve(table);
	if (error != GS_OK)
		return error;
	items = atomic_load_explicit(chunk, memory_order_relaxed);
	if (items == NULL) {
		items = pages_take((size_t)GS_TABLE_CHUNK_ITEMS * table->item_bytes);
		if (items == NULL)
			return GS_E_NO_HOST_MEMORY;
		atomic_store_explicit(chunk, items, memory_order_relaxed);
	}
	memcpy(items + (size_t)(number % GS_TABLE_CHUNK_ITEMS) * table->item_bytes, item, table->item_bytes);
	atomic_store_explicit(&table->count, number + 1, memory_order_release);
	index_put(atomic_load_explicit(&table->index, memory_order_relaxed), (uint64_t)hash << 32 | (number + 1));
	*ret_number = number;
	return GS_OK;
}
