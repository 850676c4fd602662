/* Rule: what the simulated driver does not simulate answers NOT_SUPPORTED, is found by cuGetProcAddress, and counts. */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUgraph graph;
	sim_calls_fn *calls;

	rule_start();
	rule_simulator_only("a real driver supports it");
	*(void **)&calls = sim_find("sim_calls");
	WANT(calls("cuTexRefCreate"), 0);
	WANT(cuGraphCreate(&graph, 0) == CUDA_ERROR_NOT_SUPPORTED || cuGraphCreate(&graph, 0) == CUDA_SUCCESS, 1);
	WANT(calls("cuGraphCreate") >= 1, 1);
	WANT(calls("cuInit"), 1);
	WANT(calls("cuDevicePrimaryCtxRetain"), 1);
	return rule_broken;
}
