/* Rule: a stream takes so many pieces of work; the call that brings one more waits until there is room. Meanwhile other threads
 * and their streams go on: with launches, records of events, of whole contexts, too, questions and waits. (Who asks the full stream, creates or
 * ends anything, gets memory, or gives the legacy stream work waits likewise on a driver 580; of that there is no rule.) */
#include <pthread.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

#define PIECES 6000 /* more than fit */

static CUcontext context;
static CUstream full;
static CUfunction delay;
static _Atomic int let_go, given;

static void hold(void *user)
{
	(void)user;
	while (!let_go)
		usleep(100);
}

static void launch(CUstream stream)
{
	unsigned steps = 1;
	void *params[] = {&steps};

	NEED(cuLaunchKernel(delay, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

static void *fill(void *unused)
{
	(void)unused;
	NEED(cuCtxSetCurrent(context));
	NEED(cuLaunchHostFunc(full, hold, NULL));
	for (int i = 0; i < PIECES; i++) {
		launch(full);
		given = i + 1;
	}
	return NULL;
}

/* Returns when nothing more has been given for a while. */
static void await_full(void)
{
	int before;

	do {
		before = given;
		usleep(200000);
	} while (given != before || before == 0);
}

int main(void)
{
	CUstream other;
	CUevent event, of_context;
	pthread_t thread;

	context = rule_start();
	delay = rule_kernel("sim_delay");
	NEED(cuStreamCreate(&full, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuEventCreate(&of_context, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < 200; i++) {
		launch(full);
		launch(other);
	}
	NEED(cuCtxSynchronize());
	NEED(pthread_create(&thread, NULL, fill, NULL));
	await_full();
	printf("waits at %d\n", given);
	WANT(given < PIECES, 1);
	WANT(cuStreamQuery(other), CUDA_SUCCESS);
	launch(other);
	NEED(cuEventRecord(event, other));
	NEED(cuStreamSynchronize(other));
	WANT(cuEventQuery(event), CUDA_SUCCESS);
#if CUDA_VERSION >= 12050
	NEED(cuCtxRecordEvent(context, of_context));
	WANT(cuEventQuery(of_context), CUDA_ERROR_NOT_READY);
#endif
	let_go = 1;
	NEED(pthread_join(thread, NULL));
	NEED(cuCtxSynchronize());
	WANT(cuStreamQuery(full), CUDA_SUCCESS);
	return rule_broken;
}
