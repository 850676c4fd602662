/* The way out of waits: taken where a lock is held by the thread itself, and by nobody who need not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "shim/base/escape.h"
#include "shim/base/lock.h"
#include "shim/base/os.h"

#define PATIENCE_NS 20000000u

static struct gsb_lock lock = GSB_LOCK_INIT(BOOT);
static bool came_back;

static void take(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	gsb_lock_acquire(&lock);
	came_back = true;
	gsb_lock_release(&lock);
}

static void test_held_by_itself(void **state)
{
	sigset_t mask;
	uint64_t start_ns = gsb_os_now_ns();

	(void)state;
	came_back = false;
	gsb_lock_acquire(&lock);
	assert_false(gsb_escape_try(take, PATIENCE_NS));
	assert_in_range(gsb_os_now_ns() - start_ns, PATIENCE_NS, 50u * PATIENCE_NS);
	assert_false(came_back);
	assert_false(gsb_escape_possible());
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGINT), 0);
	gsb_lock_release(&lock);
}

static void test_held_by_nobody(void **state)
{
	sigset_t none;

	(void)state;
	came_back = false;
	assert_true(gsb_escape_try(take, PATIENCE_NS));
	assert_true(came_back);
	assert_false(gsb_escape_possible());
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static void *take_too(void *unused)
{
	take();
	return unused;
}

static pthread_t other;

/* The other thread waits for longer than this one, which has a way out, would. */
static void wait_beside(void)
{
	assert_int_equal(pthread_create(&other, NULL, take_too, NULL), 0);
	nanosleep(&(struct timespec){.tv_nsec = 3 * PATIENCE_NS}, NULL);
}

static void test_other_thread(void **state)
{
	(void)state;
	came_back = false;
	gsb_lock_acquire(&lock);
	assert_true(gsb_escape_try(wait_beside, PATIENCE_NS));
	gsb_lock_release(&lock);
	pthread_join(other, NULL);
	assert_true(came_back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_held_by_itself),
	    cmocka_unit_test(test_held_by_nobody),
	    cmocka_unit_test(test_other_thread),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
