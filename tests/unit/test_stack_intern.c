/* shim/stack/intern.c and table.c: equal things get equal numbers, numbers are dense and stay readable while others
 * add, and running out of memory at any point loses only the new thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/err.h"
#include "shim/base/fault.h"
#include "shim/stack/intern.h"

#define MANY 20000u

static void text_of(char *text, size_t capacity, unsigned number)
{
	snprintf(text, capacity, "text %u of %s", number, number % 3 == 0 ? "a rather long family of texts" : "many");
}

static void test_nothing(void **state)
{
	struct gs_frame frame = {.line = 7};
	struct gs_module module = {.path = 7};
	uint32_t parent = 7, of_frame = 7;

	(void)state;
	assert_int_equal(gs_stack_count(), 1);
	assert_int_equal(gs_frame_count(), 1);
	assert_int_equal(gs_string_count(), 1);
	assert_int_equal(gs_module_count(), 1);
	gs_stack_read(0, &parent, &of_frame);
	gs_frame_read(0, &frame);
	gs_module_read(0, &module);
	assert_int_equal(parent, 0);
	assert_int_equal(of_frame, 0);
	assert_int_equal(frame.kind, GS_FRAME_NONE);
	assert_int_equal(frame.line, 0);
	assert_int_equal(module.path, 0);
	assert_string_equal(gs_string_read(0), "");
	assert_int_equal(gs_string_intern(""), 0);
	assert_int_equal(gs_string_count(), 1);
}

static void test_strings(void **state)
{
	static uint32_t numbers[MANY];
	char text[96];

	(void)state;
	for (unsigned at = 0; at < MANY; at++) {
		text_of(text, sizeof(text), at);
		numbers[at] = gs_string_intern(text);
		assert_int_equal(numbers[at], at + 1);
	}
	for (unsigned at = 0; at < MANY; at++) {
		text_of(text, sizeof(text), at);
		assert_int_equal(gs_string_intern(text), numbers[at]);
		assert_string_equal(gs_string_read(numbers[at]), text);
	}
	assert_int_equal(gs_string_count(), MANY + 1);
	assert_int_equal(gs_string_intern_bytes("text 1 of many and more", 14), numbers[1]);
}

static void test_long_string(void **state)
{
	size_t length = GS_STRING_BYTES_MAX + 100;
	char *text = malloc(length + 1);
	uint32_t number;

	(void)state;
	memset(text, 'x', length);
	text[length] = '\0';
	memcpy(text + GS_STRING_BYTES_MAX - 1, "\xc3\xa9", 2); /* one character across the cut */
	number = gs_string_intern(text);
	assert_int_equal(strlen(gs_string_read(number)), GS_STRING_BYTES_MAX - 1);
	assert_memory_equal(gs_string_read(number), text, GS_STRING_BYTES_MAX - 1);
	free(text);
}

static void test_tree(void **state)
{
	uint32_t numbers[500], frames[500], again, parent = 0, of_frame = 0;
	size_t stacks_before, frames_before;

	(void)state;
	for (unsigned at = 0; at < 500; at++) {
		struct gs_frame frame = {.kind = GS_FRAME_PYTHON, .function = at, .file = at / 7, .line = 500 - at};

		assert_int_equal(gs_frame_intern(&frame, &frames[at]), GS_OK);
		assert_int_equal(gs_node_intern(at == 0 ? 0 : numbers[at - 1], frames[at], &numbers[at]), GS_OK);
	}
	stacks_before = gs_stack_count();
	frames_before = gs_frame_count();
	for (unsigned at = 500; at-- > 0;) {
		struct gs_frame frame = {.kind = GS_FRAME_PYTHON, .function = at, .file = at / 7, .line = 500 - at};

		assert_int_equal(gs_frame_intern(&frame, &again), GS_OK);
		assert_int_equal(again, frames[at]);
		assert_int_equal(gs_node_intern(at == 0 ? 0 : numbers[at - 1], frames[at], &again), GS_OK);
		assert_int_equal(again, numbers[at]);
		gs_stack_read(numbers[at], &parent, &of_frame);
		assert_int_equal(parent, at == 0 ? 0 : numbers[at - 1]);
		assert_int_equal(of_frame, frames[at]);
		assert_true(parent < numbers[at]);
		gs_frame_read(of_frame, &frame);
		assert_int_equal(frame.function, at);
		assert_int_equal(frame.line, 500 - at);
	}
	assert_int_equal(gs_stack_count(), stacks_before);
	assert_int_equal(gs_frame_count(), frames_before);

	/* The same frame under another parent is another stack; each field counts. */
	assert_int_equal(gs_node_intern(numbers[3], frames[9], &again), GS_OK);
	assert_int_equal(again, stacks_before);
	struct gs_frame native = {.kind = GS_FRAME_NATIVE, .offset = 64}, other = native;

	other.file = 1;
	assert_int_equal(gs_frame_intern(&native, &frames[0]), GS_OK);
	assert_int_equal(gs_frame_intern(&other, &frames[1]), GS_OK);
	assert_int_not_equal(frames[0], frames[1]);
}

/* Fails the Nth page request until none fails any more: what was known stays, what is new is refused or kept whole. */
static void test_no_memory(void **state)
{
	unsigned fired = 1, rounds = 0;

	(void)state;
	for (unsigned passes = 0; fired > 0; passes++, rounds++) {
		size_t before = gs_string_count();

		gsb_fault_arm(GSB_FAULT_STACK, passes, 1);
		errno = 4711;
		for (unsigned at = 0; at < 5000; at++) {
			struct gs_frame frame = {.kind = GS_FRAME_NATIVE, .offset = 1000000 * (passes + 1) + at};
			char text[64];
			uint32_t frame_number, node, string;

			snprintf(text, sizeof(text), "round %u text %u", passes, at);
			string = gs_string_intern(text);
			assert_true(string < gs_string_count());
			if (string != 0)
				assert_string_equal(gs_string_read(string), text);
			if (gs_frame_intern(&frame, &frame_number) != GS_OK)
				continue;
			gs_frame_read(frame_number, &frame);
			assert_int_equal(frame.offset, 1000000 * (passes + 1) + at);
			if (gs_node_intern(0, frame_number, &node) == GS_OK)
				assert_true(node < gs_stack_count());
		}
		assert_int_equal(errno, 4711);
		fired = gsb_fault_fired(GSB_FAULT_STACK);
		gsb_fault_arm(GSB_FAULT_STACK, 0, 0);
		assert_true(gs_string_count() - before >= 5000 - fired);
		assert_string_equal(gs_string_read(2), "text 1 of many");
	}
	assert_true(rounds > 4);
}

/* Runs the node table full. */
static void test_bound(void **state)
{
	uint32_t node = 0, last = 0;
	int error = GS_OK;

	(void)state;
	for (uint32_t at = 1; error == GS_OK; at++) {
		error = gs_node_intern(1, 0x40000000 + at, &node);
		if (error == GS_OK)
			last = node;
	}
	assert_int_equal(error, GS_E_LIMIT);
	assert_int_equal(node, last);
	assert_int_equal(last + 1, gs_stack_count());
	assert_int_equal(gs_node_intern(1, 0x40000001, &node), GS_OK);
}

static atomic_bool readers_stop;

static void *reader_main(void *argument)
{
	uint64_t *checked = argument;

	do {
		for (size_t at = gs_string_count(); at-- > 0; (*checked)++)
			if (strnlen(gs_string_read((uint32_t)at), GS_STRING_BYTES_MAX + 1) == 0 && at != 0)
				return "an empty text";
	} while (!atomic_load(&readers_stop));
	return NULL;
}

static void *adder_main(void *argument)
{
	char text[64];

	for (unsigned at = 0; at < MANY; at++) {
		snprintf(text, sizeof(text), "shared %u", at);
		((uint32_t *)argument)[at] = gs_string_intern(text);
	}
	return NULL;
}

static void test_threads(void **state)
{
	static uint32_t numbers[2][MANY];
	pthread_t reader, adders[2];
	uint64_t checked = 0;
	void *complaint;

	(void)state;
	assert_int_equal(pthread_create(&reader, NULL, reader_main, &checked), 0);
	for (unsigned at = 0; at < 2; at++)
		assert_int_equal(pthread_create(&adders[at], NULL, adder_main, numbers[at]), 0);
	for (unsigned at = 0; at < 2; at++)
		pthread_join(adders[at], NULL);
	atomic_store(&readers_stop, true);
	pthread_join(reader, &complaint);
	assert_null(complaint);
	assert_memory_equal(numbers[0], numbers[1], sizeof(numbers[0]));
	assert_true(checked > MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing), cmocka_unit_test(test_strings), cmocka_unit_test(test_long_string),
	    cmocka_unit_test(test_tree),    cmocka_unit_test(test_threads), cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_bound),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
