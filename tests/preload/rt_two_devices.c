/* Holds much on device 0 and little on device 1; then, on device 0 again, the snapshot of a signal falls due. */
#include <signal.h>

#include "tests/preload/kernel.h"

enum { MUCH_BYTES = 256 << 20, LITTLE_BYTES = 4 << 20 };

int main(void)
{
	void *much, *little;

	NEED(cudaMalloc(&much, MUCH_BYTES));
	NEED(cudaSetDevice(1));
	NEED(cudaMalloc(&little, LITTLE_BYTES));
	NEED(cudaSetDevice(0));
	raise(SIGUSR2);
	NEED(cudaDeviceSynchronize());
	return 0;
}
