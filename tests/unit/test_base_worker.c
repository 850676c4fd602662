/* A thread of gpushim's own: it leaves the program's signals alone, and has stack enough whatever the program's default is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "shim/base/err.h"
#include "shim/base/futex.h"
#include "shim/base/os.h"
#include "shim/base/worker.h"

#define USED_BYTES (512u << 10)
#define PATIENCE_NS 5000000000u

static _Atomic uint32_t done;
static bool blocked, used;

static void *work(void *argument)
{
	volatile char room[USED_BYTES];
	sigset_t mask;

	for (size_t at = 0; at < sizeof(room); at += 1024)
		room[at] = 1;
	used = argument == &done && room[0] == 1;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGPROF) == 1;
	atomic_store(&done, 1);
	gsb_futex_wake(&done, 1);
	return NULL;
}

static void test_small_default(void **state)
{
	pthread_attr_t small;
	sigset_t mask;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its own thread has the default, too */
#endif
	assert_int_equal(pthread_attr_init(&small), 0);
	assert_int_equal(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN), 0);
	assert_int_equal(pthread_setattr_default_np(&small), 0);
	assert_int_equal(gsb_worker_start(work, (void *)&done), GS_OK);
	for (uint64_t start_ns = gsb_os_now_ns(); atomic_load(&done) == 0;) {
		assert_true(gsb_os_now_ns() - start_ns < PATIENCE_NS);
		gsb_futex_wait(&done, 0, PATIENCE_NS);
	}
	assert_true(used);
	assert_true(blocked);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGINT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_small_default),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
