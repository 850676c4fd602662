/* Work that was not put off is counted by all threads at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>

#include "shim/submit/count.h"

enum { THREADS = 4, TIMES = 2000000 };

static void *count_often(void *unused)
{
	for (unsigned i = 0; i < TIMES; i++)
		gs_submit_count_direct(i % 2 == 0 ? GS_SUBMIT_FOR_UNKNOWN : GS_SUBMIT_FOR_RESTS);
	return unused;
}

static void test_directs(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_often, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(gs_submit_directs(GS_SUBMIT_FOR_UNKNOWN), THREADS * TIMES / 2);
	assert_int_equal(gs_submit_directs(GS_SUBMIT_FOR_RESTS), THREADS * TIMES / 2);
	assert_int_equal(gs_submit_directs(GS_SUBMIT_FOR_EVENT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_directs)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("submit count", tests, NULL, NULL);
}
