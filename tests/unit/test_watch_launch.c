/* The log of launches: kernels at more places than the log has room for each have their row, and no other one's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdint.h>
#include <stdlib.h>

#include "shim/api/call.h"
#include "shim/core/counter.h"
#include "shim/watch/kernel.h"
#include "shim/watch/launch.h"

enum { KERNELS = 10000, ROUNDS = 3 };

/* The device has failed, and launches wait for it: so nothing needs to be known of streams. */
static void launch(uintptr_t function)
{
	struct gs_call call = {.fn = GS_FN_cuLaunchKernel, .start_ticks = 1};

	gs_launch_note(&call, GS_WORK_KERNEL, (const void *)function, NULL, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void test_many(void **state)
{
	size_t first = gs_kernel_count();
	struct gs_kernel kernel;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++)
		for (uintptr_t function = 1; function <= KERNELS; function++)
			for (unsigned i = 0; i < 1 + function % 3; i++)
				launch(function << 4);
	assert_int_equal(gs_kernel_count(), first + KERNELS);
	for (uintptr_t function = 1; function <= KERNELS; function++) {
		gs_kernel_read(first + function - 1, &kernel);
		assert_int_equal(kernel.calls, ROUNDS * (1 + function % 3));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};

	setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
	gs_counter_init();
	gs_launch_init(16);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("watch launch", tests, NULL, NULL);
}
