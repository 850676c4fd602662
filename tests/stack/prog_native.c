/* Native stacks in a program without Python: right frames, the same number for the same stack, nothing of the program
 * disturbed, and no stale memory when a library takes over the addresses of another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/stack/probe.h"

#define PYTHON 1
#define NATIVE 2
#define FRAMES_MAX 64
#define TEXT_BYTES 16384
#define NOINLINE __attribute__((noinline))

struct seen {
	unsigned count;
	struct {
		char module[256];
		unsigned long long offset;
	} frames[FRAMES_MAX]; /* innermost first */
};

static void seen_parse(struct seen *seen, const char *text)
{
	const char *line = text + strlen(text);

	seen->count = 0;
	while (line > text && seen->count < FRAMES_MAX) {
		for (line--; line > text && line[-1] != '\n'; line--)
			;
		assert_int_equal(sscanf(line, "N %255[^|]|%llx", seen->frames[seen->count].module,
					&seen->frames[seen->count].offset),
				 2);
		seen->count++;
	}
}

static uintptr_t program_base(void)
{
	Dl_info info;

	assert_int_not_equal(dladdr((void *)program_base, &info), 0);
	return (uintptr_t)info.dli_fbase;
}

/* Return addresses as the compiler knows them, innermost first. */
static struct {
	unsigned count;
	uintptr_t addresses[8];
} known;

static char text[TEXT_BYTES];

#define KNOW() known.addresses[known.count++] = (uintptr_t)__builtin_return_address(0)

static NOINLINE void capture(void)
{
	known.count = 0;
	KNOW();
	assert_true(probe_capture(text, sizeof(text), 0) > 0);
}

static NOINLINE void inner(void)
{
	capture();
	KNOW();
}

static NOINLINE void middle(int way)
{
	if (way == 0)
		inner();
	else
		inner();
	KNOW();
}

static NOINLINE void outer(int way)
{
	middle(way);
	KNOW();
}

static void compare_known(const struct seen *seen)
{
	uintptr_t base = program_base();

	assert_true(seen->count > known.count);
	/* Frame 0 is the place in capture() itself. */
	for (unsigned at = 0; at < known.count; at++)
		assert_int_equal(seen->frames[at + 1].offset, known.addresses[at] - base);
}

static void test_undisturbed(void **state)
{
	char counters[128];

	(void)state;
	dlsym(RTLD_DEFAULT, "no_such_function_anywhere");
	errno = 4711;
	probe_init(PYTHON);
	assert_int_equal(probe_capture(text, sizeof(text), 0), 0);
	assert_int_equal(errno, 4711);
	assert_non_null(strstr(dlerror(), "no_such_function_anywhere"));
	probe_init(PYTHON | NATIVE);
	errno = 4711;
	assert_true(probe_capture(text, sizeof(text), 0) > 0);
	assert_int_equal(errno, 4711);
	assert_null(dlerror());
	probe_counters(counters, sizeof(counters));
	assert_non_null(strstr(counters, "|none|"));
	print_message("# %s\n", counters);
}

static void test_frames(void **state)
{
	char first[TEXT_BYTES], self[256];
	struct seen seen;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	for (int way = 0; way < 2; way++) {
		for (int again = 0; again < 3; again++) {
			outer(0); /* the same call site each time */
			strcpy(first, text);
		}
		assert_string_equal(first, text);
		outer(way);
		seen_parse(&seen, text);
		compare_known(&seen);
		assert_true(length > 0);
		self[length] = '\0';
		assert_string_equal(seen.frames[0].module, self);
		assert_non_null(strstr(seen.frames[seen.count - 2].module, "libc"));
	}
	assert_string_not_equal(first, text);
}

/* Ways through two functions, one bit a turn: more of them than a thread finds at once. */
enum { TURNS = 12, WAYS = 1 << TURNS, WAYS_AT_ONCE = 1500 };

static volatile unsigned turned; /* so that no call is the last thing that a function does */
static unsigned long long sites[2];

static NOINLINE void go(unsigned way, unsigned turns);

static NOINLINE void left(unsigned way, unsigned turns)
{
	go(way, turns);
	turned += 1;
}

static NOINLINE void right(unsigned way, unsigned turns)
{
	go(way, turns);
	turned += 2;
}

static NOINLINE void go(unsigned way, unsigned turns)
{
	if (turns == 0)
		assert_true(probe_capture(text, sizeof(text), 0) > 0);
	else if ((way & 1) == 0)
		left(way >> 1, turns - 1);
	else
		right(way >> 1, turns - 1);
	turned += 3;
}

/* Every other frame is a turn; the last one lies innermost. */
static void way_check(unsigned way)
{
	struct seen seen;

	go(way, TURNS);
	seen_parse(&seen, text);
	assert_true(seen.count > 2 * TURNS);
	for (unsigned turn = 0; turn < TURNS; turn++)
		assert_int_equal(seen.frames[2 * (TURNS - turn) - 1].offset, sites[way >> turn & 1]);
}

static void test_many(void **state)
{
	(void)state;
	for (unsigned way = 0; way < 2; way++) {
		struct seen seen;

		go(way, 1);
		seen_parse(&seen, text);
		sites[way] = seen.frames[1].offset;
	}
	assert_int_not_equal(sites[0], sites[1]);
	for (unsigned begin = 0; begin < WAYS; begin += WAYS_AT_ONCE)
		for (unsigned again = 0; again < 3; again++)
			for (unsigned way = begin; way < begin + WAYS_AT_ONCE && way < WAYS; way++)
				way_check(way);
}

static void *thread_main(void *argument)
{
	char *own = malloc(TEXT_BYTES), *one = malloc(TEXT_BYTES);
	bool equal = true;

	(void)argument;
	for (int at = 0; at < 2000 && equal; at++) {
		if (probe_capture(own, TEXT_BYTES, 0) <= 0)
			equal = false;
		if (at == 0)
			strcpy(one, own);
		equal = equal && strcmp(one, own) == 0;
	}
	free(own);
	free(one);
	return equal ? NULL : "two different stacks for one place";
}

static void test_threads(void **state)
{
	pthread_t threads[6];
	void *complaint;

	(void)state;
	for (unsigned at = 0; at < 6; at++)
		assert_int_equal(pthread_create(&threads[at], NULL, thread_main, NULL), 0);
	for (unsigned at = 0; at < 6; at++) {
		pthread_join(threads[at], &complaint);
		assert_null(complaint);
	}
	for (unsigned at = 0; at < 100; at++)
		assert_true(probe_capture_in_thread(text, sizeof(text)) > 0);
}

static void capture_below(void *user)
{
	(void)user;
	capture();
	__asm__ volatile(""); /* no tail call */
}

/* Below a signal handler it is not our own walk that serves. */
static void capture_signalled(int number)
{
	(void)number;
	capture();
	__asm__ volatile(""); /* no tail call */
}

static void under_signal(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	raise(SIGUSR1);
}

static void (*library_open(const char *name, void **ret_handle))(void (*)(void *), void *)
{
	char path[512];
	Dl_info info;

	assert_int_not_equal(dladdr((void *)probe_init, &info), 0);
	snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname,
		 name);
	*ret_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(*ret_handle);
	return (void (*)(void (*)(void *), void *))dlsym(*ret_handle, "through_library");
}

static void test_takeover(void **state)
{
	void (*first)(void (*)(void *), void *), (*second)(void (*)(void *), void *);
	void *handle;
	char counters[128];
	struct seen seen;

	(void)state;
	first = library_open("lib_first.so", &handle);
	for (int again = 0; again < 3; again++)
		first(capture_below, NULL);
	seen_parse(&seen, text);
	assert_non_null(strstr(seen.frames[2].module, "lib_first.so"));
	assert_int_equal(dlclose(handle), 0);
	second = library_open("lib_second.so", &handle);
	if ((uintptr_t)second - (uintptr_t)first + 4096 > 8192) {
		print_message("# the second library lies elsewhere\n");
		skip();
	}
	for (int again = 0; again < 3; again++) {
		second(capture_below, NULL);
		seen_parse(&seen, text);
		assert_non_null(strstr(seen.frames[2].module, "lib_second.so"));
		assert_non_null(strstr(seen.frames[3].module, "prog_native"));
		assert_non_null(strstr(seen.frames[seen.count - 2].module, "libc"));
	}
	under_signal(capture_signalled);
	seen_parse(&seen, text);
	assert_non_null(strstr(seen.frames[0].module, "prog_native"));
	probe_counters(counters, sizeof(counters));
	assert_non_null(strstr(counters, "|backtrace"));
	outer(0);
	seen_parse(&seen, text);
	compare_known(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_undisturbed),
	    cmocka_unit_test(test_frames),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_takeover),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
