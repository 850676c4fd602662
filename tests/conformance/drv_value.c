/* Rule: a stream waits for a value in memory that the host, another stream or its own past writes, and goes on when it
 * is there; what is not aligned, and flags that mean nothing, are refused. */
#include "tests/conformance/rule_drv.h"

static CUstream one, two;
static CUdeviceptr device;
static volatile unsigned *host;
static CUdeviceptr mapped;

static unsigned word(CUdeviceptr address)
{
	unsigned value = 0;

	NEED(cuMemcpyDtoH(&value, address, sizeof(value)));
	return value;
}

static void refused(void)
{
	WANT(cuStreamWriteValue32(one, device + 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuStreamWaitValue32(one, device + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuStreamWaitValue64(one, device + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuStreamWaitValue32(one, device, 1, 4), CUDA_ERROR_INVALID_VALUE);
	WANT(cuStreamWriteValue32(one, device, 1, 2), CUDA_ERROR_INVALID_VALUE);
	WANT(cuStreamWriteValue32(one, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuStreamBatchMemOp(one, 0, NULL, 0), CUDA_SUCCESS);
}

static void compare(unsigned flags, unsigned held, unsigned wanted)
{
	NEED(cuStreamWriteValue32(one, device, held, 0));
	NEED(cuStreamWaitValue32(one, device, wanted, flags));
	NEED(cuStreamSynchronize(one));
}

int main(void)
{
	CUstreamBatchMemOpParams batch[2] = {0};
	CUgraphExec exec;
	CUgraph graph;

	rule_start();
	NEED(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	NEED(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	NEED(cuMemAlloc(&device, 64));
	NEED(cuMemHostAlloc((void **)&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	NEED(cuMemHostGetDevicePointer(&mapped, (void *)host, 0));
	NEED(cuMemsetD8(device, 0, 64));
	NEED(cuCtxSynchronize());
	*host = 0;
	refused();

	/* by the host */
	NEED(cuStreamWaitValue32(one, mapped, 1, CU_STREAM_WAIT_VALUE_EQ));
	NEED(cuStreamWriteValue32(one, device, 7, 0));
	WANT(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
	*host = 1;
	NEED(cuStreamSynchronize(one));
	WANT(word(device), 7);

	/* by another stream, to the host */
	NEED(cuStreamWaitValue32(one, device + 8, 5, CU_STREAM_WAIT_VALUE_GEQ));
	NEED(cuStreamWriteValue32(one, mapped, 9, 0));
	NEED(cuStreamWriteValue32(two, device + 8, 6, 0));
	NEED(cuStreamSynchronize(one));
	WANT(*host, 9);

	compare(CU_STREAM_WAIT_VALUE_GEQ, 3, 0xfffffff0u);
	compare(CU_STREAM_WAIT_VALUE_EQ, 3, 3);
	compare(CU_STREAM_WAIT_VALUE_AND, 6, 2);
	NEED(cuStreamWriteValue64(one, device + 16, 1ull << 40, 0));
	NEED(cuStreamWaitValue64(one, device + 16, 1ull << 40, CU_STREAM_WAIT_VALUE_EQ));
	NEED(cuStreamSynchronize(one));
	WANT(word(device + 20), 1u << 8);

	/* a batch, also as a node of a graph */
	batch[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	batch[0].writeValue.address = device + 24;
	batch[0].writeValue.value = 21;
	batch[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	batch[1].waitValue.address = device + 24;
	batch[1].waitValue.value = 21;
	batch[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
	NEED(cuStreamBatchMemOp(one, 2, batch, 0));
	NEED(cuStreamSynchronize(one));
	WANT(word(device + 24), 21);
	NEED(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
	batch[0].writeValue.value = batch[1].waitValue.value = 22;
	NEED(cuStreamBatchMemOp(one, 2, batch, 0));
	NEED(cuStreamEndCapture(one, &graph));
	WANT(word(device + 24), 21);
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphLaunch(exec, one));
	NEED(cuStreamSynchronize(one));
	WANT(word(device + 24), 22);
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));
	return rule_broken;
}
