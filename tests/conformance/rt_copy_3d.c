/* Rule: pitched copies in three dimensions move exactly the box they name. */
#include <string.h>

#include <cuda_runtime_api.h>

#include "tests/conformance/rule.h"

enum { W = 24, H = 6, D = 4 };

int main(void)
{
	static unsigned char host[D][H][W], back[D][H][W];
	struct cudaMemcpy3DParms in = {.srcPtr = {host, W, W, H}, .extent = {W, H, D}, .kind = cudaMemcpyHostToDevice};
	struct cudaMemcpy3DParms out = {.dstPtr = {back, W, W, H},
					.srcPos = {4, 1, 2},
					.dstPos = {0, 2, 1},
					.extent = {8, 3, 2},
					.kind = cudaMemcpyDeviceToHost};
	unsigned char *bytes = (unsigned char *)host;
	struct cudaPitchedPtr device;

	for (int i = 0; i < D * H * W; i++)
		bytes[i] = (unsigned char)(i % 251);
	NEED(cudaMalloc3D(&device, (struct cudaExtent){W, H, D}));
	WANT(device.pitch >= W, 1);
	in.dstPtr = out.srcPtr = device;
	NEED(cudaMemcpy3D(&in));
	NEED(cudaMemcpy3DAsync(&out, NULL));
	NEED(cudaStreamSynchronize(NULL));
	WANT(memcmp(&back[1][2][0], &host[2][1][4], 8), 0);
	WANT(memcmp(&back[2][4][0], &host[3][3][4], 8), 0);
	WANT(back[1][2][8], 0);
	WANT(back[0][2][0], 0);
	WANT(back[1][5][0], 0);
	NEED(cudaFree(device.ptr));
	return rule_broken;
}
