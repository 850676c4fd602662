/* The traces that there are, compared with a plain list; and how a recording is cut into traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "graph/cache.h"
#include "graph/record.h"
#include "shim/base/err.h"
#include "shim/base/os.h"
#include "tests/lib/gsg_fake.h"

enum { TRACES = 60, STEPS = 20000, LENGTH = 4, GRAMS = 9 };

static struct gsg_fake fake;
static struct gsg_cache cache;
static struct gsg_trace *list[TRACES]; /* the newest first */
static unsigned listed;
static uint64_t seed = 5;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static void to_front(unsigned at)
{
	struct gsg_trace *trace = list[at];

	memmove(list + 1, list, at * sizeof(list[0]));
	list[0] = trace;
}

static void remove_at(unsigned at)
{
	struct gsg_trace *trace = list[at];

	memmove(list + at, list + at + 1, (--listed - at) * sizeof(list[0]));
	gsg_cache_remove(&cache, trace);
	gsg_trace_ruin(trace, &gsg_fake_ops, &fake);
	gsg_trace_free(trace);
}

static void add(uint64_t gram, uintptr_t kernel)
{
	struct gsg_fake_launch launches[LENGTH];
	const struct gsg_launch *pointers[LENGTH];
	struct gsg_trace *trace, *excess;

	for (uint32_t i = 0; i < LENGTH; i++) {
		gsg_fake_launch(&launches[i], 1, 8, kernel + i, (uint32_t[]){i}, 1, false);
		pointers[i] = &launches[i].launch;
	}
	trace = gsg_trace_new(pointers, LENGTH, gram);
	assert_non_null(trace);
	assert_int_equal(gsg_trace_build(trace, &gsg_fake_ops, &fake), GS_OK);
	while ((excess = gsg_cache_excess(&cache, trace)) != NULL) {
		unsigned at = listed - 1, same = 0;

		for (unsigned i = 0; i < listed; i++)
			same += list[i]->place == gram;
		while (same >= GSG_CACHE_SAME && list[at]->place != gram)
			at--;
		assert_ptr_equal(excess, list[at]);
		remove_at(at);
	}
	gsg_cache_add(&cache, trace);
	list[listed++] = trace;
	to_front(listed - 1);
}

static void check(void)
{
	struct gsg_trace *trace = cache.newest;
	uint64_t bytes = 0;

	assert_int_equal(cache.count, listed);
	for (unsigned i = 0; i < listed; i++, trace = trace->older) {
		assert_ptr_equal(trace, list[i]);
		bytes += gsg_trace_bytes(trace);
	}
	assert_null(trace);
	assert_ptr_equal(cache.oldest, listed != 0 ? list[listed - 1] : NULL);
	assert_int_equal(cache.bytes, bytes);
	assert_true(bytes <= cache.limit_bytes);
}

/* The one used last of those that begin here with this launch. */
static void find(uint64_t gram, uintptr_t kernel)
{
	struct gsg_fake_launch launch;
	struct gsg_trace *found;
	unsigned at = 0;
	bool rests;

	gsg_fake_launch(&launch, 1, 8, kernel, (uint32_t[]){0}, 1, false);
	found = gsg_cache_find(&cache, gram, &launch.launch, NULL, &rests);
	while (at < listed && (list[at]->place != gram || list[at]->nodes[0].launch->shape.function != (void *)kernel))
		at++;
	assert_ptr_equal(found, at < listed ? list[at] : NULL);
	assert_false(rests);
	if (found != NULL) {
		gsg_cache_used(&cache, found, gsg_trace_bytes(found));
		to_front(at);
	}
}

static void test_list(void **state)
{
	unsigned full = 0;

	(void)state;
	gsg_fake_init(&fake);
	cache.limit_bytes = 30 * (65536 + LENGTH * 4096 + 8192);
	for (unsigned step = 0; step < STEPS; step++) {
		uint64_t gram = draw(GRAMS) % 2 == 0 ? draw(GRAMS) : draw(GRAMS) * GSG_CACHE_BUCKETS;

		switch (draw(4)) {
		case 0:
			add(gram, 1 + draw(3));
			break;
		case 1:
			if (listed != 0)
				remove_at(draw(listed));
			break;
		default:
			find(gram, 1 + draw(3));
		}
		full += listed >= 25;
		check();
	}
	assert_true(full > 100);
	while (listed != 0)
		remove_at(0);
	assert_int_equal(fake.execs, 0);
	gsg_fake_end(&fake);
}

/* Of those that begin alike: the one that came next before, or else the one with these arguments. */
static void test_next(void **state)
{
	struct gsg_fake_launch launch;
	bool rests;

	(void)state;
	gsg_fake_init(&fake);
	memset(&cache, 0, sizeof(cache));
	cache.limit_bytes = 1u << 30;
	for (uint32_t i = 0; i < 3; i++) {
		add(7, 1);
		list[0]->execs[0].values[0] = (unsigned char)i;
	}
	for (uint32_t i = 0; i < 3; i++) {
		gsg_fake_launch(&launch, 1, 8, 1, (uint32_t[]){i}, 1, false);
		assert_ptr_equal(gsg_cache_find(&cache, 7, &launch.launch, NULL, &rests), list[2 - i]);
		for (uint32_t j = 0; j < 3; j++) {
			list[0]->next = list[j];
			assert_ptr_equal(gsg_cache_find(&cache, 7, &launch.launch, list[0], &rests), list[j]);
		}
	}
	while (listed != 0)
		remove_at(0);
	gsg_fake_end(&fake);
}

/* What failed is found after all others that begin there. */
static void test_failed(void **state)
{
	struct gsg_fake_launch launch;
	struct gsg_trace *first, *second;
	bool rests;

	(void)state;
	gsg_fake_init(&fake);
	memset(&cache, 0, sizeof(cache));
	cache.limit_bytes = 1u << 30;
	add(7, 1);
	add(7 + GSG_CACHE_BUCKETS, 1);
	add(7, 1);
	gsg_fake_launch(&launch, 1, 8, 1, (uint32_t[]){0}, 1, false);
	first = gsg_cache_find(&cache, 7, &launch.launch, NULL, &rests);
	assert_ptr_equal(first, list[0]);
	gsg_cache_failed(&cache, first);
	second = gsg_cache_find(&cache, 7, &launch.launch, NULL, &rests);
	assert_ptr_equal(second, list[2]);
	gsg_cache_failed(&cache, second);
	assert_ptr_equal(gsg_cache_find(&cache, 7, &launch.launch, NULL, &rests), first);
	check();
	while (listed != 0)
		remove_at(0);
	gsg_fake_end(&fake);
}

/* --- recordings ---------------------------------------------------------------------------------------------------- */

static struct gsg_recording recording;
static struct gsg_detect detect;

/* Records a period of launches, where `first` and `plain` say which come after a wait and which no graph can hold. */
static void record(uint32_t period, uint32_t exact, const char *marks, uint32_t chunk)
{
	struct gsg_fake_launch launch;
	bool has_first = strchr(marks, 'f') != NULL;
	uint32_t count = 0;

	memset(&detect, 0, sizeof(detect));
	memset(&recording, 0, offsetof(struct gsg_recording, pages));
	do {
		uint32_t i = count % period;
		char mark = i < strlen(marks) ? marks[i] : '.';

		gsg_detect_push(&detect, 100 + i);
		gsg_fake_launch(&launch, 1, 8, 1 + i, (uint32_t[]){i}, 1, mark == 'f');
		if (mark == 'p')
			launch.launch.shape.flags |= GSG_SHAPE_PLAIN;
		if (recording.state == GSG_RECORDING_OFF && gsg_watch_found(&detect.outer, 0))
			assert_true(gsg_recording_begin(&recording, &detect.outer, exact, has_first, chunk));
		else if (recording.state != GSG_RECORDING_OFF)
			gsg_recording_take(&recording, &launch.launch, 100 + i, mark == 'f');
		assert_true(++count < 100000);
	} while (recording.state != GSG_RECORDING_DONE);
}

/* The lengths of the traces, and that they are as they should be. */
static void check_cut(uint32_t chunk, const uint32_t *lengths, uint32_t count)
{
	uint32_t start, length, cut = 0, last_end = 0;
	uint64_t found, place;

	while ((length = gsg_recording_cut(&recording, chunk, &start, &found)) != 0) {
		assert_true(cut < count);
		assert_int_equal(length, lengths[cut]);
		assert_true(start >= last_end && start + length <= recording.count);
		place = 0;
		for (uint32_t i = 0; i < GSG_PLACE; i++)
			place = place * GSG_PLACE_FACTOR +
				  recording.tokens[(start + 16 * recording.count - GSG_PLACE + 1 + i) % recording.count];
		assert_int_equal(found, place);
		last_end = start + length;
		cut++;
	}
	assert_int_equal(cut, count);
	assert_int_equal(recording.state, GSG_RECORDING_OFF);
}

static void test_cut(void **state)
{
	(void)state;
	record(1, 0, "", 64);
	check_cut(64, (uint32_t[]){64}, 1);
	record(5, 0, "", 64);
	check_cut(64, (uint32_t[]){60}, 1);
	record(5, 15, "", 64);
	check_cut(64, (uint32_t[]){60}, 1);
	record(5, 25, "", 64);
	check_cut(64, (uint32_t[]){50}, 1);
	record(33, 0, "", 64);
	check_cut(64, (uint32_t[]){33}, 1);
	record(100, 0, "", 64);
	check_cut(64, (uint32_t[]){50, 50}, 2);
	record(10, 0, "f", 64);
	check_cut(64, (uint32_t[]){10}, 1);
	record(20, 0, "f.........f", 64);
	check_cut(64, (uint32_t[]){10, 10}, 2);
	record(20, 0, ".....f", 64);
	check_cut(64, (uint32_t[]){20}, 1);
	record(20, 0, "f..f......", 64);
	check_cut(64, (uint32_t[]){17}, 1);
	record(20, 0, "......p", 64);
	check_cut(64, (uint32_t[]){6, 19, 13}, 3);
}

/* A period that is broken is not recorded. */
static void test_broken(void **state)
{
	struct gsg_fake_launch launch;

	(void)state;
	memset(&detect, 0, sizeof(detect));
	memset(&recording, 0, offsetof(struct gsg_recording, pages));
	gsg_fake_launch(&launch, 1, 8, 1, (uint32_t[]){0}, 1, false);
	for (uint32_t i = 0; i < 40; i++)
		gsg_detect_push(&detect, 1 + i % 10);
	assert_true(gsg_recording_begin(&recording, &detect.outer, 0, false, 8));
	for (uint32_t i = 0; i < 5; i++) {
		gsg_detect_push(&detect, 1 + i);
		gsg_recording_take(&recording, &launch.launch, 1 + i, false);
		assert_int_equal(recording.state, GSG_RECORDING_ON);
	}
	gsg_detect_push(&detect, 999);
	gsg_recording_take(&recording, &launch.launch, 999, false);
	assert_int_equal(recording.state, GSG_RECORDING_OFF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_broken),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("graph cache", tests, NULL, NULL);
}
