/* The program of README.md: a loop that looks like a training and keeps 4 KiB a step by mistake. On the simulated GPU its kernel does
 * nothing. */
#include <cstdio>

__global__ void layer(float *out, const float *in, float scale)
{
	out[threadIdx.x] = scale * in[threadIdx.x];
}

static float *weights[16], *results[1000];

static void load_weights()
{
	for (float *&weight : weights)
		cudaMalloc(&weight, 1 << 20);
}

static float train_step(cudaStream_t stream, int step)
{
	float *activations[4], loss;

	for (float *&activation : activations)
		cudaMallocAsync(&activation, 1 << 20, stream);
	cudaMallocAsync(&results[step], 4096, stream); // nobody frees it
	for (float *weight : weights)
		layer<<<1, 256, 0, stream>>>(activations[0], weight, 0.5f);
	cudaMemcpyAsync(&loss, activations[0], sizeof(loss), cudaMemcpyDeviceToHost, stream);
	cudaStreamSynchronize(stream);
	for (float *activation : activations)
		cudaFreeAsync(activation, stream);
	return loss;
}

int main()
{
	cudaStream_t stream;

	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	load_weights();
	for (int step = 0; step < 1000; step++)
		train_step(stream, step);
	puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
