/* Rule: an armed fault fails exactly the nth call of its function, once, without effect; its firing is counted. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	size_t before, after, total;
	sim_fault_fired_fn *fired;
	sim_fault_arm_fn *arm;
	CUdeviceptr pointer;

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
	return rule_broken;
}
