/* A helper library whose progress report waits for the stream, which its caller does not see: rt_hidden_wait.c. */
#include <stdlib.h>

#include <cuda_runtime_api.h>

void progress_report(cudaStream_t stream, unsigned *reports);

void progress_report(cudaStream_t stream, unsigned *reports)
{
	if (cudaStreamSynchronize(stream) != cudaSuccess)
		abort();
	++*reports;
}
