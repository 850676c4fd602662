/* Plays libc10_cuda.so: a caching allocator that takes a segment by cudaMalloc and reports the tensors in it. */
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

struct c10_device {
	int8_t type;
	int8_t index;
};

typedef void report_fn(void *pointer, int64_t size, size_t allocated, size_t reserved, struct c10_device device);

report_fn report_unsigned __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
report_fn report_signed __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");

void *torch_segment(size_t size_bytes);
int torch_segment_free(void *segment);
void torch_report(int is_signed, void *pointer, int64_t size, size_t allocated, size_t reserved);

void *torch_segment(size_t size_bytes)
{
	void *segment = NULL;
	cudaError_t error = cudaMalloc(&segment, size_bytes);

	return error == cudaSuccess ? segment : NULL;
}

int torch_segment_free(void *segment)
{
	cudaError_t error = cudaFree(segment);

	__asm__ volatile(""); /* no tail call: the return address says who frees */
	return error;
}

void torch_report(int is_signed, void *pointer, int64_t size, size_t allocated, size_t reserved)
{
	struct c10_device cuda = {.type = 1, .index = 0};

	if (is_signed)
		report_signed(pointer, size, allocated, reserved, cuda);
	else
		report_unsigned(pointer, size, allocated, reserved, cuda);
}
