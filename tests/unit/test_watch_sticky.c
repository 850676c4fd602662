/* shim/watch/sticky.c: how candidates are grouped and which comes first; and place.c: what a place is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "shim/base/err.h"
#include "shim/stack/intern.h"
#include "shim/watch/sticky.c"

enum { X = 1, Y, Z };

static struct group groups[GROUPS];
static unsigned group_count;

static size_t make(const struct gs_launch *launches, size_t count)
{
	return groups_make(launches, count, groups, &group_count);
}

#define MAKE(...) make((const struct gs_launch[]){__VA_ARGS__}, sizeof((struct gs_launch[]){__VA_ARGS__}) / sizeof(struct gs_launch))
#define OPEN(ns, work, of, at)                                                                                         \
	{.time_ns = (ns), .kind = GS_WORK_##work, .name = (of), .stack = (at), .state = GS_WORK_OPEN}
#define DONE(ns, of, at)                                                                                               \
	{.time_ns = (ns), .kind = GS_WORK_KERNEL, .name = (of), .stack = (at), .state = GS_WORK_DONE}

/* In this order, each by its name and stack. */
#define IS(...) is((const uint32_t[][2]){__VA_ARGS__}, sizeof((uint32_t[][2]){__VA_ARGS__}) / sizeof(uint32_t[2]))

static void is(const uint32_t (*wanted)[2], unsigned count)
{
	assert_int_equal(group_count, count);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(groups[i].name, wanted[i][0]);
		assert_int_equal(groups[i].stack, wanted[i][1]);
	}
}

static void groups_are_of_one_kernel_at_one_place(void **state)
{
	(void)state;
	assert_int_equal(MAKE(OPEN(1, KERNEL, X, 10), OPEN(2, KERNEL, Y, 10), OPEN(3, KERNEL, X, 11), OPEN(4, KERNEL, X, 10),
			      DONE(5, X, 12)), 4);
	IS({X, 10}, {Y, 10}, {X, 11});
	assert_int_equal(groups[0].count, 2);
	assert_int_equal(groups[0].done, 1);
	assert_int_equal(groups[0].here, 0);
	assert_int_equal(groups[1].done, 0);
}

static void older_ones_first(void **state)
{
	(void)state;
	MAKE(OPEN(3, KERNEL, X, 10), OPEN(2, KERNEL, Y, 10), OPEN(1, KERNEL, X, 10));
	IS({X, 10}, {Y, 10});
	assert_int_equal(groups[0].first_ns, 1);
}

static void what_computes_comes_before_copies(void **state)
{
	(void)state;
	MAKE(OPEN(1, COPY, X, 10), OPEN(2, KERNEL, Y, 10), OPEN(3, GRAPH, Z, 10));
	IS({Y, 10}, {Z, 10}, {X, 10});
	/* Even what ran well from there. */
	MAKE(DONE(1, Y, 10), OPEN(2, KERNEL, Y, 10), OPEN(3, SET, X, 10));
	IS({Y, 10}, {X, 10});
}

static void what_never_ran_well_from_there_comes_first(void **state)
{
	(void)state;
	MAKE(DONE(1, X, 10), OPEN(2, KERNEL, X, 10), OPEN(3, KERNEL, Z, 10));
	IS({Z, 10}, {X, 10});
	assert_int_equal(groups[1].here, 1);
	/* Another kernel that did from there says nothing, */
	MAKE(DONE(1, X, 10), OPEN(2, KERNEL, Y, 10), OPEN(3, KERNEL, Z, 11));
	IS({Y, 10}, {Z, 11});
	assert_int_equal(groups[0].done, 0);
	/* nor does the same from elsewhere, */
	MAKE(DONE(1, X, 10), OPEN(2, KERNEL, X, 11), OPEN(3, KERNEL, Z, 11));
	IS({X, 11}, {Z, 11});
	/* nor do launches that are not known to be done. */
	MAKE(OPEN(1, KERNEL, X, 10), OPEN(2, KERNEL, X, 10));
	assert_int_equal(groups[0].done, 0);
}

/* --- places --- */

static uint32_t module(const char *path)
{
	struct gs_module made = {.path = gs_string_intern(path)};
	uint32_t number = 0;

	assert_int_equal(gs_module_add(&made, &number), GS_OK);
	return number;
}

static uint32_t inner(uint32_t parent, const struct gs_frame *frame)
{
	uint32_t number = 0, node = 0;

	assert_int_equal(gs_frame_intern(frame, &number), GS_OK);
	assert_int_equal(gs_node_intern(parent, number, &node), GS_OK);
	return node;
}

static uint32_t native(uint32_t parent, uint32_t in, uint64_t offset)
{
	return inner(parent, &(struct gs_frame){.kind = GS_FRAME_NATIVE, .file = in, .offset = offset});
}

static uint32_t python(uint32_t parent, const char *file, uint32_t line)
{
	return inner(parent, &(struct gs_frame){.kind = GS_FRAME_PYTHON, .file = gs_string_intern(file), .line = line,
						.function = gs_string_intern("f")});
}

static const char *place(uint32_t stack)
{
	static char line[128];
	struct gsb_text text;

	gsb_text_init(&text, line, sizeof(line));
	gs_place_add(&text, stack);
	return line;
}

static void a_place_is_the_programs_own(void **state)
{
	uint32_t program = module("/bin/program"), runtime = module("/lib/libcudart.so.13");
	uint32_t main_at = native(0, program, 0x10), stack = native(native(main_at, program, 0x20), runtime, 0x30);

	(void)state;
	assert_string_equal(place(0), "an unknown place");
	assert_string_equal(place(native(0, runtime, 0x40)), "an unknown place");
	assert_string_equal(place(native(0, 0, 0x50)), "an unknown place"); /* generated code */
	assert_string_equal(place(stack), "program+0x20");
	stack = python(python(main_at, "/home/train.py", 1), "/home/model.py", 2);
	assert_string_equal(place(native(stack, program, 0x60)), "model.py:2 (f)");
	stack = python(python(stack, "/x/site-packages/torch/nn.py", 3), "/x/lib/python3.11/y.py", 4);
	assert_string_equal(place(native(stack, program, 0x60)), "model.py:2 (f)");
	stack = python(python(main_at, "<string>", 5), "/x/lib/python3.11/y.py", 6);
	assert_string_equal(place(native(stack, program, 0x60)), "y.py:6 (f)");
	/* The number of a text is none of a module. */
	for (unsigned i = 0; i < 20000; i++) {
		char text[16];

		snprintf(text, sizeof(text), "text %u", i);
		gs_string_intern(text);
	}
	assert_string_equal(place(python(main_at, "/x/lib/python3.11/z.py", 7)), "z.py:7 (f)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(groups_are_of_one_kernel_at_one_place),
	    cmocka_unit_test(older_ones_first),
	    cmocka_unit_test(what_computes_comes_before_copies),
	    cmocka_unit_test(what_never_ran_well_from_there_comes_first),
	    cmocka_unit_test(a_place_is_the_programs_own),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("candidates and places", tests, NULL, NULL);
}
