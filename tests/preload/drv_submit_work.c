/* What copies, memsets and events that were put off must not change, a case a run: argv[1]. All print what the program sees,
 * which must be the same with submit:thread and without. The names are in tests/preload/test_submit_work.sh. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>

#define NEED_STATUS 9
#include "tests/preload/need.h"

enum { WORDS = 2048, ROUNDS = 600, THREADS = 3, PITCH = 256 };

static CUcontext context;
static CUfunction fill, verify;
static CUdeviceptr errors;

static void start(int ordinal)
{
	CUdevice device;
	CUmodule module;

	NEED(cuInit(0));
	NEED(cuDeviceGet(&device, ordinal));
	NEED(cuDevicePrimaryCtxRetain(&context, device));
	NEED(cuCtxSetCurrent(context));
	NEED(cuModuleLoadData(&module, "simulated"));
	NEED(cuModuleGetFunction(&fill, module, "sim_fill"));
	NEED(cuModuleGetFunction(&verify, module, "sim_verify"));
	NEED(cuMemAlloc(&errors, 4));
	NEED(cuMemsetD32(errors, 0, 1));
	NEED(cuCtxSynchronize());
}

static CUstream stream_new(void)
{
	CUstream stream;

	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

static CUevent event_new(unsigned flags)
{
	CUevent event;

	NEED(cuEventCreate(&event, flags));
	return event;
}

static CUdeviceptr words_new(void)
{
	CUdeviceptr words;

	NEED(cuMemAlloc(&words, WORDS * 4));
	return words;
}

static void do_fill(CUdeviceptr words, uint32_t value, uint64_t count, CUstream stream)
{
	NEED(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&words, &value, &count}, NULL));
}

static void do_verify(CUdeviceptr words, uint32_t value, uint64_t count, CUstream stream)
{
	NEED(cuLaunchKernel(verify, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&words, &value, &count, &errors}, NULL));
}

static void warm_up(CUdeviceptr words, CUstream stream)
{
	for (uint32_t i = 0; i < 100; i++)
		do_fill(words, i, WORDS, stream);
}

static uint32_t word_at(CUdeviceptr address)
{
	uint32_t word;

	NEED(cuMemcpyDtoH(&word, address, 4));
	return word;
}

static void say(CUdeviceptr words)
{
	NEED(cuCtxSynchronize());
	printf("errors %u, last %u\n", word_at(errors), words != 0 ? word_at(words) : 0);
}

/* From one buffer to the other and back, a part at a time that moves. */
static void copies(void)
{
	CUdeviceptr a = words_new(), b = words_new();
	CUstream stream = stream_new();

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t at = i * 16 % (WORDS - 64);

		do_fill(a, i, WORDS, stream);
		NEED(cuMemcpyDtoDAsync(b + at * 4, a + at * 4, 64 * 4, stream));
		do_fill(a, 0, WORDS, stream);
		do_verify(b + at * 4, i, 64, stream);
		NEED(cuMemcpyAsync(a, b + at * 4, 64 * 4, stream));
		do_verify(a, i, 64, stream);
	}
	say(b);
}

/* Of each width, in ranges and in rows. */
static void sets(void)
{
	CUdeviceptr a = words_new();
	CUstream stream = stream_new();

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t byte = i % 251, half = byte | byte << 8, word = half | half << 16;

		NEED(cuMemsetD32Async(a, i, WORDS, stream));
		do_verify(a, i, WORDS, stream);
		NEED(cuMemsetD16Async(a, (unsigned short)half, WORDS * 2, stream));
		do_verify(a, word, WORDS, stream);
		NEED(cuMemsetD8Async(a, (unsigned char)(byte + 1), WORDS * 4, stream));
		do_verify(a, word + 0x01010101u, WORDS, stream);
		NEED(cuMemsetD2D32Async(a, PITCH, i, 4, 8, stream));
		do_verify(a + 7 * PITCH, i, 4, stream);
		do_verify(a + 16, word + 0x01010101u, PITCH / 4 - 4, stream);
		NEED(cuMemsetD2D16Async(a, PITCH, (unsigned short)half, 8, 8, stream));
		do_verify(a + 7 * PITCH, word, 4, stream);
		NEED(cuMemsetD2D8Async(a, PITCH, (unsigned char)byte, 16, 8, stream));
		do_verify(a + 6 * PITCH, word, 4, stream);
		NEED(cuMemsetD2D8Async(a, PITCH, 9, 16, 0, stream)); /* no rows */
		do_verify(a, word, 4, stream);
	}
	say(a);
}

/* Streams take turns by events, each used again at once for the next turn. */
static void turns(void)
{
	CUstream streams[3] = {stream_new(), stream_new(), NULL};
	CUdeviceptr a = words_new(), b = words_new();
	CUevent event = event_new(CU_EVENT_DISABLE_TIMING);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUstream now = streams[i % 3], next = streams[(i + 1) % 3];

		do_verify(a, i, i == 0 ? 0 : WORDS, now);
		NEED(cuMemcpyDtoDAsync(b, a, WORDS * 4, now));
		NEED(cuMemsetD32Async(a, i + 1, WORDS, now));
		do_verify(b, i, i == 0 ? 0 : WORDS, now);
		NEED(i % 2 == 0 ? cuEventRecord(event, now) : cuEventRecordWithFlags(event, now, 0));
		NEED(cuStreamWaitEvent(next, event, 0));
	}
	say(a);
}

/* Events end and others get their handles, some that other processes may share. */
static void events(void)
{
	CUstream streams[2] = {stream_new(), stream_new()};
	CUdeviceptr a = words_new();

	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUevent event = event_new(CU_EVENT_DISABLE_TIMING | (i / 50 % 2 == 1 ? CU_EVENT_INTERPROCESS : 0));

		for (uint32_t j = 0; j < 3; j++) {
			CUstream now = streams[(i + j) % 2], other = streams[(i + j + 1) % 2];

			do_fill(a, i + j, WORDS, now);
			NEED(cuEventRecord(event, now));
			NEED(cuStreamWaitEvent(other, event, 0));
			do_verify(a, i + j, WORDS, other);
		}
		NEED(cuEventDestroy(event));
	}
	say(a);
}

/* Interprocess events alone. */
static void shared_events(void)
{
	CUstream streams[2] = {stream_new(), stream_new()};
	CUevent event = event_new(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
	CUdeviceptr a = words_new();

	for (uint32_t i = 0; i < ROUNDS; i++) {
		do_fill(a, i, WORDS, streams[i % 2]);
		NEED(cuEventRecord(event, streams[i % 2]));
		NEED(cuStreamWaitEvent(streams[(i + 1) % 2], event, 0));
		do_verify(a, i, WORDS, streams[(i + 1) % 2]);
	}
	say(a);
}

/* Whoever asks an event, waits for it or for the time between two gets the answer for the record that came last. */
static void answers(void)
{
	CUevent first = event_new(0), last = event_new(0);
	CUdeviceptr a = words_new();
	CUstream stream = stream_new();
	unsigned wrong = 0, *copied;

	NEED(cuMemAllocHost((void **)&copied, 4));
	for (uint32_t i = 0; i < 200; i++) {
		float ms = -1;

		NEED(cuEventRecord(first, stream));
		for (uint32_t j = 0; j < 30; j++)
			NEED(cuMemsetD32Async(a, 0, WORDS, stream));
		NEED(cuMemsetD32Async(a, i, WORDS, stream));
		NEED(cuMemcpyDtoHAsync(copied, a, 4, stream));
		NEED(cuEventRecord(last, stream));
		if (i % 2 == 0)
			while (cuEventQuery(last) == CUDA_ERROR_NOT_READY)
				;
		else
			NEED(cuEventSynchronize(last));
		wrong += *copied != i;
		NEED(cuEventElapsedTime(&ms, first, last));
		wrong += ms < 0;
	}
	printf("wrong %u\n", wrong);
}

/* An event that was recorded in a capture may be waited for elsewhere only after it was recorded again. */
static void captured_event(void)
{
	CUstream stream = stream_new(), other = stream_new();
	CUevent event = event_new(CU_EVENT_DISABLE_TIMING);
	CUdeviceptr a = words_new();
	CUgraph graph;

	for (uint32_t i = 0; i < 30; i++) {
		warm_up(a, stream);
		NEED(cuEventRecord(event, stream));
		NEED(cuStreamWaitEvent(other, event, 0));
		warm_up(a, other);
		NEED(cuEventRecord(event, other));
		NEED(cuStreamWaitEvent(stream, event, 0));
		warm_up(a, stream);
		NEED(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		do_fill(a, i, WORDS, stream);
		NEED(cuEventRecord(event, stream));
		NEED(cuStreamEndCapture(stream, &graph));
		NEED(cuGraphDestroy(graph));
		warm_up(a, stream);
		if (i % 10 == 0)
			printf("wait %d\n", cuStreamWaitEvent(other, event, 0));
		else if (cuStreamWaitEvent(other, event, 0) == CUDA_SUCCESS)
			printf("waited\n");
	}
	say(a);
}

/* What the driver refuses, it refuses at once. */
static void refused(void)
{
	CUevent event = event_new(CU_EVENT_DISABLE_TIMING), gone = event_new(CU_EVENT_DISABLE_TIMING);
	CUdeviceptr a = words_new(), b = words_new();
	CUstream stream = stream_new();

	for (uint32_t i = 0; i < 60; i++) {
		warm_up(a, stream);
		NEED(cuMemsetD32Async(a, i, WORDS, stream));
		NEED(cuMemsetD2D32Async(a, PITCH, i, 4, 8, stream));
		NEED(cuMemcpyDtoDAsync(b, a, WORDS * 4, stream));
		NEED(cuEventRecord(event, stream));
		NEED(cuStreamWaitEvent(stream, event, 0));
		if (i < 30)
			NEED(cuEventRecord(gone, stream));
		if (i == 30)
			NEED(cuEventDestroy(gone));
		if (i < 55)
			continue;
		printf("%d ", cuMemsetD32Async(a + 2, i, 4, stream));
		printf("%d ", cuMemsetD32Async(a, i, SIZE_MAX / 8, stream));
		printf("%d ", cuMemsetD2D32Async(a, 8, i, 4, 8, stream));
		printf("%d ", cuMemsetD2D16Async(a, PITCH + 1, 1, 4, 8, stream));
		printf("%d ", cuMemcpyDtoDAsync(b, a, (size_t)1 << 40, stream));
		printf("%d ", cuMemcpyDtoDAsync(b, 0, 4, stream));
		printf("%d ", cuStreamWaitEvent(stream, event, 77));
		printf("%d\n", cuEventRecord(gone, stream));
	}
	say(a);
}

/* Memory comes and goes between the work that uses it. */
static void memory(void)
{
	CUstream streams[2] = {stream_new(), stream_new()};

	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUstream stream = streams[i % 2];
		size_t words = i % 40 == 0 ? 1u << 20 : WORDS;
		CUdeviceptr a, b;

		NEED(cuMemAllocAsync(&a, words * 4, stream));
		NEED(cuMemsetD32Async(a, i, words, stream));
		NEED(i % 3 == 0 ? cuMemAlloc(&b, words * 4) : cuMemAllocAsync(&b, words * 4, stream));
		NEED(cuMemcpyDtoDAsync(b, a, words * 4, stream));
		NEED(cuMemFreeAsync(a, stream));
		do_verify(b, i, words, stream);
		NEED(i % 3 == 0 ? cuMemFree(b) : cuMemFreeAsync(b, stream));
	}
	say(0);
}

static struct crew {
	pthread_barrier_t barrier;
	CUdeviceptr a, b;
	CUstream stream;
} crew;

/* Threads take turns on one stream. */
static void *crew_work(void *number)
{
	uint32_t self = (uint32_t)(uintptr_t)number;

	NEED(cuCtxSetCurrent(context));
	for (uint32_t i = 0; i < 120; i++) {
		if (i % THREADS == self)
			for (uint32_t j = 0; j < 8; j++) {
				NEED(cuMemsetD32Async(crew.a, i, WORDS, crew.stream));
				NEED(cuMemcpyDtoDAsync(crew.b, crew.a, WORDS * 4, crew.stream));
			}
		pthread_barrier_wait(&crew.barrier);
		if ((i + 1) % THREADS == self)
			do_verify(crew.b, i, WORDS, crew.stream);
		pthread_barrier_wait(&crew.barrier);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t members[THREADS];

	pthread_barrier_init(&crew.barrier, NULL, THREADS);
	crew.a = words_new();
	crew.b = words_new();
	crew.stream = stream_new();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&members[i], NULL, crew_work, (void *)i);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(members[i], NULL);
	say(crew.b);
}

/* Each device waits for the other one's event; the current device is now one, now the other. */
static void devices(void)
{
	CUcontext contexts[2];
	CUdeviceptr words[2], sums[2];
	CUfunction fills[2], verifies[2];
	CUstream streams[2];
	CUevent events[2];

	for (int i = 0; i < 2; i++) {
		start(i);
		contexts[i] = context;
		fills[i] = fill;
		verifies[i] = verify;
		sums[i] = errors;
		words[i] = words_new();
		streams[i] = stream_new();
		events[i] = event_new(CU_EVENT_DISABLE_TIMING);
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		unsigned now = i / 5 % 2;

		NEED(cuCtxSetCurrent(contexts[now]));
		fill = fills[now];
		verify = verifies[now];
		errors = sums[now];
		do_fill(words[now], i, WORDS, streams[now]);
		NEED(cuMemsetD32Async(words[now], i + 1, 8, streams[now]));
		do_verify(words[now], i + 1, 8, streams[now]);
		NEED(cuEventRecord(events[now], streams[now]));
		NEED(cuStreamWaitEvent(streams[1 - now], events[now], 0));
	}
	for (int i = 0; i < 2; i++) {
		NEED(cuCtxSetCurrent(contexts[i]));
		errors = sums[i];
		say(words[i]);
	}
}

/* Memory of the other device, which this one cannot vouch for: both ways, and set from here. */
static void across(void)
{
	CUdeviceptr here, there;
	CUstream stream;

	start(1);
	there = words_new();
	start(0);
	here = words_new();
	stream = stream_new();
	for (uint32_t i = 0; i < ROUNDS; i++) {
		NEED(cuMemcpyDtoDAsync(there, here, WORDS * 4, stream));
		NEED(cuMemcpyDtoDAsync(here, there, WORDS * 4, stream));
		NEED(cuMemsetD32Async(there, i, WORDS, stream));
	}
	say(there);
}

/* Another process shares an event, in the place of those that ended with a context. The other process: `lends`. */
static void opened(void)
{
	CUevent event, old[64];
	CUipcEventHandle handle;
	CUcontext passing;
	CUstream streams[2];
	CUdeviceptr a;
	unsigned same = 0;
	int in[2], out[2];

	NEED(pipe(in) == 0 && pipe(out) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
	if (fork() == 0) {
		dup2(out[0], 0);
		dup2(in[1], 1);
		close(out[1]);
		execl("/proc/self/exe", "lends", "lends", (char *)NULL);
		_exit(9);
	}
	NEED(read(in[0], &handle, sizeof(handle)) == sizeof(handle) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
	NEED(cuCtxCreate(&passing, NULL, 0, 0));
	for (unsigned i = 0; i < 64; i++)
		old[i] = event_new(CU_EVENT_DISABLE_TIMING);
	NEED(cuCtxDestroy(passing));
	NEED(cuCtxSetCurrent(context));
	NEED(cuIpcOpenEventHandle(&event, handle));
	for (unsigned i = 0; i < 64; i++)
		same += old[i] == event;
	streams[0] = stream_new();
	streams[1] = stream_new();
	a = words_new();
	for (uint32_t i = 0; i < ROUNDS; i++) {
		do_fill(a, i, WORDS, streams[i % 2]);
		NEED(cuEventRecord(event, streams[i % 2]));
		NEED(cuStreamWaitEvent(streams[(i + 1) % 2], event, 0));
	}
	say(a);
	printf("the handle came again %u times\n", same);
	close(out[1]);
}

static void lends(void)
{
	CUevent event = event_new(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
	CUipcEventHandle handle;

	NEED(cuIpcGetEventHandle(&handle, event));
	NEED(write(1, &handle, sizeof(handle)) == sizeof(handle) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
	NEED(read(0, &handle, 1) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
}

/* Per-thread default streams are another one in each thread. */
static void per_thread(void)
{
	CUdeviceptr a = words_new(), b = words_new();
	CUevent event = event_new(CU_EVENT_DISABLE_TIMING);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		NEED(cuMemsetD32Async(a, i, WORDS, CU_STREAM_PER_THREAD));
		NEED(cuMemcpyDtoDAsync(b, a, WORDS * 4, CU_STREAM_PER_THREAD));
		NEED(cuEventRecord(event, CU_STREAM_PER_THREAD));
		NEED(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
		do_verify(b, i, WORDS, CU_STREAM_PER_THREAD);
	}
	NEED(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	say(b);
}

/* A stream and an event end with work queued. */
static void ends(void)
{
	for (uint32_t i = 0; i < 60; i++) {
		CUevent event = event_new(CU_EVENT_DISABLE_TIMING);
		CUdeviceptr a = words_new();
		CUstream stream = stream_new();

		for (uint32_t j = 0; j < 30; j++) {
			NEED(cuMemsetD32Async(a, j, WORDS, stream));
			NEED(cuEventRecordWithFlags(event, stream, 0));
			NEED(cuStreamWaitEvent(NULL, event, 0));
		}
		do_verify(a, 29, WORDS, stream);
		NEED(cuStreamDestroy(stream));
		NEED(cuEventDestroy(event));
		NEED(cuMemFree(a));
	}
	say(0);
}

/* The program ends with work queued. */
static void exits(void)
{
	CUdeviceptr a = words_new(), b = words_new();
	CUstream stream = stream_new();

	for (uint32_t i = 0; i < ROUNDS; i++) {
		NEED(cuMemsetD32Async(a, i, WORDS, stream));
		NEED(cuMemcpyDtoDAsync(b, a, WORDS * 4, stream));
	}
	printf("bye\n");
}

/* For an error of the driver's that SIM_FAULT makes. */
static void fails(void)
{
	CUdeviceptr a = words_new();
	CUstream stream = stream_new();
	CUresult result = CUDA_SUCCESS;
	uint32_t i;

	for (i = 0; i < ROUNDS && result == CUDA_SUCCESS; i++)
		result = cuMemsetD32Async(a, i, WORDS, stream);
	if (result == CUDA_SUCCESS)
		result = cuStreamSynchronize(stream);
	printf("result %d, then %d\n", result, cuCtxSynchronize());
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"copies", copies},   {"sets", sets},		    {"turns", turns},	  {"events", events},
	{"shared_events", shared_events},		    {"answers", answers}, {"captured_event", captured_event},
	{"refused", refused}, {"memory", memory},	    {"threads", threads}, {"devices", devices},
	{"per_thread", per_thread},			    {"ends", ends},	  {"exits", exits},
	{"fails", fails},     {"across", across},	    {"opened", opened},	  {"lends", lends},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i].name, argv[1]) == 0) {
			start(0);
			cases[i].run();
			return 0;
		}
	return 2;
}
