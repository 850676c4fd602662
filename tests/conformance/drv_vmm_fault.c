/* Rule: what is reserved but not mapped, mapped but without access, or unmapped again, faults when touched; read-only
 * access lets reads through and no writes. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/rule_drv.h"

#define G ((size_t)2 << 20)

/* 1 when a child that reads (writes) there dies of SIGSEGV. */
static int faults(CUdeviceptr pointer, int write)
{
	volatile char *at = (volatile char *)(uintptr_t)pointer;
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		if (write)
			*at = 1;
		_exit(*at & 0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base, plain;

	rule_start();
	rule_simulator_only("the host can touch device memory");
	NEED(cuMemAddressReserve(&base, 2 * G, 0, 0, 0));
	NEED(cuMemCreate(&handle, G, &prop, 0));
	WANT(faults(base, 0), 1);
	NEED(cuMemMap(base, G, 0, handle, 0));
	WANT(faults(base, 0), 1);
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
	NEED(cuMemSetAccess(base, G, &access, 1));
	WANT(faults(base, 0), 0);
	WANT(faults(base, 1), 1);
	WANT(cuMemsetD8(base, 1, 16), CUDA_ERROR_INVALID_VALUE);
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	NEED(cuMemSetAccess(base, G, &access, 1));
	WANT(faults(base, 1), 0);
	WANT(faults(base + G, 0), 1);
	NEED(cuMemUnmap(base, G));
	WANT(faults(base, 0), 1);
	NEED(cuMemAlloc(&plain, 100));
	WANT(faults(plain + 99, 1), 0);
	WANT(faults(plain + 4096, 1), 1);
	return rule_broken;
}
