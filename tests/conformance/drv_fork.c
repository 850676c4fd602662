/* Rule (H33): in the child of a fork the driver that the parent had started is not initialised. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

int main(void)
{
	CUdeviceptr pointer;
	int status = -1;
	pid_t child;

	rule_start();
	NEED(cuMemAlloc(&pointer, 64));
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit((int)cuMemAlloc(&pointer, 64));
	waitpid(child, &status, 0);
	WANT(WEXITSTATUS(status), CUDA_ERROR_NOT_INITIALIZED);
	NEED(cuMemFree(pointer));
	return rule_broken;
}
