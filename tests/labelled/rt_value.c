/* One value is read from the device in each step.
 * finds: value in read_value
 */
#include "tests/labelled/label.h"

static APART uint32_t read_value(const uint32_t *words, cudaStream_t stream)
{
	uint32_t value;

	NEED(cudaMemcpyAsync(&value, words, sizeof(value), cudaMemcpyDeviceToHost, stream));
	NEED(cudaStreamSynchronize(stream));
	return value;
}

int main(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words = words_new(), sum = 0;

	kernels_register();
	for (int i = 0; i < STEPS; i++) {
		busy(words, stream);
		sum += read_value(words, stream);
	}
	return sum == 0;
}
