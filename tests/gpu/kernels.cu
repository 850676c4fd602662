/* Kernels for the programs that use the driver API alone; kernels.h puts them inside the program. */
extern "C" __global__ void empty(void)
{
}

extern "C" __global__ void axpy(float *y, const float *x, float a, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		y[i] += a * x[i];
}
