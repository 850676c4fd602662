/* Rule (H13): memory that another process opened stays readable there when its maker has gone; a handle of a process
 * that has gone opens nothing. */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

#define BYTES ((size_t)4 << 20)

static void exporter(int to)
{
	CUipcMemHandle handles[2];
	CUdeviceptr memory[2];
	char go;

	rule_start();
	for (int i = 0; i < 2; i++) {
		NEED(cuMemAlloc(&memory[i], BYTES));
		NEED(cuMemsetD8(memory[i], 7, BYTES));
		NEED(cuIpcGetMemHandle(&handles[i], memory[i]));
	}
	NEED(cuCtxSynchronize());
	NEED(write(to, handles, sizeof(handles)) != (ssize_t)sizeof(handles));
	NEED(read(to, &go, 1) != 1);
	_exit(rule_broken);
}

int main(void)
{
	CUipcMemHandle handles[2];
	unsigned char value = 0;
	CUdeviceptr memory, late;
	int ends[2], status = 1;
	pid_t child;

	NEED(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	setvbuf(stdout, NULL, _IOLBF, 0);
	child = fork();
	if (child == 0)
		exporter(ends[1]);
	close(ends[1]);
	rule_start();
	NEED(read(ends[0], handles, sizeof(handles)) != (ssize_t)sizeof(handles));
	NEED(cuIpcOpenMemHandle(&memory, handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	NEED(write(ends[0], "", 1) != 1);
	NEED(waitpid(child, &status, 0) != child);
	WANT(status, 0);
	WANT(cuMemcpyDtoH(&value, memory + BYTES - 1, 1), CUDA_SUCCESS);
	WANT(value, 7);
	WANT(cuIpcOpenMemHandle(&late, handles[1], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_HANDLE);
	WANT(cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
	WANT(cuCtxSynchronize(), CUDA_SUCCESS);
	return rule_broken;
}
