/* The ranked lock: exclusion between threads, and the order of ranks, which debug builds enforce. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fence.h"
#include "shim/base/lock.h"

static struct gsb_lock shared = GSB_LOCK_INIT(ALLOCATOR);
static unsigned long counter; /* guarded by shared */

enum { THREADS = 4, ROUNDS = 20000 };

static void *count_up(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned long seen;

		if (i % 3 != 0 || !gsb_lock_try(&shared))
			gsb_lock_acquire(&shared);
		seen = counter;
		if (i % 64 == 0)
			sched_yield();
		counter = seen + 1;
		gsb_lock_release(&shared);
	}
	return NULL;
}

static void test_excludes(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	counter = 0;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counter, (unsigned long)THREADS * ROUNDS);
	assert_int_equal(shared.state, 0);
	assert_int_equal(shared.sleepers, 0);
}

/* The same once the barrier in all threads is the sleeper's. */
static void test_excludes_after_start(void **state)
{
	gsb_fence_start();
	test_excludes(state);
}

static void test_try(void **state)
{
	struct gsb_lock one = GSB_LOCK_INIT(META), two;

	(void)state;
	gsb_lock_init(&two, GSB_RANK_META);
	assert_int_equal(two.rank, one.rank);
	assert_true(gsb_lock_try(&one));
	assert_true(gsb_lock_held(&one));
	gsb_lock_release(&one);
	assert_false(gsb_lock_held(&one));
	assert_int_equal(one.state, 0);
}

static struct gsb_lock low = GSB_LOCK_INIT(BOOT), middle = GSB_LOCK_INIT(ALLOCATOR),
		       other_middle = GSB_LOCK_INIT(ALLOCATOR), high = GSB_LOCK_INIT(LOG);

static void take_rising(void)
{
	gsb_lock_acquire(&low);
	gsb_lock_acquire(&middle);
	gsb_lock_acquire(&high);
	gsb_lock_release(&middle);
	gsb_lock_release(&low);
	gsb_lock_release(&high);
	gsb_lock_acquire(&low);
}

static void take_falling(void)
{
	gsb_lock_acquire(&high);
	gsb_lock_acquire(&low);
}

static void take_same_rank(void)
{
	gsb_lock_acquire(&middle);
	gsb_lock_acquire(&other_middle);
}

static void try_falling(void)
{
	gsb_lock_acquire(&middle);
	gsb_lock_try(&low);
}

static void release_unheld(void)
{
	gsb_lock_release(&middle);
}

static void reset_of_the_held(void)
{
	gsb_lock_acquire(&middle);
	if (fork() == 0) {
		gsb_lock_reset(&middle);
		_exit(middle.state == 0 ? 0 : 1);
	}
	int status;

	wait(&status);
	_exit(WEXITSTATUS(status));
}

/* Runs it in a child: the signal that ended it, 0 when it came to its end. said: what it printed. */
static int signal_of(void (*scenario)(void), char *said, size_t capacity)
{
	int fds[2], status;
	ssize_t length;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(fds[1], STDERR_FILENO);
		scenario();
		_exit(0);
	}
	close(fds[1]);
	length = read(fds[0], said, capacity - 1);
	said[length > 0 ? length : 0] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_ranks(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(signal_of(take_rising, said, sizeof(said)), 0);
	assert_string_equal(said, "");
	assert_int_equal(signal_of(take_falling, said, sizeof(said)), SIGABRT);
	assert_non_null(strstr(said, "gpushim: internal error, please report: shim/base/lock.c:"));
	assert_int_equal(signal_of(take_same_rank, said, sizeof(said)), SIGABRT);
	assert_int_equal(signal_of(try_falling, said, sizeof(said)), SIGABRT);
	assert_int_equal(signal_of(release_unheld, said, sizeof(said)), SIGABRT);
}

static void test_reset(void **state)
{
	char said[512];

	(void)state;
	assert_int_equal(signal_of(reset_of_the_held, said, sizeof(said)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_excludes),
	    cmocka_unit_test(test_excludes_after_start),
	    cmocka_unit_test(test_try),
	    cmocka_unit_test(test_ranks),
	    cmocka_unit_test(test_reset),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
