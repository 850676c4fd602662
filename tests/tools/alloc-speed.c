/* alloc-speed [live|threads] [MOST]: what cudaMallocAsync and cudaFreeAsync cost, with and without the shim, on a real or
 * a simulated device.
 *
 *   live      with 100, 1000, .. MOST (1000000) small blocks alive: one is freed, one is allocated, at random
 *   threads   1, 2, 4, .. MOST (16) threads, each with 100 blocks of 512 B to 1 MiB alive on a stream of its own
 *
 * Prints nanoseconds per operation: the least and the median of batches, for threads the mean of their medians, and how
 * many times that of one thread it is. Where the machine has fewer processors than threads a batch is interrupted; the least is then what to read. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 200, BATCH_PAIRS = 500, THREADS_MAX = 64, THREAD_LIVE = 100 };

struct holder {
	void **blocks;
	unsigned count;
	unsigned size_low, size_high; /* log2 of sizes */
	uint64_t random;
	cudaStream_t stream;
	double batch_ns[BATCHES];
};

struct worker {
	struct holder holder;
	pthread_t thread;
	pthread_barrier_t *start;
};

static void check(cudaError_t rc, const char *what)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "alloc-speed: %s: %s\n", what, cudaGetErrorString(rc));
	exit(2);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static unsigned draw(struct holder *holder)
{
	holder->random = holder->random * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(holder->random >> 33);
}

static size_t draw_size(struct holder *holder)
{
	unsigned log = holder->size_low + draw(holder) % (holder->size_high - holder->size_low);

	return ((size_t)1 << log) + draw(holder) % ((size_t)1 << log);
}

static void fill(struct holder *holder, unsigned count, cudaStream_t stream)
{
	holder->stream = stream;
	holder->count = count;
	holder->blocks = calloc(count, sizeof(*holder->blocks));
	for (unsigned i = 0; i < count; i++)
		check(cudaMallocAsync(&holder->blocks[i], draw_size(holder), stream), "cudaMallocAsync");
}

static void empty(struct holder *holder)
{
	for (unsigned i = 0; i < holder->count; i++)
		check(cudaFreeAsync(holder->blocks[i], holder->stream), "cudaFreeAsync");
	free(holder->blocks);
	check(cudaStreamSynchronize(holder->stream), "cudaStreamSynchronize");
}

static int ascending(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return difference < 0 ? -1 : difference > 0;
}

/* Leaves the batches sorted. */
static void work(struct holder *holder)
{
	for (unsigned batch = 0; batch < BATCHES; batch++) {
		double from = now_ns();

		for (unsigned pair = 0; pair < BATCH_PAIRS; pair++) {
			void **block = &holder->blocks[draw(holder) % holder->count];

			check(cudaFreeAsync(*block, holder->stream), "cudaFreeAsync");
			check(cudaMallocAsync(block, draw_size(holder), holder->stream), "cudaMallocAsync");
		}
		holder->batch_ns[batch] = (now_ns() - from) / (2 * BATCH_PAIRS);
	}
	qsort(holder->batch_ns, BATCHES, sizeof(holder->batch_ns[0]), ascending);
}

static void measure_live(unsigned most)
{
	static struct holder holder;

	for (unsigned live = 100; live <= most; live *= 10) {
		holder = (struct holder){.size_low = 9, .size_high = 11, .random = live};
		fill(&holder, live, NULL);
		work(&holder);
		printf("%8u live blocks: least %6.0f ns, median %6.0f ns an operation\n", live, holder.batch_ns[0],
		       holder.batch_ns[BATCHES / 2]);
		empty(&holder);
	}
}

static void *run(void *argument)
{
	struct worker *worker = argument;
	cudaStream_t stream;

	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
	fill(&worker->holder, THREAD_LIVE, stream);
	pthread_barrier_wait(worker->start);
	work(&worker->holder);
	pthread_barrier_wait(worker->start);
	empty(&worker->holder);
	check(cudaStreamDestroy(stream), "cudaStreamDestroy");
	return NULL;
}

static void measure_threads(unsigned most)
{
	static struct worker workers[THREADS_MAX];
	double one = 0;

	for (unsigned count = 1; count <= most && count <= THREADS_MAX; count *= 2) {
		pthread_barrier_t start;
		double least = 1e18, medians = 0;

		pthread_barrier_init(&start, NULL, count);
		for (unsigned i = 0; i < count; i++) {
			workers[i] = (struct worker){.holder = {.size_low = 9, .size_high = 20, .random = i}, .start = &start};
			if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
				exit(2);
		}
		for (unsigned i = 0; i < count; i++) {
			pthread_join(workers[i].thread, NULL);
			medians += workers[i].holder.batch_ns[BATCHES / 2] / count;
			if (workers[i].holder.batch_ns[0] < least)
				least = workers[i].holder.batch_ns[0];
		}
		pthread_barrier_destroy(&start);
		if (count == 1)
			one = medians;
		printf("%8u threads: least %6.0f ns, median %6.0f ns an operation, %.2f of one thread\n", count, least,
		       medians, medians / one);
	}
}

int main(int count, char **words)
{
	unsigned long most = count > 2 ? strtoul(words[2], NULL, 10) : 0;
	unsigned long long threshold = UINT64_MAX;
	cudaMemPool_t pool;

	check(cudaFree(NULL), "cannot start CUDA");
	check(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
	check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), "cudaMemPoolSetAttribute");
	if (count < 2 || !strcmp(words[1], "live"))
		measure_live(most ? (unsigned)most : 1000000);
	if (count < 2 || !strcmp(words[1], "threads"))
		measure_threads(most ? (unsigned)most : 16);
	return 0;
}
