/* Our own walk up the stack against the C library's backtrace(): the same frames for every shape of frame and stack, or
 * none at all, and never a crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/stack/probe.h"

#define PYTHON_AND_NATIVE 3
#define FRAMES_MAX 128
#define STACK_BYTES (256u << 10)
#define NOINLINE __attribute__((noinline, noclone))
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static size_t walked;		  /* frames of the last walk */
static unsigned walks, given_up; /* walks compared, and walks without an answer */

static bool in_program(const void *address)
{
	Dl_info info, program;

	return dladdr(address, &info) != 0 && dladdr((void *)in_program, &program) != 0 &&
	       info.dli_fbase == program.dli_fbase;
}

/* Both begin in this function, at two places; a sanitizer has a frame of its own below the one of backtrace(). */
static NOINLINE void compare(void)
{
	uint64_t own[FRAMES_MAX];
	void *room[FRAMES_MAX + 1], **others = room;
	int count = backtrace(room, FRAMES_MAX + 1);

	if (count > 0 && !in_program(room[0])) {
		others++;
		count--;
	}
	if (count > FRAMES_MAX)
		count = FRAMES_MAX;
	walked = probe_walk(own, FRAMES_MAX);
	if (walked == 0) {
		given_up++;
		return;
	}
	walks++;
	assert_int_equal(walked, count);
	for (size_t at = 1; at < walked; at++)
		assert_int_equal(own[at], (uintptr_t)others[at]);
}

static NOINLINE void recurse(unsigned depth)
{
	if (depth == 0)
		compare();
	else
		recurse(depth - 1);
	NO_TAIL_CALL();
}

static NOINLINE void other_way(unsigned depth)
{
	recurse(depth);
	NO_TAIL_CALL();
}

static NOINLINE void with_variable(size_t bytes, unsigned depth)
{
	volatile char *room = alloca(bytes);

	room[0] = room[bytes - 1] = 1;
	if (depth == 0)
		compare();
	else
		with_variable(bytes * 2 + 24, depth - 1);
	NO_TAIL_CALL();
}

static NOINLINE void realigned(size_t bytes, unsigned depth)
{
	volatile __attribute__((aligned(128))) char room[128];
	volatile char *more = alloca(bytes);

	room[0] = more[0] = 1;
	if (depth == 0 && room[0] == more[0])
		compare();
	else if (depth % 2 == 0)
		realigned(bytes + 40, depth - 1);
	else
		with_variable(bytes, depth - 1);
	NO_TAIL_CALL();
}

static NOINLINE __attribute__((optimize("omit-frame-pointer"))) unsigned without_pointer(unsigned a, unsigned b,
											 unsigned depth)
{
	unsigned numbers[16] = {a, b};

	if (depth == 0)
		compare();
	else
		numbers[b % 16] = without_pointer(b, a + depth, depth - 1);
	NO_TAIL_CALL();
	return numbers[a % 16] + a * b;
}

static int by_library(const void *a, const void *b)
{
	compare();
	return *(const int *)a - *(const int *)b;
}

static void begin(void)
{
	walks = given_up = 0;
}

static void test_shapes(void **state)
{
	int numbers[] = {3, 1, 2};

	(void)state;
	begin();
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned depth = 0; depth < 20; depth++)
			recurse(depth);
		recurse(60);
		other_way(4);
		other_way(60);
		with_variable(1, 0);
		with_variable(1000 + round, 6);
		realigned(16, 0);
		realigned(16 + round * 48, 7);
		without_pointer(1, 2, 9);
		qsort(numbers, 3, sizeof(numbers[0]), by_library);
	}
	recurse(FRAMES_MAX * 2); /* cut at the same place */
	assert_int_equal(walked, FRAMES_MAX);
	assert_int_equal(given_up, 0);
	assert_true(walks > 80);
	assert_true(probe_trails_held() > 30);
}

/* The same place with the stack pointer and the frame pointer where they were, below other callers: what the trail holds for is told by
 * what lies above alone. */
static NOINLINE void aligned_below(void (*then)(void))
{
	volatile __attribute__((aligned(4096))) char room[4096];

	room[0] = 1;
	then();
	room[1] = room[0];
	NO_TAIL_CALL();
}

static NOINLINE void one_caller(void (*then)(void))
{
	aligned_below(then);
	NO_TAIL_CALL();
}

static NOINLINE void another_caller(void (*then)(void))
{
	volatile char room[64];

	room[0] = 1;
	aligned_below(then);
	room[1] = room[0];
	NO_TAIL_CALL();
}

static void test_other_callers(void **state)
{
	void (*const callers[])(void (*)(void)) = {one_caller, one_caller, another_caller, aligned_below};
	unsigned held = probe_trails_held();

	(void)state;
	begin();
	for (unsigned call = 0; call < 40; call++)
		callers[call % 4](compare);
	assert_int_equal(walks, 40);
	assert_true(probe_trails_held() >= held + 10);
}

static void *thread_main(void *argument)
{
	recurse(*(unsigned *)argument);
	realigned(32, 3);
	return NULL;
}

static void test_thread_ends(void **state)
{
	pthread_t thread;

	(void)state;
	begin();
	for (unsigned depth = 0; depth < 50; depth++) {
		assert_int_equal(pthread_create(&thread, NULL, thread_main, &depth), 0);
		pthread_join(thread, NULL);
	}
	assert_int_equal(given_up, 0);
}

/* A signal frame is not understood; the walk says so whatever lies around it. */
static void on_signal(int number)
{
	(void)number;
	compare();
	recurse(5);
}

static NOINLINE void raise_below(unsigned depth)
{
	if (depth > 0)
		raise_below(depth - 1);
	else
		raise(SIGUSR1);
	NO_TAIL_CALL();
}

static void test_signal(void **state)
{
	struct sigaction action = {.sa_handler = on_signal};
	stack_t other = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
	char text[8192];

	(void)state;
	begin();
	for (unsigned round = 0; round < 4; round++) {
		if (round == 2)
			assert_int_equal(sigaltstack(&other, NULL), 0);
		action.sa_flags = round >= 2 ? SA_ONSTACK : 0;
		assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
		raise_below(round * 3);
		recurse(3);
	}
	assert_int_equal(given_up, 8);
	assert_int_equal(walks, 4);
	probe_init(PYTHON_AND_NATIVE);
	assert_true(probe_capture(text, sizeof(text), 0) > 0);
	other.ss_flags = SS_DISABLE;
	assert_int_equal(sigaltstack(&other, NULL), 0);
	free(other.ss_sp);
}

static ucontext_t program, routine;

static void routine_main(void)
{
	for (unsigned depth = 1;; depth++) {
		recurse(depth % 7);
		with_variable(depth * 8, 2);
		swapcontext(&routine, &program);
	}
}

/* Coroutines take turns with the program, and their stacks go away and come back elsewhere and smaller. */
static void test_coroutines(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned round = 0; round < 40; round++) {
		size_t bytes = STACK_BYTES >> round % 3;
		char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_ptr_not_equal(stack, MAP_FAILED);
		getcontext(&routine);
		routine.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
		routine.uc_link = &program;
		makecontext(&routine, routine_main, 0);
		for (unsigned turn = 0; turn < 5; turn++) {
			swapcontext(&program, &routine);
			recurse(turn);
		}
		munmap(stack, bytes);
	}
	assert_int_equal(given_up, 0);
}

static jmp_buf back;

static NOINLINE void jump(bool now)
{
	if (now)
		longjmp(back, 1);
}

static NOINLINE void jump_out(unsigned depth)
{
	volatile char *room = alloca(64 + depth * 16);

	room[0] = 1;
	compare();
	jump(depth == 0);
	if (depth > 0)
		jump_out(depth - 1);
	NO_TAIL_CALL();
}

static void test_jumps(void **state)
{
	(void)state;
	begin();
	for (volatile unsigned round = 0; round < 20; round++) {
		if (setjmp(back) == 0)
			jump_out(round);
		recurse(round % 4);
	}
	assert_int_equal(given_up, 0);
}

/* What a module says of its frames may be wrong: here that a frame of 8 bytes ends 1 GiB, 2^31 bytes or no byte above,
 * at an odd address, or where rbp would lie if it were used as a pointer. */
#define WRONG(name, directive)                                                                                         \
	__asm__(".text\n.type " name ", @function\n" name ":\n.cfi_startproc\n"                                        \
		"sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n" directive "\ncall *%rdi\n"                                  \
		"add $8, %rsp\nret\n.cfi_endproc\n.size " name ", . - " name "\n")

WRONG("wrong_far", ".cfi_def_cfa_offset 0x40000000");
WRONG("wrong_beyond", ".cfi_def_cfa_offset 0x90000000");
WRONG("wrong_nothing", ".cfi_def_cfa_offset 0");
WRONG("wrong_odd", ".cfi_def_cfa_offset 17");
WRONG("wrong_register", ".cfi_def_cfa rbx, 16");
WRONG("wrong_sp", ".cfi_offset rsp, -24");
WRONG("wrong_saved", ".cfi_offset rbp, -4096");
WRONG("unknown_rule", ".cfi_register rip, rax");

void wrong_far(void (*callback)(void)) __asm__("wrong_far");
void wrong_beyond(void (*callback)(void)) __asm__("wrong_beyond");
void wrong_nothing(void (*callback)(void)) __asm__("wrong_nothing");
void wrong_odd(void (*callback)(void)) __asm__("wrong_odd");
void wrong_register(void (*callback)(void)) __asm__("wrong_register");
void wrong_sp(void (*callback)(void)) __asm__("wrong_sp");
void wrong_saved(void (*callback)(void)) __asm__("wrong_saved");
void unknown_rule(void (*callback)(void)) __asm__("unknown_rule");

static void walk_alone(void)
{
	uint64_t own[FRAMES_MAX];

	given_up += probe_walk(own, FRAMES_MAX) == 0;
	NO_TAIL_CALL();
}

static void test_wrong(void **state)
{
	void (*const wrong[])(void (*)(void)) = {wrong_far,	 wrong_beyond, wrong_nothing, wrong_odd,
						 wrong_register, wrong_sp,     wrong_saved,   unknown_rule};
	unsigned count = sizeof(wrong) / sizeof(wrong[0]);

	(void)state;
	begin();
	for (unsigned at = 0; at < count; at++) {
		wrong[at](walk_alone);
		assert_int_equal(given_up, at + 1);
	}
	recurse(3);
	assert_int_equal(given_up, count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes), cmocka_unit_test(test_thread_ends), cmocka_unit_test(test_signal),
		cmocka_unit_test(test_coroutines), cmocka_unit_test(test_jumps), cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_other_callers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
