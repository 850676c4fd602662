/* Planted misuse of memory, and what looks like it: argv[1] says which. Prints how many errors the simulated driver
 * counted. The fake allocator is one block that is announced again and again. */
#include "tests/preload/kernel.h"
#include "tests/preload/shadow.h"

enum { WORDS = 1024, DELAY = 100000 };

static cudaStream_t streams[2];
static uint32_t *words;

/* Owned for stream 0 and filled there late; then handed out for another stream, or any. */
static void hand_out(void *next_owner, bool ordered)
{
	cudaEvent_t event;

	NEED(cudaMalloc((void **)&words, WORDS * sizeof(*words)));
	shadow_owner(words, WORDS * sizeof(*words), streams[0]);
	kernel_delay(DELAY, streams[0]);
	kernel_fill(words, 1, WORDS, streams[0]);
	if (ordered) {
		NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
		NEED(cudaEventRecord(event, streams[0]));
		NEED(cudaStreamWaitEvent(streams[1], event, 0));
	}
	shadow_end(words);
	shadow_owner(words, WORDS * sizeof(*words), next_owner);
}

/* Part of the block goes to another stream, beside what is still filled or into it. */
static void hand_out_part(size_t from_word)
{
	NEED(cudaMalloc((void **)&words, 2 * WORDS * sizeof(*words)));
	shadow_owner(words, WORDS * sizeof(*words), streams[0]);
	kernel_delay(DELAY, streams[0]);
	kernel_fill(words, 1, WORDS, streams[0]);
	shadow_owner(words + from_word, WORDS * sizeof(*words), streams[1]);
}

static void use_after_free(void)
{
	NEED(shadow_malloc_async((void **)&words, WORDS * sizeof(*words), streams[0]));
	kernel_fill(words, 1, WORDS, streams[0]);
	NEED(shadow_free_async(words, streams[0]));
	NEED(cudaMemsetAsync(words, 0, WORDS * sizeof(*words), streams[0]));
}

/* Handed out again while a copy is queued that reads or writes it. */
static void pinned(bool reads, bool done)
{
	uint32_t *device;

	NEED(shadow_malloc((void **)&device, WORDS * sizeof(*words)));
	NEED(shadow_host_alloc((void **)&words, WORDS * sizeof(*words), 0));
	kernel_delay(DELAY, streams[0]);
	if (reads)
		NEED(cudaMemcpyAsync(device, words, WORDS * sizeof(*words), cudaMemcpyDefault, streams[0]));
	else
		NEED(cudaMemcpyAsync(words, device, WORDS * sizeof(*words), cudaMemcpyDefault, streams[0]));
	if (done)
		NEED(cudaStreamSynchronize(streams[0]));
	shadow_end(words);
	shadow_owner(words, WORDS * sizeof(*words), SIM_SHADOW_ANY);
}

/* A fill that begins in a block of its own and ends in one that another stream got and has written. */
static void late_across(void)
{
	NEED(cudaMalloc((void **)&words, 2 * WORDS * sizeof(*words)));
	shadow_owner(words, WORDS * sizeof(*words), streams[0]);
	kernel_delay(DELAY, streams[0]);
	NEED(cudaMemsetAsync(words, 0, 2 * WORDS * sizeof(*words), streams[0]));
	shadow_owner(words + WORDS, WORDS * sizeof(*words), streams[0]);
	kernel_fill(words + WORDS, 1, WORDS, streams[1]);
	NEED(cudaStreamSynchronize(streams[1]));
}

/* The driver gives the memory back at the synchronization of the stream that freed it. */
static void free_under_work(void)
{
	NEED(cudaMallocAsync((void **)&words, WORDS * sizeof(*words), streams[1]));
	kernel_delay(DELAY, streams[0]);
	kernel_fill(words, 1, WORDS, streams[0]);
	NEED(cudaFreeAsync(words, streams[1]));
	NEED(cudaStreamSynchronize(streams[1]));
}

/* What the pool hands to a smaller owner on the same stream is whole for what was queued before, also for what begins
 * where the new owner ends. */
static void smaller_owner(void)
{
	uint32_t *smaller, *here;

	NEED(cudaHostAlloc((void **)&here, WORDS * sizeof(*here), 0));
	NEED(cudaMallocAsync((void **)&words, 2 * WORDS * sizeof(*words), streams[0]));
	kernel_delay(DELAY, streams[0]);
	for (size_t from_word = 0; from_word <= WORDS; from_word += WORDS / 2) {
		kernel_fill(words + from_word, 1, WORDS, streams[0]);
		NEED(cudaMemsetAsync(words + from_word, 0, WORDS * sizeof(*words), streams[0]));
		NEED(cudaMemcpyAsync(here, words + from_word, WORDS * sizeof(*words), cudaMemcpyDefault, streams[0]));
		NEED(cudaMemcpyAsync(words + from_word, here, WORDS * sizeof(*words), cudaMemcpyDefault, streams[0]));
	}
	NEED(cudaFreeAsync(words, streams[0]));
	NEED(cudaMallocAsync((void **)&smaller, WORDS * sizeof(*words), streams[0]));
	if (smaller != words)
		exit(3);
	NEED(cudaMemsetAsync(smaller, 0, WORDS * sizeof(*words), streams[0]));
	NEED(cudaStreamSynchronize(streams[0]));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	kernels_register();
	streams[0] = stream_new();
	streams[1] = stream_new();
	if (strcmp(what, "same-stream") == 0)
		hand_out(streams[0], false);
	else if (strcmp(what, "other-stream") == 0)
		hand_out(streams[1], false);
	else if (strcmp(what, "ordered") == 0)
		hand_out(streams[1], true);
	else if (strcmp(what, "any-stream") == 0)
		hand_out(SIM_SHADOW_ANY, true);
	else if (strcmp(what, "beside") == 0)
		hand_out_part(WORDS);
	else if (strcmp(what, "overlap") == 0)
		hand_out_part(WORDS - 1);
	else if (strcmp(what, "pinned-read") == 0)
		pinned(true, false);
	else if (strcmp(what, "pinned-written") == 0)
		pinned(false, false);
	else if (strcmp(what, "pinned-done") == 0)
		pinned(true, true);
	else if (strcmp(what, "late-across") == 0)
		late_across();
	else if (strcmp(what, "smaller-owner") == 0)
		smaller_owner();
	else if (strcmp(what, "use-after-free") == 0)
		use_after_free();
	else if (strcmp(what, "free-under-work") == 0)
		free_under_work();
	else
		return 2;
	cudaDeviceSynchronize();
	printf("%lu errors\n", shadow_errors());
	return 0;
}
