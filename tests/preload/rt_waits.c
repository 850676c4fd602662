/* Waits of the kinds that gpushim tells apart, each in a function of its own name; with `loop`, a kernel and a wait, many times. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/preload/kernel.h"

#define CHECK(call) ((call) == 0 ? (void)0 : (fprintf(stderr, "%s failed\n", #call), exit(1)))
#define APART __attribute__((noinline, noclone))

enum { SIZE = 1 << 20, VALUES = 7, COPIES = 5, POLLS = 40 };

static void *device;
static cudaStream_t stream;

static APART void read_values(void)
{
	float value;

	for (int i = 0; i < VALUES; i++) {
		CHECK(cudaMemcpyAsync(&value, device, sizeof(value), cudaMemcpyDeviceToHost, stream));
		CHECK(cudaStreamSynchronize(stream));
	}
}

static APART void read_array(void *host)
{
	CHECK(cudaMemcpy(host, device, SIZE, cudaMemcpyDeviceToHost));
}

static APART void send(const void *host)
{
	for (int i = 0; i < COPIES; i++)
		CHECK(cudaMemcpyAsync(device, host, SIZE, cudaMemcpyHostToDevice, stream));
}

static APART void send_any_way(const void *host)
{
	CHECK(cudaMemcpyAsync(device, host, SIZE, cudaMemcpyDefault, stream));
}

static APART void send_rows(const void *host)
{
	CHECK(cudaMemcpy2D(device, 512, host, 256, 256, 100, cudaMemcpyHostToDevice));
}

static APART void wait_for_all(void)
{
	CHECK(cudaDeviceSynchronize());
}

static APART void wait_for_event(void)
{
	cudaEvent_t event;

	CHECK(cudaEventCreate(&event));
	CHECK(cudaEventRecord(event, stream));
	CHECK(cudaEventSynchronize(event));
	CHECK(cudaEventDestroy(event));
}

/* The stream waits for a word of the host, which asks for a while before it writes it. */
static APART void ask(int questions)
{
	volatile uint32_t *word;
	CUresult (*wait_for_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
	CUdeviceptr address;

	CHECK(cudaHostAlloc((void **)&word, sizeof(*word), cudaHostAllocMapped));
	CHECK(cudaHostGetDevicePointer((void **)&address, (void *)word, 0));
	*word = 0;
	CHECK((wait_for_value = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuStreamWaitValue32_v2")) == NULL);
	CHECK(wait_for_value(stream, address, 1, CU_STREAM_WAIT_VALUE_GEQ));
	for (int i = 0; i < questions - 1; i++)
		if (cudaStreamQuery(stream) != cudaErrorNotReady)
			exit(2);
	*word = 1;
	while (cudaStreamQuery(stream) == cudaErrorNotReady)
		;
	CHECK(cudaFreeHost((void *)word));
}

static APART void ask_long(void)
{
	ask(POLLS);
}

static APART void ask_short(void)
{
	ask(3);
}

static APART int wait_often(void)
{
	kernels_register();
	CHECK(cudaMalloc(&device, 16 * SIZE));
	for (int i = 0; i < 100; i++) {
		kernel_fill(device, 1, 16 * SIZE / 4, NULL);
		CHECK(cudaDeviceSynchronize());
	}
	return 0;
}

int main(int argc, char **argv)
{
	void *pinned, *pageable = calloc(1, SIZE);

	if (argc > 1 && strcmp(argv[1], "loop") == 0)
		return wait_often();

	CHECK(cudaMalloc(&device, SIZE));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMallocHost(&pinned, SIZE));
	read_values();
	read_array(pageable);
	send(pageable);
	send(pinned);
	send_any_way(pageable);
	send_rows(pinned);
	wait_for_event();
	ask_long();
	ask_short();
	wait_for_all();
	/* What was pinned may be pageable later, at the same place. */
	CHECK(cudaHostRegister(pageable, SIZE, cudaHostRegisterDefault));
	send_any_way(pageable);
	CHECK(cudaHostUnregister(pageable));
	send_any_way(pageable);
	CHECK(cudaStreamSynchronize(stream));
	return 0;
}
