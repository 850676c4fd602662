/* A program that claims to be a Python of some version: right layouts are used, unknown or wrong ones are refused,
 * and whatever the memory holds, nothing crashes. Each case is a process of its own, as a layout is judged once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/stack/probe.h"

#define EXPORT __attribute__((visibility("default")))
#define OBJECT_BYTES 512

/* What an interpreter exports. */
EXPORT unsigned long Py_Version;
EXPORT char PyCode_Type[64], PyUnicode_Type[64], PyBytes_Type[64];
EXPORT uint64_t _PyRuntime[128];
EXPORT char *PyGILState_GetThisThreadState(void);

static char state[OBJECT_BYTES] __attribute__((aligned(16)));
static char cframe[OBJECT_BYTES] __attribute__((aligned(16)));
static char frames[3][OBJECT_BYTES] __attribute__((aligned(16)));
static char code[OBJECT_BYTES] __attribute__((aligned(16)));
static char name[OBJECT_BYTES] __attribute__((aligned(16)));
static char line_table[OBJECT_BYTES] __attribute__((aligned(16)));

EXPORT char *PyGILState_GetThisThreadState(void)
{
	return state;
}

/* What libtorch_cpu.so exports: the number of the next operation, the thread's number, the operation that runs. */
EXPORT uint64_t fake_sequence(void) __asm__("_ZN2at15sequence_number4peekEv");
EXPORT uint64_t fake_thread(void) __asm__("_ZN2at14RecordFunction15currentThreadIdEv");
EXPORT void *fake_node(const void **ret) __asm__("_ZN5torch8autograd16get_current_nodeEv");

static uint64_t sequence = 11, thread = 3;
static struct {
	uint64_t words[16];
} node;
static struct {
	uint64_t vtable;
	int uses, weak;
} node_counts = {.uses = 1};
static bool node_runs;

EXPORT uint64_t fake_sequence(void)
{
	return sequence;
}

EXPORT uint64_t fake_thread(void)
{
	return thread;
}

EXPORT void *fake_node(const void **ret)
{
	ret[0] = node_runs ? &node : NULL;
	ret[1] = node_runs ? &node_counts : NULL;
	node_counts.uses += node_runs;
	return ret;
}

static void put(char *object, size_t offset, const void *pointer)
{
	memcpy(object + offset, &pointer, sizeof(pointer));
}

static void put_word(char *object, size_t offset, uint64_t word)
{
	memcpy(object + offset, &word, sizeof(word));
}

static void put_int(char *object, size_t offset, uint32_t number)
{
	memcpy(object + offset, &number, sizeof(number));
}

/* One code object "f" in file "f" with first line 7, whose table says that its first instruction is on line 8. */
static void code_make(size_t ascii_at, size_t first_line_at)
{
	put_word(name, 0, 1);
	put(name, 8, PyUnicode_Type);
	put_word(name, 16, 1);
	put_int(name, 32, 1 << 2 | 1 << 5 | 1 << 6);
	strcpy(name + ascii_at, "f");
	put_word(line_table, 0, 1);
	put(line_table, 8, PyBytes_Type);
	put_word(line_table, 16, 2);
	memcpy(line_table + 32, (const char[]){(char)(0x80 | 11 << 3), 0}, 2);
	put_word(code, 0, 1);
	put(code, 8, PyCode_Type);
	put_int(code, first_line_at, 7);
	put(code, 112, name);
	put(code, 120, name);
	put(code, 128, name);
	put(code, 136, line_table);
}

static void make_3_12(void)
{
	Py_Version = 0x030c01f0;
	code_make(40, 68);
	put(state, 56, cframe);
	put(cframe, 0, frames[0]);
	put(frames[0], 0, code);
	put(frames[0], 56, code + 192);
}

/* The words of _Py_DebugOffsets in 3.14: struct sizes and offsets. */
static void make_3_14(void)
{
	static const uint16_t words[][2] = {{22, 300}, {26, 72},  {31, 96},  {32, 8},	{33, 0},   {34, 56}, {36, 74},
					    {39, 250}, {40, 112}, {41, 120}, {42, 128}, {43, 136}, {44, 68}, {48, 208}};

	Py_Version = 0x030e00f0;
	memcpy(_PyRuntime, "xdebugpy", 8);
	_PyRuntime[1] = Py_Version;
	for (size_t at = 0; at < sizeof(words) / sizeof(words[0]); at++)
		_PyRuntime[words[at][0]] = words[at][1];
	code_make(40, 68);
	put(state, 72, frames[0]);
	put(frames[0], 8, frames[1]);
	put(frames[0], 0, code + 1);
	put(frames[0], 56, code + 208);
	frames[1][74] = 3; /* the interpreter's own: what it holds is not looked at */
	put(frames[1], 0, (void *)16);
	put(frames[1], 8, frames[2]);
	frames[2][74] = 4;
	put(frames[2], 0, NULL);
}

struct outcome {
	char python[64];
	char text[200000];
};

/* Of two captures, the second one. */
static struct outcome *outcome_between(void (*make)(void), void (*between)(void))
{
	static struct outcome outcome;
	size_t got = 0;
	ssize_t step;
	int ends[2], status;
	pid_t child;

	memset(&outcome, 0, sizeof(outcome));
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		char counters[128];

		make();
		probe_init(1);
		probe_capture(outcome.text, sizeof(outcome.text), 0);
		if (between != NULL)
			between();
		probe_capture(outcome.text, sizeof(outcome.text), 0);
		probe_counters(counters, sizeof(counters));
		sscanf(counters, "%*[^|]|%63[^|]", outcome.python);
		for (size_t sent = 0; sent < sizeof(outcome); sent += (size_t)step)
			if ((step = write(ends[1], (char *)&outcome + sent, sizeof(outcome) - sent)) <= 0)
				break;
		_exit(0);
	}
	close(ends[1]);
	while ((step = read(ends[0], (char *)&outcome + got, sizeof(outcome) - got)) > 0)
		got += (size_t)step;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(got, sizeof(outcome));
	return &outcome;
}

static struct outcome *outcome_of(void (*make)(void))
{
	return outcome_between(make, NULL);
}

static void test_right(void **unused)
{
	struct outcome *outcome = outcome_of(make_3_12);

	(void)unused;
	assert_string_equal(outcome->python, "3.12 (table)");
	assert_string_equal(outcome->text, "P f|f|8\n");
	outcome = outcome_of(make_3_14);
	assert_string_equal(outcome->python, "3.14 (offsets)");
	assert_string_equal(outcome->text, "P f|f|8\n");
}

static void make_endless(void)
{
	make_3_12();
	put(frames[0], 8, frames[0]);
}

static void test_endless(void **unused)
{
	struct outcome *outcome = outcome_of(make_endless);
	unsigned lines = 0;

	(void)unused;
	for (const char *at = outcome->text; *at != '\0'; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 1024);
}

static void make_no_frames(void)
{
	make_3_12();
	put(cframe, 0, NULL);
}

static void test_no_frames(void **unused)
{
	struct outcome *outcome = outcome_of(make_no_frames);

	(void)unused;
	assert_string_equal(outcome->python, "none");
	assert_string_equal(outcome->text, "");
}

/* --- wrong ones --- */

static void make_3_8(void)
{
	make_3_12();
	Py_Version = 0x030812f0;
}

static void make_3_15(void)
{
	make_3_14();
	Py_Version = _PyRuntime[1] = 0x030f00f0;
}

static void make_no_cookie(void)
{
	make_3_14();
	memcpy(_PyRuntime, "xdebugpx", 8);
}

static void make_other_version(void)
{
	make_3_14();
	_PyRuntime[1] = 0x030d00f0;
}

static void make_free_threaded(void)
{
	make_3_14();
	_PyRuntime[2] = 1;
}

static void make_offset_outside(void)
{
	make_3_14();
	_PyRuntime[26] = 300;
}

static void make_unmapped_frame(void)
{
	make_3_12();
	put(cframe, 0, (void *)0x7fff12345670);
}

static void make_odd_frame(void)
{
	make_3_12();
	put(cframe, 0, frames[0] + 1);
}

static void make_unmapped_previous(void)
{
	make_3_12();
	put(frames[0], 8, (void *)8);
}

static void make_null_code(void)
{
	make_3_12();
	put(frames[0], 0, NULL);
}

static void make_no_code(void)
{
	make_3_12();
	put(code, 8, PyUnicode_Type);
}

static void make_no_text(void)
{
	make_3_12();
	put(name, 8, PyBytes_Type);
}

static void make_long_text(void)
{
	make_3_12();
	put_word(name, 16, (uint64_t)1 << 40);
}

static void make_unended_text(void)
{
	make_3_12();
	strcpy(name + 40, "ff");
}

static void make_no_lines(void)
{
	make_3_12();
	put(code, 136, name);
}

static void make_instruction_outside(void)
{
	make_3_12();
	put(frames[0], 56, (const void *)((uintptr_t)name - (128 << 20)));
}

static void make_dead_code(void)
{
	make_3_12();
	put_word(code, 0, 0);
}

static void test_wrong(void **unused)
{
	static const struct {
		void (*make)(void);
		const char *python;
	} cases[] = {
	    {make_3_8, "3.8 (refused)"},
	    {make_3_15, "3.15 (refused)"},
	    {make_no_cookie, "3.14 (refused)"},
	    {make_other_version, "3.14 (refused)"},
	    {make_free_threaded, "3.14t (refused)"},
	    {make_offset_outside, "3.14 (refused)"},
	    {make_unmapped_frame, "3.12 (refused)"},
	    {make_odd_frame, "3.12 (refused)"},
	    {make_unmapped_previous, "3.12 (refused)"},
	    {make_null_code, "3.12 (refused)"},
	    {make_no_code, "3.12 (refused)"},
	    {make_no_text, "3.12 (refused)"},
	    {make_long_text, "3.12 (refused)"},
	    {make_unended_text, "3.12 (refused)"},
	    {make_no_lines, "3.12 (refused)"},
	    {make_instruction_outside, "3.12 (refused)"},
	    {make_dead_code, "3.12 (refused)"},
	};

	(void)unused;
	for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
		struct outcome *outcome = outcome_of(cases[at].make);

		if (strcmp(outcome->python, cases[at].python) != 0)
			print_message("# case %zu\n", at);
		assert_string_equal(outcome->python, cases[at].python);
		assert_string_equal(outcome->text, "");
	}
}

/* --- PyTorch's backward operations --- */

static void make_forward(void)
{
	make_3_12();
	probe_forward();
}

/* The thread has no Python frames, and runs the operation of this number that this thread made. */
static void backward_begin(uint64_t made_as, uint64_t made_by)
{
	put(cframe, 0, NULL);
	sequence = 500; /* the forward pass has gone on */
	thread = 9;
	node_runs = true;
	node.words[3] = made_as;
	node.words[6] = made_by;
}

static void backward_known(void)
{
	backward_begin(10, 3);
}

static void backward_of_other(void)
{
	backward_begin(11, 3);
}

static void backward_of_other_thread(void)
{
	backward_begin(10, 4);
}

static void backward_later(void)
{
	char text[100];

	/* What comes under the same number later, from another line, is not the operation's. */
	put(frames[0], 56, code + 200);
	line_table[32] = (char)(0x80 | 12 << 3);
	probe_capture(text, sizeof(text), 0);
	backward_begin(10, 3);
}

static void backward_twice(void)
{
	char text[100];

	backward_begin(10, 3);
	for (int i = 0; i < 5; i++)
		probe_capture(text, sizeof(text), 0);
	if (node_counts.uses != 1)
		_exit(1);
}

static void backward_outside(void)
{
	backward_begin(10, 3);
	node_runs = false;
}

static void test_backward(void **unused)
{
	static const struct {
		void (*between)(void);
		const char *text;
	} cases[] = {
	    {backward_known, "P f|f|8\nP backward|<autograd>|0\n"},
	    {backward_of_other, ""},
	    {backward_of_other_thread, ""},
	    {backward_later, "P f|f|8\nP backward|<autograd>|0\n"},
	    {backward_twice, "P f|f|8\nP backward|<autograd>|0\n"},
	    {backward_outside, ""},
	};

	(void)unused;
	for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++)
		assert_string_equal(outcome_between(make_forward, cases[at].between)->text, cases[at].text);
	assert_string_equal(outcome_between(make_3_12, backward_known)->text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_right),
	    cmocka_unit_test(test_endless),
	    cmocka_unit_test(test_no_frames),
	    cmocka_unit_test(test_wrong),
	    cmocka_unit_test(test_backward),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
