/* See count.h. */
#include "shim/submit/count.h"

#include <stdatomic.h>

#include "shim/core/sum.h"

static _Atomic uint64_t put_off[GS_SUBMIT_KIND_COUNT];
static struct {
	_Atomic uint32_t owner; /* of the sum: who came first */
	struct gs_sum count;
} directs[GS_SUBMIT_REASON_COUNT];
static _Atomic uint64_t flush_counts[GS_FN_DRIVER_COUNT], flush_ns[GS_FN_DRIVER_COUNT];

static void add(_Atomic uint64_t *sum, uint64_t more)
{
	atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

static uint64_t read(const _Atomic uint64_t *sum)
{
	return atomic_load_explicit(sum, memory_order_relaxed);
}

void gs_submit_count_put(enum gs_submit_kind kind)
{
	atomic_store_explicit(&put_off[kind], read(&put_off[kind]) + 1, memory_order_relaxed);
}

void gs_submit_count_direct(enum gs_submit_reason reason)
{
	uint32_t owner = atomic_load_explicit(&directs[reason].owner, memory_order_relaxed);

	if (__builtin_expect(owner == 0, 0))
		atomic_compare_exchange_strong(&directs[reason].owner, &owner, gs_thread_serial());
	gs_sum_add(&directs[reason].count, owner, 1);
}

void gs_submit_count_flush(enum gs_fn fn, uint64_t ns)
{
	add(&flush_counts[fn], 1);
	add(&flush_ns[fn], ns);
}

uint64_t gs_submit_puts(enum gs_submit_kind kind)
{
	return read(&put_off[kind]);
}

uint64_t gs_submit_directs(enum gs_submit_reason reason)
{
	return gs_sum_read(&directs[reason].count);
}

const char *gs_submit_kind_key(enum gs_submit_kind kind)
{
	static const char *const keys[] = {
		"nothing",
#define KIND_KEY(name, key) key,
		GS_SUBMIT_KINDS(KIND_KEY)
#undef KIND_KEY
	};

	return keys[kind];
}

const char *gs_submit_reason_key(enum gs_submit_reason reason)
{
	static const char *const keys[] = {
		"none",
#define REASON_KEY(name, key, text) key,
		GS_SUBMIT_REASONS(REASON_KEY)
#undef REASON_KEY
	};

	return keys[reason];
}

size_t gs_submit_flushes(struct gs_submit_flush *ret_flushes, size_t limit, uint64_t *ret_count, uint64_t *ret_ns)
{
	size_t count = 0;

	*ret_count = 0;
	*ret_ns = 0;
	for (enum gs_fn fn = 0; fn < GS_FN_DRIVER_COUNT; fn++) {
		struct gs_submit_flush flush = {gs_fn_info[fn].symbol, read(&flush_counts[fn]), read(&flush_ns[fn])};
		size_t place = count;

		*ret_count += flush.count;
		*ret_ns += flush.ns;
		if (flush.count == 0)
			continue;
		while (place > 0 && ret_flushes[place - 1].ns < flush.ns)
			place--;
		if (place == limit)
			continue;
		count += count < limit;
		for (size_t i = count - 1; i > place; i--)
			ret_flushes[i] = ret_flushes[i - 1];
		ret_flushes[place] = flush;
	}
	return count;
}
