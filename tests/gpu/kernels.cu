/* The kernel of drv_api, compiled by itself; kernels.h puts it inside the program. */
extern "C" __global__ void axpy(float *y, const float *x, float a, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		y[i] += a * x[i];
}
