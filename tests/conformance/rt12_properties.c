/* Rule: libcudart.so.12 answers in its own layout: cudaGetDeviceProperties_v2 writes 1032 bytes, and the capture query
 * has three arguments (H26). */
#include <string.h>

#include <driver_types.h>

#include "tests/conformance/rule.h"

cudaError_t cudaFree(void *pointer);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceProperties_v2(void *prop, int device);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id);

int main(void)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
	unsigned long long id;
	unsigned char prop[1032 + 8];
	int version = 0;

	NEED(cudaRuntimeGetVersion(&version));
	WANT(version / 1000, 12);
	memset(prop, 0xEE, sizeof(prop));
	NEED(cudaGetDeviceProperties_v2(prop, 0));
	WANT(prop[1032], 0xEE);
	WANT(memchr(prop, 0, 256) != NULL, 1);
	NEED(cudaFree(NULL));
	NEED(cudaStreamGetCaptureInfo(NULL, &status, &id));
	WANT(status, cudaStreamCaptureStatusNone);
	return rule_broken;
}
