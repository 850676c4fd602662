/* What the programs of this folder share. Each is about one thing that CUDA programs do; its opening comment says what gpushim
 * must say of it, in the words of tests/labelled/test_labelled.py. The labels were written from the documentation alone.
 *
 * Work is launched through the driver, from PTX whose kernels have the names, parameters and meaning of the simulated ones
 * (tests/sim/sim.h): so the programs run on a real device as they do on the simulated one. A program of the driver API
 * defines WORK_DRIVER first. */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>
#ifndef WORK_DRIVER
#include <cuda_runtime_api.h>
#endif

#include "tests/sim/sim.h"

#define APART __attribute__((noinline, noclone))

enum { STEPS = 30, WORDS = 1 << 19, WORDS_BYTES = WORDS * 4 };

static inline void need_(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s: %d\n", what, result);
	exit(9);
}

#define NEED(call) need_((int)(call), #call)

static const char work_ptx[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry sim_fill(.param .u64 fill_dst, .param .u32 fill_value, .param .u64 fill_count)\n{\n"
    ".reg .pred %p;\n.reg .b32 %r<6>;\n.reg .b64 %d<6>;\n"
    "ld.param.u64 %d0, [fill_dst];\nld.param.u32 %r0, [fill_value];\nld.param.u64 %d1, [fill_count];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "cvt.u64.u32 %d2, %r4;\nmov.u32 %r5, %nctaid.x;\nmul.wide.u32 %d3, %r5, %r2;\n"
    "FILL: setp.ge.u64 %p, %d2, %d1;\n@%p bra FILLED;\nshl.b64 %d4, %d2, 2;\nadd.s64 %d5, %d0, %d4;\n"
    "st.global.u32 [%d5], %r0;\nadd.u64 %d2, %d2, %d3;\nbra FILL;\nFILLED: ret;\n}\n"
    ".visible .entry sim_add(.param .u64 add_dst, .param .u64 add_src, .param .u64 add_count)\n{\n"
    ".reg .pred %p;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n"
    "ld.param.u64 %d0, [add_dst];\nld.param.u64 %d6, [add_src];\nld.param.u64 %d1, [add_count];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "cvt.u64.u32 %d2, %r4;\nmov.u32 %r5, %nctaid.x;\nmul.wide.u32 %d3, %r5, %r2;\n"
    "ADD: setp.ge.u64 %p, %d2, %d1;\n@%p bra ADDED;\nshl.b64 %d4, %d2, 2;\nadd.s64 %d5, %d0, %d4;\n"
    "add.s64 %d7, %d6, %d4;\nld.global.u32 %r6, [%d5];\nld.global.u32 %r7, [%d7];\nadd.u32 %r6, %r6, %r7;\n"
    "st.global.u32 [%d5], %r6;\nadd.u64 %d2, %d2, %d3;\nbra ADD;\nADDED: ret;\n}\n"
    ".visible .entry sim_delay(.param .u32 delay_steps)\n{\n"
    ".reg .pred %p;\n.reg .b32 %r0;\n.reg .b64 %d<4>;\n"
    "ld.param.u32 %r0, [delay_steps];\nmul.wide.u32 %d0, %r0, 1000;\nmov.u64 %d1, %globaltimer;\n"
    "SPIN: mov.u64 %d2, %globaltimer;\nsub.u64 %d3, %d2, %d1;\nsetp.lt.u64 %p, %d3, %d0;\n@%p bra SPIN;\nret;\n}\n";

struct work {
	CUresult (*load)(CUmodule *module, const void *image);
	CUresult (*find)(CUfunction *function, CUmodule module, const char *name);
	CUresult (*launch)(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
			   unsigned threads_z, unsigned shared_bytes, CUstream stream, void **params, void **extra);
	CUfunction fill, add, delay;
};

static struct work work;

#ifdef WORK_DRIVER
static inline void work_functions(void)
{
	CUcontext context;

	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
	work.load = cuModuleLoadData;
	work.find = cuModuleGetFunction;
	work.launch = cuLaunchKernel;
}
#else
static inline void work_function(const char *name, void *ret_function)
{
	enum cudaDriverEntryPointQueryResult found;

	NEED(cudaGetDriverEntryPointByVersion(name, (void **)ret_function, 12000, cudaEnableDefault, &found));
	NEED(found != cudaDriverEntryPointSuccess);
}

static inline void work_functions(void)
{
	NEED(cudaSetDevice(0));
	NEED(cudaFree(NULL));
	work_function("cuModuleLoadData", &work.load);
	work_function("cuModuleGetFunction", &work.find);
	work_function("cuLaunchKernel", &work.launch);
}
#endif

/* Makes a context current, and knows the kernels. */
static inline void work_start(void)
{
	CUmodule module;

	work_functions();
	NEED(work.load(&module, work_ptx));
	NEED(work.find(&work.fill, module, "sim_fill"));
	NEED(work.find(&work.add, module, "sim_add"));
	NEED(work.find(&work.delay, module, "sim_delay"));
}

static inline void work_launch(CUfunction function, unsigned blocks, void **params, CUstream stream)
{
	NEED(work.launch(function, blocks, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

/* Sizes are in 32-bit words. */
static inline void fill(uint32_t *words, uint32_t value, uint64_t count, CUstream stream)
{
	work_launch(work.fill, 128, (void *[]){&words, &value, &count}, stream);
}

static inline void add(uint32_t *words, uint32_t *more, uint64_t count, CUstream stream)
{
	work_launch(work.add, 128, (void *[]){&words, &more, &count}, stream);
}

/* So many microseconds of the device, or steps of the simulated one. */
static inline void delay(uint32_t steps, CUstream stream)
{
	work_launch(work.delay, 1, (void *[]){&steps}, stream);
}

/* About a millisecond of work that writes the words; the simulated device takes a processor's time for it. */
static inline void busy(uint32_t *words, CUstream stream)
{
	if (sim_is_real())
		delay(800, stream);
	fill(words, 1, WORDS, stream);
	fill(words, 2, WORDS, stream);
}

/* The host has something else to do for a moment. */
static inline void host_works(void)
{
	struct timespec moment = {0, 400000};

	nanosleep(&moment, NULL);
}

#ifndef WORK_DRIVER
static inline uint32_t *words_new(void)
{
	uint32_t *words;

	NEED(cudaMalloc((void **)&words, WORDS_BYTES));
	return words;
}

static inline cudaStream_t stream_new(void)
{
	cudaStream_t stream;

	NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

static inline cudaEvent_t event_new(void)
{
	cudaEvent_t event;

	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	return event;
}
#else
static inline uint32_t *words_new(void)
{
	CUdeviceptr words;

	NEED(cuMemAlloc(&words, WORDS_BYTES));
	return (uint32_t *)(uintptr_t)words;
}

static inline CUstream stream_new(void)
{
	CUstream stream;

	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

static inline CUevent event_new(void)
{
	CUevent event;

	NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	return event;
}
#endif

static inline CUdeviceptr device(const uint32_t *words)
{
	return (CUdeviceptr)(uintptr_t)words;
}

#endif
