/* A tile of pageable memory is uploaded in each step by cudaMemcpy2DAsync, which is asynchronous by name only.
 *
 * finds: pageable-async in upload_tile */
#include "tests/labelled/blind/work.h"

enum { ROWS = 256, ROW_BYTES = 4096, HOST_PITCH = 6144 };

static APART void upload_tile(uint32_t *tile, const char *image, cudaStream_t stream)
{
	NEED(cudaMemcpy2DAsync(tile, ROW_BYTES, image, HOST_PITCH, ROW_BYTES, ROWS, cudaMemcpyHostToDevice, stream));
}

int main(void)
{
	cudaStream_t stream;
	uint32_t *tile;
	char *image = malloc((size_t)ROWS * HOST_PITCH);

	if (!image)
		return 9;
	memset(image, 1, (size_t)ROWS * HOST_PITCH);
	work_start();
	stream = stream_new();
	tile = words_new();
	for (unsigned step = 0; step < STEPS; step++) {
		busy(tile, stream);
		upload_tile(tile, image, stream);
		busy(tile, stream);
	}
	NEED(cudaStreamSynchronize(stream));
	free(image);
	return 0;
}
