/* Rule: an armed fault fails exactly the nth call of its function, once, without effect; its firing is counted. An error
 * that breaks the context sticks to it, and comes before what an open capture would forbid. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	size_t before, after, total;
	sim_fault_fired_fn *fired;
	sim_fault_arm_fn *arm;
	CUdeviceptr pointer;
	CUstream stream;

	rule_start();
	rule_simulator_only("fault injection");
	*(void **)&arm = sim_find("sim_fault_arm");
	*(void **)&fired = sim_find("sim_fault_fired");
	NEED(cuMemGetInfo(&before, &total));
	arm("cuMemAlloc_v2", 2, CUDA_ERROR_OUT_OF_MEMORY);
	NEED(cuMemAlloc(&pointer, 64));
	NEED(cuMemFree(pointer));
	WANT(fired("cuMemAlloc_v2"), 0);
	WANT(cuMemAlloc(&pointer, 64), CUDA_ERROR_OUT_OF_MEMORY);
	WANT(fired("cuMemAlloc_v2"), 1);
	NEED(cuMemGetInfo(&after, &total));
	WANT(after, before);
	NEED(cuMemAlloc(&pointer, 64));
	WANT(fired("cuMemAlloc_v2"), 1);

	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	arm("cuMemsetD8Async", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuMemsetD8Async(pointer, 0, 64, stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	WANT(cuMemFree(pointer), CUDA_ERROR_ILLEGAL_ADDRESS);
	return rule_broken;
}
