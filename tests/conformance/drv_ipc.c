/* Rule (H13): the process that made a handle cannot open it; what is no handle, and what was never opened, is refused.
 */
#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUipcMemHandle own, garbage = {"not a handle"};
	CUdeviceptr memory, opened;

	rule_start();
	NEED(cuMemAlloc(&memory, 1000));
	NEED(cuIpcGetMemHandle(&own, memory));
	WANT(cuIpcOpenMemHandle(&opened, own, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_CONTEXT);
	WANT(cuIpcOpenMemHandle(&opened, garbage, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_VALUE);
	WANT(cuIpcCloseMemHandle(0x1234567), CUDA_ERROR_INVALID_VALUE);
	return rule_broken;
}
