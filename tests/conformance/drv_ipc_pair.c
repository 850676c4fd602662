/* Rule (H13): memory of cuMemAlloc, and interprocess events, opened by another process: both see the same bytes, in the
 * order that the event gives them; opened twice is one address with a count; what was opened is not the importer's to
 * free or to export; a handle of an interior pointer is that of the whole block. */
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)4 << 20)

struct letter {
	CUipcMemHandle memory, inside, freed;
	CUipcEventHandle written;
};

static int other;

static void tell(const void *bytes, size_t size_bytes)
{
	NEED(write(other, bytes, size_bytes) != (ssize_t)size_bytes);
}

static void hear(void *bytes, size_t size_bytes)
{
	NEED(read(other, bytes, size_bytes) != (ssize_t)size_bytes);
}

static unsigned char byte(CUdeviceptr address)
{
	unsigned char value = 0;

	NEED(cuMemcpyDtoH(&value, address, 1));
	return value;
}

static int exporter(void)
{
	CUdeviceptr memory, freed;
	CUevent event, plain, own;
	struct letter letter;
	CUstream stream;
	char go = 0;

	rule_start();
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	NEED(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
	NEED(cuMemAlloc(&memory, BYTES));
	NEED(cuMemAlloc(&freed, BYTES));
	NEED(cuMemsetD8(memory, 1, BYTES));
	NEED(cuCtxSynchronize());
	NEED(cuIpcGetMemHandle(&letter.memory, memory));
	NEED(cuIpcGetMemHandle(&letter.inside, memory + 4096));
	NEED(cuIpcGetMemHandle(&letter.freed, freed));
	NEED(cuMemFree(freed));
	NEED(cuIpcGetEventHandle(&letter.written, event));
	WANT(cuIpcGetEventHandle(&letter.written, plain), CUDA_ERROR_INVALID_HANDLE);
	WANT(cuIpcOpenEventHandle(&own, letter.written), CUDA_ERROR_MAP_FAILED);
	NEED(cuIpcGetEventHandle(&letter.written, event));
	WANT(byte(memory + BYTES - 1), 1);
	NEED(cuMemsetD8Async(memory, 2, BYTES, stream));
	NEED(cuEventRecord(event, stream));
	tell(&letter, sizeof(letter));
	hear(&go, 1);
	NEED(cuStreamWaitEvent(stream, event, 0));
	NEED(cuStreamSynchronize(stream));
	WANT(byte(memory + BYTES - 1), 3);
	NEED(cuEventSynchronize(event));
	WANT(cuEventQuery(event), CUDA_SUCCESS);
	NEED(cuMemFree(memory));
	tell(&go, 1);
	hear(&go, 1);
	return rule_broken;
}

static int importer(void)
{
	CUdeviceptr memory, again, inside, base, refused;
	struct letter letter;
	CUipcMemHandle back;
	CUstream stream;
	size_t size_bytes;
	CUresult result;
	CUevent event;
	char go = 0;

	rule_start();
	hear(&letter, sizeof(letter));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	NEED(cuIpcOpenMemHandle(&memory, letter.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	NEED(cuIpcOpenMemHandle(&again, letter.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	WANT(again == memory, 1);
	NEED(cuIpcOpenMemHandle(&inside, letter.inside, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	NEED(cuMemGetAddressRange(&base, &size_bytes, inside));
	WANT(base == memory, 1);
	WANT(size_bytes, BYTES);
	result = cuIpcOpenMemHandle(&refused, letter.freed, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	WANT(result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_HANDLE, 1); /* neither is promised */
	WANT(cuIpcOpenMemHandle(&refused, letter.memory, 2), CUDA_ERROR_INVALID_VALUE);
	WANT(cuIpcOpenMemHandle(&refused, letter.memory, 0), CUDA_ERROR_INVALID_VALUE);
	WANT(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
	WANT(cuIpcGetMemHandle(&back, memory), CUDA_ERROR_INVALID_VALUE);

	NEED(cuIpcOpenEventHandle(&event, letter.written));
	NEED(cuStreamWaitEvent(stream, event, 0));
	NEED(cuStreamSynchronize(stream));
	WANT(byte(memory + BYTES - 1), 2);
	NEED(cuMemsetD8Async(memory, 3, BYTES, stream));
	NEED(cuEventRecord(event, stream));
	NEED(cuEventSynchronize(event));
	tell(&go, 1);
	hear(&go, 1);
	WANT(byte(memory), 3);
	NEED(cuIpcCloseMemHandle(memory));
	NEED(cuIpcCloseMemHandle(memory));
	WANT(byte(memory), 3);
	NEED(cuIpcCloseMemHandle(memory));
	WANT(cuIpcCloseMemHandle(memory), CUDA_ERROR_INVALID_VALUE);
	NEED(cuEventDestroy(event));
	tell(&go, 1);
	return rule_broken;
}

int main(void)
{
	int ends[2], status = 1;
	pid_t child;

	NEED(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	setvbuf(stdout, NULL, _IOLBF, 0);
	child = fork();
	other = ends[child == 0];
	close(ends[child != 0]);
	if (child == 0)
		exit(importer());
	rule_broken = exporter();
	NEED(waitpid(child, &status, 0) != child);
	return rule_broken || status != 0;
}
