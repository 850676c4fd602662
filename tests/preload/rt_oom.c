/* Takes the whole device in pieces, gives them back, takes half of it again: prints what it got. */
#include "tests/preload/kernel.h"

enum { PIECES = 256 };

static const size_t piece_bytes = 16u << 20;

static unsigned take(void **pieces, cudaError_t *ret_error)
{
	unsigned count = 0;

	while (count < PIECES && (*ret_error = cudaMalloc(&pieces[count], piece_bytes)) == cudaSuccess)
		count++;
	return count;
}

int main(void)
{
	static void *pieces[PIECES];
	cudaError_t error = cudaSuccess;
	size_t free_bytes, total_bytes;
	unsigned count;
	void *large;

	for (unsigned round = 0; round < 3; round++) {
		count = take(pieces, &error);
		printf("%u pieces, then %d, last error %d\n", count, error, cudaGetLastError());
		for (unsigned i = 0; i < count; i++)
			NEED(cudaFree(pieces[i]));
		NEED(cudaMemGetInfo(&free_bytes, &total_bytes));
		NEED(cudaMalloc(&large, total_bytes / 4 * 3));
		printf("large block %d\n", cudaFree(large));
	}
	return 3;
}
