/* The cache of pinned host memory (H8): what serves whom, and when; what goes back to the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "allocator/pinned.h"
#include "shim/base/fault.h"
#include "tests/lib/gsa_test.h"

#define SECOND_NS 1000000000ull

static const struct gsa_pinned_kind plain = {.owner = 1};

struct cache {
	struct fake fake;
	struct gsa_pinned *pinned;
	unsigned asked; /* of the driver */
};

static struct cache *cache_open(uint64_t limit_bytes)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	fake_init(&cache->fake, 64 * GIB);
	assert_int_equal(gsa_pinned_init(&cache->pinned, &fake_ops, &cache->fake, limit_bytes), GS_OK);
	return cache;
}

/* What is live then is the program's. */
static void cache_close(struct cache *cache)
{
	gsa_pinned_check(cache->pinned);
	gsa_pinned_fini(cache->pinned);
	assert_int_equal(cache->fake.fence_count, 0);
	free(cache);
}

static uint64_t take_kind(struct cache *cache, uint64_t size_bytes, const struct gsa_pinned_kind *kind)
{
	struct gsa_pinned_info info;
	uint64_t address;

	if (gsa_pinned_take(cache->pinned, kind, size_bytes, &info) == GS_OK) {
		assert_int_equal(info.size_bytes, size_bytes);
		return info.address;
	}
	cache->asked++;
	assert_int_equal(fake_ops.plain_alloc(&cache->fake, size_bytes, &address), GS_OK);
	gsa_pinned_add(cache->pinned, kind, size_bytes, address);
	return address;
}

static uint64_t take_host(struct cache *cache, uint64_t size_bytes)
{
	return take_kind(cache, size_bytes, &plain);
}

static void give_host(struct cache *cache, uint64_t address)
{
	assert_int_equal(gsa_pinned_free(cache->pinned, address), GS_OK);
	gsa_pinned_check(cache->pinned);
}

static struct gsa_pinned_stats stats_of(struct cache *cache)
{
	struct gsa_pinned_stats stats;

	gsa_pinned_check(cache->pinned);
	gsa_pinned_stats_read(cache->pinned, &stats);
	return stats;
}

static void idle_memory_serves_again(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, 8 * MIB);
	unsigned calls;

	(void)state;
	give_host(cache, first);
	assert_int_equal(take_host(cache, 8 * MIB), first);
	assert_int_equal(gsa_pinned_free(cache->pinned, first + 8), GS_E_NOT_FOUND);
	give_host(cache, first);
	gsa_pinned_idle(cache->pinned, gsa_pinned_mark(cache->pinned));
	assert_false(gsa_pinned_quiet(cache->pinned));
	calls = cache->fake.call_count;
	assert_int_equal(take_host(cache, 8 * MIB - 100), first);
	assert_int_equal(cache->fake.call_count, calls);
	assert_int_equal(stats_of(cache).hits, 2);
	cache_close(cache);
}

/* A freed buffer may still be read or written by any stream of any device. */
static void pending_memory_does_not_serve(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, MIB), second;

	(void)state;
	fake_submit(&cache->fake, 3);
	give_host(cache, first);
	second = take_host(cache, MIB);
	assert_int_not_equal(second, first);
	fake_finish(&cache->fake, 3);
	assert_int_equal(take_host(cache, MIB), first);
	cache_close(cache);
}

static void a_fence_covers_no_later_free(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, MIB), second = take_host(cache, MIB), third = take_host(cache, 4 * KIB);

	(void)state;
	fake_submit(&cache->fake, 1);
	give_host(cache, first);
	third = take_host(cache, MIB); /* records */
	assert_int_not_equal(third, first);
	fake_finish(&cache->fake, 1);
	fake_submit(&cache->fake, 2);
	give_host(cache, second);
	assert_int_equal(take_host(cache, MIB), first);
	assert_int_not_equal(take_host(cache, MIB), second);
	cache_close(cache);
}

static void a_mark_covers_no_later_free(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, MIB), second = take_host(cache, MIB);
	struct gsa_pinned_mark mark;

	(void)state;
	fake_submit(&cache->fake, 1);
	give_host(cache, first);
	mark = gsa_pinned_mark(cache->pinned);
	give_host(cache, second);
	gsa_pinned_idle(cache->pinned, mark);
	assert_int_equal(take_host(cache, MIB), first);
	assert_int_not_equal(take_host(cache, MIB), second);
	cache_close(cache);
}

static uint64_t counted, at_work; /* calls begun; of these, not yet ended */

static uint64_t op_work_count(void *device, bool ended)
{
	(void)device;
	return ended && counted != GSA_WORK_UNKNOWN ? counted - at_work : counted;
}

/* What is freed while nothing was submitted since all was done is idle at once: no fence for it. */
static void what_nothing_can_use_is_idle(void **state)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	struct gsa_ops ops = fake_ops;
	uint64_t first, second;
	unsigned calls;

	(void)state;
	ops.work_count = op_work_count;
	counted = 7;
	fake_init(&cache->fake, GIB);
	assert_int_equal(gsa_pinned_init(&cache->pinned, &ops, &cache->fake, GIB), GS_OK);
	first = take_host(cache, MIB);
	give_host(cache, first);
	assert_int_equal(take_host(cache, MIB), first); /* by a fence */
	calls = cache->fake.call_count;
	give_host(cache, first);
	assert_int_equal(take_host(cache, MIB), first);
	assert_int_equal(cache->fake.call_count, calls);
	fake_submit(&cache->fake, 1);
	counted++;
	give_host(cache, first);
	second = take_host(cache, MIB);
	assert_int_not_equal(second, first);
	give_host(cache, second);
	fake_finish(&cache->fake, 1);
	gsa_pinned_idle(cache->pinned, gsa_pinned_mark(cache->pinned));
	calls = cache->fake.call_count;
	give_host(cache, take_host(cache, MIB));
	give_host(cache, take_host(cache, MIB));
	assert_int_equal(cache->fake.call_count, calls);
	counted = GSA_WORK_UNKNOWN;
	fake_submit(&cache->fake, 1);
	give_host(cache, first = take_host(cache, MIB));
	second = take_host(cache, MIB);
	give_host(cache, second);
	assert_int_not_equal(take_host(cache, MIB), first);
	cache_close(cache);
}

/* A call may have submitted work before it returns, or not yet: neither counts as done by a wait of another thread. */
static void a_call_that_has_not_ended_is_no_quiet(void **state)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	struct gsa_ops ops = fake_ops;
	uint64_t first;

	(void)state;
	ops.work_count = op_work_count;
	counted = 7;
	fake_init(&cache->fake, GIB);
	assert_int_equal(gsa_pinned_init(&cache->pinned, &ops, &cache->fake, GIB), GS_OK);
	first = take_host(cache, MIB);
	gsa_pinned_idle(cache->pinned, gsa_pinned_mark(cache->pinned));
	assert_true(gsa_pinned_quiet(cache->pinned));
	counted++;
	at_work++;
	assert_false(gsa_pinned_quiet(cache->pinned));
	gsa_pinned_idle(cache->pinned, gsa_pinned_mark(cache->pinned));
	assert_false(gsa_pinned_quiet(cache->pinned));
	fake_submit(&cache->fake, 1);
	give_host(cache, first);
	assert_int_not_equal(take_host(cache, MIB), first);
	at_work--;
	assert_false(gsa_pinned_quiet(cache->pinned));
	fake_finish(&cache->fake, 1);
	gsa_pinned_idle(cache->pinned, gsa_pinned_mark(cache->pinned));
	assert_true(gsa_pinned_quiet(cache->pinned));
	cache_close(cache);
}

static void kinds_are_kept_apart(void **state)
{
	static const struct gsa_pinned_kind kinds[] = {
	    {.owner = 1}, {.owner = 2}, {.owner = 1, .flags = 1}, {.owner = 1, .flags = 4}, {.owner = 1, .node = 1}};
	struct cache *cache = cache_open(GIB);
	uint64_t address[5];

	(void)state;
	for (int i = 0; i < 5; i++)
		address[i] = take_kind(cache, MIB, &kinds[i]);
	for (int i = 0; i < 5; i++)
		give_host(cache, address[i]);
	for (int i = 0; i < 5; i++)
		assert_int_equal(take_kind(cache, MIB, &kinds[i]), address[i]);
	assert_int_equal(take_kind(cache, MIB, &kinds[0]) == address[0], 0);
	cache_close(cache);
}

static void sizes_are_about_the_same(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, 8 * MIB);

	(void)state;
	give_host(cache, first);
	assert_int_not_equal(take_host(cache, 8 * MIB + 1), first);
	assert_int_not_equal(take_host(cache, 7 * MIB), first);
	assert_int_equal(take_host(cache, 8 * MIB - 500 * KIB), first);
	cache_close(cache);
}

static void the_oldest_go_at_the_limit(void **state)
{
	struct cache *cache = cache_open(16 * MIB);
	uint64_t address[5], large = take_host(cache, 16 * MIB + 1);

	(void)state;
	for (int i = 0; i < 5; i++)
		address[i] = take_host(cache, 4 * MIB);
	for (int i = 0; i < 5; i++)
		give_host(cache, address[i]);
	assert_int_equal(stats_of(cache).kept_bytes, 16 * MIB);
	assert_int_equal(stats_of(cache).given_back, 1);
	assert_false(gsa_pinned_keeps(cache->pinned, address[0]));
	assert_true(gsa_pinned_keeps(cache->pinned, address[1] + 1000));
	assert_int_equal(gsa_pinned_free(cache->pinned, large), GS_E_LIMIT);
	assert_int_equal(stats_of(cache).kept_bytes, 16 * MIB);
	cache_close(cache);
}

/* Whatever a program asks for. */
static void sizes_beyond_all_memory_are_the_drivers(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t idle = take_host(cache, MIB), pending = take_host(cache, MIB);
	struct gsa_pinned_info info;

	(void)state;
	give_host(cache, idle);
	gsa_pinned_idle(cache->pinned, gsa_pinned_mark(cache->pinned));
	fake_submit(&cache->fake, 3);
	give_host(cache, pending);
	for (unsigned shift = 31; shift < 64; shift++)
		assert_int_equal(gsa_pinned_take(cache->pinned, &plain, 1ull << shift, &info), GS_E_NOT_FOUND);
	assert_int_equal(gsa_pinned_take(cache->pinned, &plain, UINT64_MAX, &info), GS_E_NOT_FOUND);
	cache_close(cache);
}

static void what_is_not_live_is_not_freed(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, MIB);
	struct gsa_pinned_info info;

	(void)state;
	assert_int_equal(gsa_pinned_free(cache->pinned, first + 512), GS_E_NOT_FOUND);
	assert_int_equal(gsa_pinned_find(cache->pinned, first + 512, &info), GS_OK);
	assert_int_equal(info.address, first);
	assert_int_equal(gsa_pinned_find(cache->pinned, first + MIB, &info), GS_E_NOT_FOUND);
	assert_false(gsa_pinned_keeps(cache->pinned, first));
	give_host(cache, first);
	assert_int_equal(gsa_pinned_free(cache->pinned, first), GS_E_NOT_FOUND);
	assert_int_equal(gsa_pinned_find(cache->pinned, first, &info), GS_E_NOT_FOUND);
	assert_true(gsa_pinned_keeps(cache->pinned, first + 512));
	gsa_pinned_leave(cache->pinned, first);
	gsa_pinned_left(cache->pinned, first, true);
	assert_true(gsa_pinned_keeps(cache->pinned, first));
	assert_int_equal(take_host(cache, MIB), first);
	give_host(cache, first);
	cache_close(cache);
}

/* While the driver frees it, the address may be handed out again. */
static void a_driver_free_loses_to_a_new_allocation(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, MIB);

	(void)state;
	gsa_pinned_leave(cache->pinned, first);
	assert_int_equal(gsa_pinned_free(cache->pinned, first), GS_E_NOT_FOUND);
	gsa_pinned_add(cache->pinned, &plain, 2 * MIB, first);
	gsa_pinned_left(cache->pinned, first, true);
	assert_int_equal(stats_of(cache).live_bytes, 2 * MIB);
	gsa_pinned_leave(cache->pinned, first);
	gsa_pinned_left(cache->pinned, first, false);
	assert_int_equal(stats_of(cache).live_bytes, 2 * MIB);
	gsa_pinned_leave(cache->pinned, first);
	gsa_pinned_left(cache->pinned, first, true);
	assert_int_equal(stats_of(cache).live_bytes, 0);
	cache_close(cache);
}

static void contexts_end(void **state)
{
	static const struct gsa_pinned_kind other = {.owner = 2};
	struct cache *cache = cache_open(GIB);
	uint64_t mine = take_host(cache, MIB), kept = take_host(cache, 2 * MIB);
	uint64_t others = take_kind(cache, MIB, &other);

	(void)state;
	give_host(cache, kept);
	give_host(cache, others);
	gsa_pinned_owner_ending(cache->pinned, 1);
	assert_int_equal(cache->fake.calls[FAKE_PLAIN_FREE], 1);
	assert_int_equal(stats_of(cache).live_bytes, MIB);
	gsa_pinned_owner_gone(cache->pinned, 1);
	assert_int_equal(stats_of(cache).live_bytes, 0);
	assert_int_equal(gsa_pinned_free(cache->pinned, mine), GS_E_NOT_FOUND);
	assert_true(gsa_pinned_keeps(cache->pinned, others));
	cache_close(cache);
}

static void idle_memory_goes_back_with_age(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, MIB), second = take_host(cache, MIB);

	(void)state;
	give_host(cache, first);
	cache->fake.clock_ns += 5 * SECOND_NS;
	give_host(cache, second);
	cache->fake.clock_ns += 5 * SECOND_NS;
	assert_int_equal(gsa_pinned_purge(cache->pinned, 10 * SECOND_NS), MIB);
	assert_false(gsa_pinned_keeps(cache->pinned, first));
	assert_int_equal(gsa_pinned_purge(cache->pinned, 10 * SECOND_NS), 0);
	fake_submit(&cache->fake, 1);
	give_host(cache, take_host(cache, 3 * MIB));
	cache->fake.clock_ns += 20 * SECOND_NS;
	assert_int_equal(gsa_pinned_purge(cache->pinned, 10 * SECOND_NS), 0); /* the driver would wait */
	assert_true(gsa_pinned_keeps(cache->pinned, second));
	fake_finish(&cache->fake, 1);
	assert_int_equal(gsa_pinned_purge(cache->pinned, 10 * SECOND_NS), 4 * MIB);
	cache_close(cache);
}

static void trimming_waits_only_when_told(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, MIB), second = take_host(cache, MIB);

	(void)state;
	give_host(cache, first);
	gsa_pinned_idle(cache->pinned, gsa_pinned_mark(cache->pinned));
	fake_submit(&cache->fake, 1);
	give_host(cache, second);
	assert_int_equal(gsa_pinned_trim(cache->pinned, 0, false), 0);
	assert_int_equal(gsa_pinned_trim(cache->pinned, 0, true), 2 * MIB);
	assert_int_equal(stats_of(cache).kept_bytes, 0);
	cache_close(cache);
}

static void captures_forbid_fences(void **state)
{
	struct cache *cache = cache_open(GIB);
	uint64_t first = take_host(cache, 64 * MIB);

	(void)state;
	give_host(cache, first);
	cache->fake.capturing = true;
	assert_int_not_equal(take_host(cache, 64 * MIB), first);
	cache->fake.capturing = false;
	assert_int_equal(take_host(cache, 64 * MIB), first);
	cache_close(cache);
}

/* Without host memory for the books the allocation is the driver's alone. */
static void books_may_lack_memory(void **state)
{
	struct cache *cache;
	uint64_t address = 0;

	(void)state;
	for (unsigned passes = 0;; passes++) {
		struct gsa_pinned_info info;
		bool fired;

		cache = cache_open(GIB);
		gsb_fault_arm(GSB_FAULT_SLAB, passes, 1);
		address = take_host(cache, MIB);
		fired = gsb_fault_fired(GSB_FAULT_SLAB) > 0;
		gsb_fault_arm(GSB_FAULT_SLAB, 0, 0);
		assert_int_equal(gsa_pinned_find(cache->pinned, address, &info), fired ? GS_E_NOT_FOUND : GS_OK);
		cache_close(cache);
		if (!fired)
			break;
	}
}

/* Random programs against a model: nothing that is pending or live serves. */
static void random_lives(void **state)
{
	enum { SLOTS = 64, STEPS = 20000 };
	static struct {
		uint64_t address;
		uint64_t submitted[FAKE_STREAMS]; /* at the free */
		bool live;
		bool freed;
	} slots[SLOTS];
	struct cache *cache = cache_open(24 * MIB);
	uint64_t random = 42;

	(void)state;
	for (int step = 0; step < STEPS; step++) {
		int slot;

		random = random * 6364136223846793005u + 1442695040888963407u;
		slot = (int)(random >> 33) % SLOTS;
		if ((random >> 60) == 0)
			fake_finish(&cache->fake, 1 + (random >> 40) % 3);
		if ((random >> 60) < 3)
			fake_submit(&cache->fake, 1 + (random >> 40) % 3);
		cache->fake.clock_ns += 1000;
		if (step % 512 == 0)
			gsa_pinned_purge(cache->pinned, 100000);
		if (slots[slot].live) {
			slots[slot].live = false;
			slots[slot].freed = true;
			for (int i = 0; i < FAKE_STREAMS; i++)
				slots[slot].submitted[i] = cache->fake.submitted[i];
			give_host(cache, slots[slot].address);
			continue;
		}
		slots[slot].address = take_host(cache, (1 + (random >> 45) % 8) * 128 * KIB);
		for (int other = 0; other < SLOTS; other++) {
			if (other == slot || slots[other].address != slots[slot].address)
				continue;
			assert_false(slots[other].live);
			for (int i = 0; i < FAKE_STREAMS && slots[other].freed; i++)
				assert_true(fake_finished(&cache->fake, (uint64_t)i, slots[other].submitted[i]));
		}
		for (int i = 0; i < FAKE_STREAMS && slots[slot].freed; i++)
			slots[slot].submitted[i] = 0;
		slots[slot].live = true;
		slots[slot].freed = false;
	}
	assert_true(stats_of(cache).hits > STEPS / 20);
	cache_close(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(idle_memory_serves_again),
	    cmocka_unit_test(pending_memory_does_not_serve),
	    cmocka_unit_test(a_fence_covers_no_later_free),
	    cmocka_unit_test(a_mark_covers_no_later_free),
	    cmocka_unit_test(what_nothing_can_use_is_idle),
	    cmocka_unit_test(a_call_that_has_not_ended_is_no_quiet),
	    cmocka_unit_test(kinds_are_kept_apart),
	    cmocka_unit_test(sizes_are_about_the_same),
	    cmocka_unit_test(the_oldest_go_at_the_limit),
	    cmocka_unit_test(sizes_beyond_all_memory_are_the_drivers),
	    cmocka_unit_test(what_is_not_live_is_not_freed),
	    cmocka_unit_test(a_driver_free_loses_to_a_new_allocation),
	    cmocka_unit_test(contexts_end),
	    cmocka_unit_test(idle_memory_goes_back_with_age),
	    cmocka_unit_test(trimming_waits_only_when_told),
	    cmocka_unit_test(captures_forbid_fences),
	    cmocka_unit_test(books_may_lack_memory),
	    cmocka_unit_test(random_lives),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("pinned host memory", tests, NULL, NULL);
}
