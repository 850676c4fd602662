/* Rule: an event that is recorded on a blocking stream comes after what the legacy default stream was given before; but whoever waits
 * for the stream, which was given nothing else, does not wait for the event. */
#include "tests/conformance/rule_drv.h"

static void ask(CUstream stream)
{
	CUevent event;

	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	NEED(cuCtxSynchronize());
	rule_delay(NULL, 20000);
	NEED(cuEventRecord(event, stream));
	WANT(cuStreamQuery(stream), CUDA_SUCCESS);
	NEED(cuStreamSynchronize(stream));
	WANT(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	WANT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	NEED(cuEventSynchronize(event));
	WANT(cuStreamQuery(NULL), CUDA_SUCCESS);
	NEED(cuEventDestroy(event));
}

int main(void)
{
	CUstream stream;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	ask(stream);
	ask(CU_STREAM_PER_THREAD);
	return rule_broken;
}
