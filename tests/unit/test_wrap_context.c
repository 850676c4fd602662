/* The ends of contexts and streams as the driver functions tell them, where handles are used again. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/device.h"
#include "shim/core/stream.h"

#define CONTEXT ((CUcontext)0x100)
#define STREAM ((CUstream)0x1000)

static unsigned long long stream_id = 40;

static CUresult context_current(CUcontext *ret_context)
{
	*ret_context = CONTEXT;
	return CUDA_SUCCESS;
}

static CUresult context_waited(void)
{
	return CUDA_SUCCESS;
}

static CUresult id_asked(CUstream stream, unsigned long long *ret_id)
{
	(void)stream;
	*ret_id = stream_id;
	return CUDA_SUCCESS;
}

static CUresult context_asked(CUstream stream, CUcontext *ret_context)
{
	(void)stream;
	*ret_context = CONTEXT;
	return CUDA_SUCCESS;
}

static uint64_t id_of(CUstream stream)
{
	struct gsa_stream resolved = {0};

	assert_true(gs_stream_resolve(stream, false, &resolved));
	return resolved.id;
}

/* The next stream has the handle of one that was known and has gone as said. */
static void another_stream(uint64_t before)
{
	stream_id++;
	assert_int_not_equal(id_of(STREAM), before);
}

static CUresult stream_destroy(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

static CUresult green_destroy(CUgreenCtx green)
{
	(void)green;
	return CUDA_SUCCESS;
}

static void streams_end(void **state)
{
	uint64_t before = id_of(STREAM);

	(void)state;
	assert_int_equal(id_of(STREAM), before);
	assert_int_equal(gs_on_cuStreamDestroy_v2(NULL, stream_destroy, STREAM), CUDA_SUCCESS);
	another_stream(before);
	before = id_of(STREAM);
	assert_int_equal(gs_on_cuStreamDestroy(NULL, stream_destroy, STREAM), CUDA_SUCCESS);
	another_stream(before);
}

/* A green context may have no handle that we know, and a context may end unseen. */
static void streams_end_with_their_context(void **state)
{
	uint64_t before = id_of(STREAM);

	(void)state;
	assert_int_equal(gs_on_cuGreenCtxDestroy(NULL, green_destroy, NULL), CUDA_SUCCESS);
	another_stream(before);
	before = id_of(STREAM);
	gs_context_gone((CUcontext)0x200);
	another_stream(before);
}

static _Atomic bool made, told;

static CUresult context_create(CUcontext *ret_context, unsigned flags, CUdevice device)
{
	(void)flags;
	(void)device;
	*ret_context = CONTEXT;
	atomic_store(&made, true);
	return CUDA_SUCCESS;
}

static void *another_thread(void *unused)
{
	CUcontext context;

	assert_int_equal(gs_on_cuCtxCreate_v2(NULL, context_create, &context, 0, 0), CUDA_SUCCESS);
	atomic_store(&told, true);
	return unused;
}

static pthread_t maker;

/* Once it has gone, another thread gets its handle, before the end has been told. */
static CUresult context_destroy(CUcontext context)
{
	(void)context;
	assert_int_equal(pthread_create(&maker, NULL, another_thread, NULL), 0);
	while (!atomic_load(&made))
		usleep(100);
	for (unsigned ms = 0; ms < 30 && !atomic_load(&told); ms++)
		usleep(1000);
	return CUDA_SUCCESS;
}

static void h6_a_context_is_made_with_the_handle_of_one_that_ends(void **state)
{
	struct gs_context first, second;

	(void)state;
	assert_true(gs_context_add(CONTEXT, 0, false, &first));
	assert_int_equal(gs_on_cuCtxDestroy_v2(NULL, context_destroy, CONTEXT), CUDA_SUCCESS);
	pthread_join(maker, NULL);
	assert_true(gs_context_find(CONTEXT, &second));
	assert_int_not_equal(first.id, second.id);
}

static int begin(void **state)
{
	(void)state;
	gs_driver.cuCtxGetCurrent = context_current;
	gs_driver.cuCtxSynchronize = context_waited;
	gs_driver.cuStreamGetId = id_asked;
	gs_driver.cuStreamGetCtx = context_asked;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_end),
	    cmocka_unit_test(streams_end_with_their_context),
	    cmocka_unit_test(h6_a_context_is_made_with_the_handle_of_one_that_ends),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("ends of contexts", tests, begin, NULL);
}
