/* Everything the allocator asks of the device or the system fails once, at every place, until nothing fails any more.
 * Whatever fails, the books stay true, nothing leaks, no free fails, and no block is handed out that is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/fault.h"
#include "tests/lib/gsa_test.h"

#define BLOCKS 48

/* A program that grows, splits, merges, changes streams, trims, waits, runs out of memory and ends. */
static void scenario(struct bench *bench)
{
	static const uint64_t sizes[] = {512, 3 * MIB, 700 * KIB, 300 * MIB, 8 * MIB, 40 * KIB};
	struct gsa_stream ending = fake_stream(2);
	struct gsa_block_info blocks[BLOCKS];
	bool live[BLOCKS] = {false};

	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			uint64_t stream_id = (i + round) % 3;
			struct gsa_stream stream = fake_stream(stream_id);
			struct gsa_request request = {.size_bytes = sizes[(i * 5 + round) % 6],
						      .origin = stream_id != 0 ? GSA_ORIGIN_ASYNC : GSA_ORIGIN_LEGACY,
						      .stream = stream_id != 0 ? &stream : NULL,
						      .owner = 1,
						      .plain = i % 16 == 7};

			if (!live[i] && gsa_alloc(bench->allocator, &request, &blocks[i]) == GS_OK) {
				live[i] = true;
				assert_true(fake_usable(&bench->fake, blocks[i].address, blocks[i].reserved_bytes));
			}
			if (i % 5 == 0)
				fake_submit(&bench->fake, 1 + i % 3);
			if (i % 7 == 0)
				fake_finish(&bench->fake, 1 + i % 3);
		}
		for (unsigned i = 0; i < BLOCKS; i++) {
			if (live[i] && (i + round) % 4 != 0) {
				give(bench, blocks[i].address, (i + round) % 5 < 2 ? 0 : blocks[i].stream_id);
				live[i] = false;
			}
		}
		if (round == 1)
			gsa_stream_ending(bench->allocator, &ending);
		if (round == 2)
			gsa_trim(bench->allocator, 64 * MIB);
		gsa_check(bench->allocator);
	}
	gsa_access_changed(bench->allocator);
	gsa_device_idle(bench->allocator, gsa_free_serial(bench->allocator));
	gsa_trim(bench->allocator, 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		if (live[i])
			give(bench, blocks[i].address, blocks[i].stream_id);
	assert_int_equal(bench_stats(bench)->live_count.now, 0);
}

/* At the first places each of the errors has its turn, at the later ones, which are like them, one of them. */
static void fail_each_call(struct gsa_options options, const int *errors, unsigned error_count)
{
	enum { FIRST_PLACES = 100 };
	unsigned turn = 0;
	unsigned at = 0;
	unsigned fired;

	do {
		int error = errors[(at + turn) % error_count];
		struct bench *bench = bench_open(options, 2 * GIB);

		fake_fail(&bench->fake, FAKE_OP_COUNT, at, 1, error);
		scenario(bench);
		fired = bench->fake.fail_fired;
		assert_int_equal(bench_stats(bench)->reserved_bytes.now, bench->fake.used_bytes);
		assert_int_equal(bench->fake.told_bytes, bench->fake.used_bytes);
		fake_fail(&bench->fake, FAKE_OP_COUNT, 0, 0, GS_OK);
		bench_close(bench);
		turn = at < FIRST_PLACES ? (turn + 1) % error_count : 0;
		at += turn == 0;
	} while (fired > 0);
	assert_true(at > 50);
}

static void a_call_fails_expandable(void **state)
{
	(void)state;
	fail_each_call(fake_options(), (const int[]){GS_E_NO_MEMORY, GS_E_DRIVER, GS_E_FORBIDDEN}, 3);
}

static void a_call_fails_fixed(void **state)
{
	struct gsa_options options = fake_options();

	(void)state;
	options.expandable = false;
	fail_each_call(options, (const int[]){GS_E_NO_MEMORY, GS_E_DRIVER}, 2);
}

static void a_call_fails_plain(void **state)
{
	struct gsa_options options = fake_options();

	(void)state;
	options.use_vmm = false;
	fail_each_call(options, (const int[]){GS_E_NO_MEMORY, GS_E_DRIVER}, 2);
}

/* An unmap that fails while a growth is undone leaves memory mapped that nobody can use; it must stay untouched. */
static void undoing_fails_too(void **state)
{
	struct bench *bench = bench_open(fake_options(), 4 * GIB);
	struct gsa_block_info block;
	uint64_t first = take(bench, 2 * MIB, 1);

	(void)state;
	/* 19 handles of 32 MiB; then the access, and the first unmap twice */
	fake_fail(&bench->fake, FAKE_OP_COUNT, 38, 3, GS_E_DRIVER);
	assert_int_equal(fake_alloc(bench->allocator, 600 * MIB, 1, &block), GS_OK);
	assert_int_equal(bench->fake.fail_fired, 3);
	assert_true(block.plain);
	assert_int_equal(bench->fake.handle_count, 2);
	give(bench, block.address, 1);
	give(bench, first, 1);
	assert_int_equal(take(bench, 2 * MIB, 1), first);
	assert_int_equal(bench_stats(bench)->reserved_bytes.now, 602 * MIB);
	gsa_fini(bench->allocator);
	assert_int_equal(bench->fake.handle_count, 1);
	free(bench);
}

static void host_memory_runs_out(void **state)
{
	unsigned modes = 0;

	(void)state;
	for (; modes < 3; modes++) {
		struct gsa_options options = fake_options();
		unsigned at = 0;
		unsigned fired;

		options.use_vmm = modes != 2;
		options.expandable = modes == 0;
		for (unsigned times = 1; times < 100; times += 90) {
			do {
				struct bench *bench = bench_open(options, 2 * GIB);

				gsb_fault_arm(GSB_FAULT_SLAB, at, times);
				scenario(bench);
				fired = gsb_fault_fired(GSB_FAULT_SLAB);
				gsb_fault_arm(GSB_FAULT_SLAB, 0, 0);
				assert_int_equal(bench_stats(bench)->reserved_bytes.now, bench->fake.used_bytes);
				bench_close(bench);
				at += at < 100 ? 1 : 13; /* a node is asked for hundreds of times */
			} while (fired > 0);
		}
		assert_true(at > 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_call_fails_expandable), cmocka_unit_test(a_call_fails_fixed),
	    cmocka_unit_test(a_call_fails_plain),      cmocka_unit_test(undoing_fails_too),
	    cmocka_unit_test(host_memory_runs_out),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator faults", tests, NULL, NULL);
}
