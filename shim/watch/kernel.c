/* See kernel.h. */
#include "shim/watch/kernel.h"

#include <stdbool.h>

#include "shim/base/err.h"
#include "shim/core/counter.h"
#include "shim/stack/table.h"

#define ROW_LIMIT  (1u << 16) /* from then on rows are made without a stack only, */
#define ROWS_APART (1u << 13) /* of which there are so many at most: one for a kernel */

static struct gs_table rows = GS_TABLE_INIT(struct gs_kernel_row, ROW_LIMIT + ROWS_APART);

static bool row_same(const void *item, const void *key)
{
	const struct gs_kernel_row *row = item, *wanted = key;

	return row->name == wanted->name && row->stack == wanted->stack && row->kind == wanted->kind;
}

struct gs_kernel_row *gs_kernel_row(uint32_t kind, uint32_t name, uint32_t stack)
{
	struct gs_kernel_row wanted = {.name = name, .stack = stack, .kind = kind, .owner = gs_thread_serial()};
	uint32_t hash = gs_hash((uint64_t)name << 32 | stack, kind), number;

	if (!gs_table_find(&rows, hash, row_same, &wanted, &number)) {
		if (stack != 0 && gs_table_count(&rows) >= ROW_LIMIT)
			return gs_kernel_row(kind, name, 0);
		if (gs_table_intern(&rows, hash, row_same, &wanted, &number) != GS_OK)
			return NULL;
	}
	return (struct gs_kernel_row *)gs_table_at(&rows, number);
}

void gs_kernel_sampled(struct gs_kernel_row *row, uint64_t device_ns)
{
	uint64_t samples = atomic_fetch_add_explicit(&row->samples, 1, memory_order_relaxed) + 1;
	uint64_t sum_ns = atomic_fetch_add_explicit(&row->sampled_ns, device_ns, memory_order_relaxed) + device_ns;

	atomic_store_explicit(&row->mean_ns, sum_ns / samples, memory_order_relaxed);
}

size_t gs_kernel_count(void)
{
	return gs_table_count(&rows);
}

void gs_kernel_read(size_t index, struct gs_kernel *ret_kernel)
{
	const struct gs_kernel_row *row = gs_table_at(&rows, (uint32_t)index);

	*ret_kernel = (struct gs_kernel){
		.name = row->name,
		.stack = row->stack,
		.kind = row->kind,
		.calls = gs_sum_read(&row->calls),
		.host_ns = gs_ticks_to_ns(gs_sum_read(&row->ticks)),
		.long_calls = atomic_load_explicit(&row->long_calls, memory_order_relaxed),
		.samples = atomic_load_explicit(&row->samples, memory_order_relaxed),
		.sampled_ns = atomic_load_explicit(&row->sampled_ns, memory_order_relaxed),
		.long_ns = gs_ticks_to_ns(atomic_load_explicit(&row->long_ticks, memory_order_relaxed)),
	};
}
