/* What fills a device, in words: the places that hold most of it, though their stacks meet in the table of sums, and the largest
 * hole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "shim/stack/intern.h"
#include "shim/watch/live_top.h"
#include "tests/lib/gsa_test.h"

enum { MEET = 512 }; /* stacks that far apart have the same first place in the table */

static uint32_t stack_of(uint32_t line)
{
	const struct gs_frame frame = {.kind = GS_FRAME_PYTHON, .file = gs_string_intern("train.py"), .line = line,
				       .function = gs_string_intern("f")};
	uint32_t number, stack;

	assert_int_equal(gs_frame_intern(&frame, &number), GS_OK);
	assert_int_equal(gs_node_intern(0, number, &stack), GS_OK);
	return stack;
}

static uint64_t take_at(struct bench *bench, uint64_t size_bytes, uint32_t stack)
{
	const struct gsa_request request = {.size_bytes = size_bytes, .stack = stack};
	struct gsa_block_info block;

	assert_int_equal(gsa_alloc(bench->allocator, &request, &block), 0);
	return block.address;
}

static void test_places(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint32_t stacks[2 * MEET + 1];
	char line[512];
	struct gsb_text text;

	(void)state;
	for (unsigned i = 0; i <= 2 * MEET; i++)
		stacks[i] = stack_of(i + 1);
	assert_int_equal(stacks[2 * MEET] - stacks[0], 2 * MEET);
	for (unsigned i = 0; i < 3; i++) {
		take_at(bench, MIB, stacks[0]);
		take_at(bench, (2 + i) * MIB, stacks[MEET]);
		take_at(bench, 8 * MIB, stacks[2 * MEET]);
		take_at(bench, 2048, stacks[100 + i]);
	}
	gsb_text_init(&text, line, sizeof(line));
	gs_live_top_add_places(&text, bench->allocator);
	assert_non_null(strstr(line, "; most of it 24.0 MiB in 3 blocks by train.py:1025"));
	assert_non_null(strstr(line, ", 9.0 MiB in 3 blocks by train.py:513"));
	assert_non_null(strstr(line, ", 3.0 MiB in 3 blocks by train.py:1"));
	assert_null(strstr(line, "KiB"));
	bench_close(bench);
}

static void test_hole(void **state)
{
	struct bench *bench = bench_open(fake_options(), GIB);
	uint64_t blocks[4];
	char line[64];
	struct gsb_text text;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		blocks[i] = take_at(bench, (2 + i) * MIB, 1);
	fake_give(bench->allocator, blocks[0], 0);
	fake_give(bench->allocator, blocks[2], 0);
	gsb_text_init(&text, line, sizeof(line));
	gs_live_top_add_hole(&text, bench->allocator);
	assert_string_equal(line, ", largest hole 4.0 MiB");
	bench_close(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_hole),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("watch live top", tests, NULL, NULL);
}
