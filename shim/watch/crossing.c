/* See crossing.h. */
#include "shim/watch/crossing.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "shim/base/err.h"
#include "shim/stack/table.h"

#define ROW_LIMIT 4096u

struct row {
	struct gs_crossing crossing; /* calls is not used */
	_Atomic uint64_t calls;
};

static struct gs_table rows = GS_TABLE_INIT(struct row, ROW_LIMIT);

static bool row_same(const void *item, const void *key)
{
	const struct gs_crossing *row = &((const struct row *)item)->crossing;
	const struct gs_crossing *wanted = &((const struct row *)key)->crossing;

	return row->kind == wanted->kind && row->stack == wanted->stack && row->name == wanted->name &&
	       row->other_stack == wanted->other_stack && row->other_name == wanted->other_name;
}

bool gs_crossing_add(const struct gs_crossing *crossing)
{
	struct row wanted = {.crossing = *crossing};
	uint32_t hash = gs_hash((uint64_t)crossing->stack << 32 | crossing->other_stack,
				((uint64_t)crossing->name << 32 | crossing->other_name) * GS_CROSSING_KIND_COUNT + crossing->kind);
	uint32_t number;
	struct row *row;

	if (gs_table_intern(&rows, hash, row_same, &wanted, &number) != GS_OK)
		return false;
	row = (struct row *)gs_table_at(&rows, number);
	return atomic_fetch_add_explicit(&row->calls, 1, memory_order_relaxed) == 0;
}

size_t gs_crossing_count(void)
{
	return gs_table_count(&rows);
}

void gs_crossing_read(size_t index, struct gs_crossing *ret_crossing)
{
	const struct row *row = gs_table_at(&rows, (uint32_t)index);

	*ret_crossing = row->crossing;
	ret_crossing->calls = atomic_load_explicit(&row->calls, memory_order_relaxed);
}
