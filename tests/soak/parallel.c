/* Several threads at once: see parallel.h. What a thread finds depends on its salt alone. Where there is no memory it
 * does on the host what the device would have done. */
#include "tests/soak/parallel.h"

#include <stdlib.h>

#include "tests/preload/shadow.h"
#include "tests/soak/context.h"
#include "tests/soak/crew.h"
#include "tests/soak/draw.h"
#include "tests/soak/kernels.h"
#include "tests/soak/say.h"
#include "tests/soak/stream.h"

struct share {
	int context;
	unsigned rounds;
	uint64_t count;
	uint32_t salt;
	bool ordered;	 /* cudaMallocAsync */
	bool per_thread; /* the stream; otherwise one that is made */
	uint64_t digest;
};

static void on_host(uint32_t *words, uint64_t count, uint32_t salt)
{
	host_fill(words, count, salt);
	host_mix(words, words, count, salt);
}

static bool on_device(const struct share *share, uint32_t *words, uint64_t count, uint32_t salt, cudaStream_t stream)
{
	uint32_t *memory;
	cudaError_t error = share->ordered ? shadow_malloc_async((void **)&memory, count * 4, stream)
					   : shadow_malloc((void **)&memory, count * 4);

	if (error == cudaErrorMemoryAllocation) {
		cudaGetLastError();
		return false;
	}
	need((int)error, "allocation of a thread");
	kernel_fill(memory, count, salt, stream);
	kernel_mix(memory, memory, count, salt, stream);
	NEED_OK(cudaMemcpyAsync(words, memory, count * 4, cudaMemcpyDeviceToHost, stream));
	NEED_OK(share->ordered ? shadow_free_async(memory, stream) : shadow_free(memory));
	return true;
}

static void share_run(void *argument)
{
	struct share *share = argument;
	uint32_t *words = malloc(share->count * 4);
	cudaStream_t stream = cudaStreamPerThread;

	if (!share->per_thread)
		NEED_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < share->rounds; i++) {
		uint64_t count = share->count - i;

		if (!on_device(share, words, count, share->salt + i, stream))
			on_host(words, count, share->salt + i);
		share->digest = share->digest * 31 + digest_words(words, count);
	}
	if (!share->per_thread)
		NEED_OK(cudaStreamDestroy(stream));
	free(words);
}

/* One after the other: it draws. */
static void enter_run(void *argument)
{
	context_enter(((struct share *)argument)->context);
}

void parallel_work(int stream)
{
	struct share shares[CREW];
	void *arguments[CREW];

	for (int i = 0; i < CREW; i++) {
		shares[i] = (struct share){.context = streams[stream].context,
					   .rounds = 2 + draw(6),
					   .count = 100 + draw(20000),
					   .salt = draw(1u << 31),
					   .ordered = draw(2) == 0,
					   .per_thread = draw(2) == 0};
		arguments[i] = &shares[i];
		crew_run(i, enter_run, &shares[i]);
	}
	crew_run_all(share_run, arguments);
	for (int i = 0; i < CREW; i++)
		say("thread %d finds %016llx", i, (unsigned long long)shares[i].digest);
}
