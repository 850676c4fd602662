/* shim/watch/kernel.c and wait.c: what differs in one part of its key has a row of its own, even where the hashes of
 * both keys are the same, as those of the pairs below are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "shim/api/call.h"
#include "shim/core/counter.h"
#include "shim/stack/table.h"
#include "shim/watch/kernel.h"
#include "shim/watch/step.h"
#include "shim/watch/wait.h"

struct kernel_key {
	uint32_t kind, name, stack;
};

static uint32_t kernel_hash(const struct kernel_key *key)
{
	return gs_hash((uint64_t)key->name << 32 | key->stack, key->kind);
}

static void test_kernels(void **state)
{
	static const struct kernel_key pairs[][2] = {
	    {{2, 1, 255849736}, {1, 1, 255849736}},
	    {{0, 1, 1}, {0, 2956890487, 1}},
	    {{0, 1, 1}, {0, 1, 2951406480}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct kernel_key *a = &pairs[i][0], *b = &pairs[i][1];
		struct gs_kernel_row *row = gs_kernel_row(a->kind, a->name, a->stack);

		assert_int_equal(kernel_hash(a), kernel_hash(b));
		assert_non_null(row);
		assert_ptr_not_equal(gs_kernel_row(b->kind, b->name, b->stack), row);
		assert_ptr_equal(gs_kernel_row(a->kind, a->name, a->stack), row);
	}
}

static void *launch_elsewhere(void *row)
{
	gs_kernel_add(row, 7);
	gs_kernel_add(gs_kernel_row(0, 4711, 1), 7);
	return NULL;
}

static uint64_t own(const struct gs_sum *sum)
{
	return atomic_load(&sum->own);
}

/* Only the thread that came first adds without a locked instruction, to what is its own. */
static void test_owner(void **state)
{
	struct gs_kernel_row *row = gs_kernel_row(0, 4711, 1);
	pthread_t thread;

	(void)state;
	gs_kernel_add(row, 5);
	assert_int_equal(pthread_create(&thread, NULL, launch_elsewhere, row), 0);
	pthread_join(thread, NULL);
	assert_int_equal(own(&row->calls), 1);
	assert_int_equal(own(&row->ticks), 5);
	gs_kernel_add(row, 5);
	assert_int_equal(own(&row->calls), 2);
	assert_int_equal(own(&row->ticks), 10);
	assert_int_equal(gs_sum_read(&row->calls), 4);
	assert_int_equal(gs_sum_read(&row->ticks), 24);
}

struct wait_key {
	uint32_t fn, way, memory, stack;
};

static uint32_t wait_hash(const struct wait_key *key)
{
	return gs_hash(key->stack, (uint64_t)key->fn << 16 | key->way << 8 | key->memory);
}

static void wait_end(const struct wait_key *key)
{
	struct gs_call call = {
	    .fn = (enum gs_fn)key->fn,
	    .wait = {.stack = key->stack, .way = (uint8_t)key->way, .memory = (uint8_t)key->memory, .stacked = true}};

	gs_wait_ended(&call, CUDA_SUCCESS, 1);
}

static void test_waits(void **state)
{
	static const struct wait_key pairs[][2] = {
	    {{7, 1, 1, 99161120}, {4, 1, 1, 99161120}},
	    {{1, 2, 1, 429588133}, {1, 1, 1, 429588133}},
	    {{1, 1, 2, 69618300}, {1, 1, 1, 69618300}},
	    {{1, 1, 1, 1}, {1, 1, 1, 195705368}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		size_t before = gs_wait_count();

		assert_int_equal(wait_hash(&pairs[i][0]), wait_hash(&pairs[i][1]));
		wait_end(&pairs[i][0]);
		wait_end(&pairs[i][1]);
		wait_end(&pairs[i][0]);
		assert_int_equal(gs_wait_count(), before + 2);
	}
}

static uint64_t figure(unsigned which)
{
	uint64_t sums[GS_FIGURE_COUNT];

	gs_figures_sum(sums);
	return sums[which];
}

/* A long copy from pageable memory is a wait; one from pinned memory finds the queue full. */
static void test_figures(void **state)
{
	static const struct {
		unsigned way, memory, waits, queue, down, up;
	} rows[] = {
	    {GS_COPY_TO_DEVICE, GS_HOST_MEMORY_PAGEABLE, 1, 0, 7, 0},
	    {GS_COPY_TO_DEVICE, GS_HOST_MEMORY_PINNED, 0, 1, 7, 0},
	    {GS_COPY_TO_HOST, GS_HOST_MEMORY_PINNED, 0, 1, 0, 7},
	    {GS_COPY_ON_DEVICE, GS_HOST_MEMORY_NONE, 0, 1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t waits = figure(GS_FIGURE_WAITS), queue = figure(GS_FIGURE_QUEUE);
		uint64_t down = figure(GS_FIGURE_TO_DEVICE), up = figure(GS_FIGURE_TO_HOST);
		struct gs_call call = {.fn = GS_FN_cuMemcpyAsync,
				       .wait = {.way = (uint8_t)rows[i].way, .memory = (uint8_t)rows[i].memory, .size_bytes = 7,
						.stacked = true}};

		gs_wait_ended(&call, CUDA_SUCCESS, GS_WAIT_SHORT_TICKS);
		assert_int_equal(figure(GS_FIGURE_WAITS), waits + rows[i].waits);
		assert_int_equal(figure(GS_FIGURE_QUEUE), queue + rows[i].queue * GS_WAIT_SHORT_TICKS);
		assert_int_equal(figure(GS_FIGURE_TO_DEVICE), down + rows[i].down);
		assert_int_equal(figure(GS_FIGURE_TO_HOST), up + rows[i].up);
	}
}

/* More places than there is room for: no call is lost, only where it was. */
static void test_full(void **state)
{
	enum { PLACES = 100000, FIRST = 1000000 };
	struct wait_key key = {.fn = GS_FN_cuCtxSynchronize};
	uint64_t calls = 0, launches = 0, waits_apart = 0, launches_apart = 0;

	(void)state;
	for (uint32_t place = 0; place < PLACES; place++) {
		key.stack = FIRST + place;
		wait_end(&key);
		gs_kernel_add(gs_kernel_row(0, 4712 + place % 2, key.stack), 1);
	}
	for (size_t index = 0; index < gs_wait_count(); index++) {
		struct gs_wait wait;

		gs_wait_read(index, &wait);
		if (wait.stack == 0 || (wait.stack >= FIRST && wait.stack < FIRST + PLACES))
			calls += wait.calls;
		if (wait.stack == 0)
			waits_apart += wait.calls;
	}
	for (size_t index = 0; index < gs_kernel_count(); index++) {
		struct gs_kernel kernel;

		gs_kernel_read(index, &kernel);
		if (kernel.name == 4712 || kernel.name == 4713)
			launches += kernel.calls;
		if (kernel.name == 4713 && kernel.stack == 0)
			launches_apart += kernel.calls;
	}
	assert_int_equal(calls, PLACES + 4); /* those of test_figures */
	assert_in_range(waits_apart, PLACES - 8192, PLACES);
	assert_int_equal(launches, PLACES);
	assert_in_range(launches_apart, (PLACES - 65536) / 2, PLACES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kernels),
	    cmocka_unit_test(test_owner),
	    cmocka_unit_test(test_waits),
	    cmocka_unit_test(test_figures),
	    cmocka_unit_test(test_full),
	};

	gs_counter_init();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("rows of what is watched", tests, NULL, NULL);
}
