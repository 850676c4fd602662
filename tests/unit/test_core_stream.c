/* Default streams are told apart by context and thread, whatever the driver says. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shim/api/driver.h"
#include "shim/core/device.h"
#include "shim/core/stream.h"

#define STREAM ((CUstream)0x1000)

static _Thread_local CUcontext current_context;
static unsigned long long named_stream_id = 40;

static CUresult context_current(CUcontext *ret_context)
{
	*ret_context = current_context;
	return CUDA_SUCCESS;
}

static CUresult context_device(CUdevice *ret_device)
{
	*ret_device = 0;
	return CUDA_SUCCESS;
}

/* A driver that does not tell default streams apart. */
static CUresult stream_id(CUstream stream, unsigned long long *ret_id)
{
	*ret_id = (uintptr_t)stream <= 2 ? 7 : named_stream_id;
	return CUDA_SUCCESS;
}

static CUresult stream_context(CUstream stream, CUcontext *ret_context)
{
	(void)stream;
	*ret_context = current_context;
	return CUDA_SUCCESS;
}

static uint64_t id_of(CUstream stream, bool per_thread)
{
	struct gsa_stream resolved = {0};

	assert_true(gs_stream_resolve(stream, per_thread, &resolved));
	assert_int_not_equal(resolved.id, 0);
	assert_int_equal(resolved.owner, (uintptr_t)current_context);
	return resolved.id;
}

static void *per_thread_id(void *ret_id)
{
	current_context = (CUcontext)0x100;
	*(uint64_t *)ret_id = id_of(CU_STREAM_PER_THREAD, false);
	return NULL;
}

static void h6_default_streams_are_told_apart(void **state)
{
	uint64_t legacy, own, other_context, other_thread;
	pthread_t thread;

	(void)state;
	gs_driver.cuCtxGetCurrent = context_current;
	gs_driver.cuCtxGetDevice = context_device;
	gs_driver.cuStreamGetId = stream_id;
	gs_driver.cuStreamGetCtx = stream_context;
	current_context = (CUcontext)0x100;
	legacy = id_of(NULL, false);
	own = id_of(NULL, true);
	assert_int_equal(id_of(CU_STREAM_LEGACY, true), legacy);
	assert_int_equal(id_of(CU_STREAM_PER_THREAD, false), own);
	assert_int_not_equal(legacy, own);
	assert_int_not_equal(id_of(STREAM, false), legacy);
	assert_int_equal(pthread_create(&thread, NULL, per_thread_id, &other_thread), 0);
	pthread_join(thread, NULL);
	assert_int_not_equal(other_thread, own);
	current_context = (CUcontext)0x200;
	other_context = id_of(NULL, false);
	assert_int_not_equal(other_context, legacy);
	assert_int_not_equal(id_of(NULL, true), own);
	gs_context_gone((CUcontext)0x200);
	assert_int_not_equal(id_of(NULL, false), other_context);
}

static void h6_a_handle_used_again_is_another_stream(void **state)
{
	uint64_t before;

	(void)state;
	current_context = (CUcontext)0x100;
	before = id_of(STREAM, false);
	assert_int_equal(id_of(STREAM, false), before);
	named_stream_id++;
	gs_stream_ends();
	assert_int_not_equal(id_of(STREAM, false), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    {"H6 default streams of contexts and threads are told apart", h6_default_streams_are_told_apart, NULL, NULL,
	     NULL},
	    {"H6 a stream with the handle of another is another", h6_a_handle_used_again_is_another_stream, NULL, NULL,
	     NULL},
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("core streams", tests, NULL, NULL);
}
