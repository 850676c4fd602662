/* Programs of launch_bound whose launches have other work between them, with integers.
 *
 *	histogram	counts on one stream, their running sums on a second one, events between them
 *	transfers	fills and copies between the kernels: on the device, and from and to pinned memory
 *	temporaries	memory of several sizes, taken and given back in each step */
#include "tests/gpu/check.h"
#include "tests/gpu/launch_bound.h"

typedef std::vector<uint32_t> words;

/* --- histogram: counts of step n lie in buffer n % 2, which `stream` may use again when `second` has read it */

enum { BINS = 256, VALUES = 4096 };

static uint32_t *counts[2], *running, *history;
static cudaStream_t second;
static cudaEvent_t full[2], read_out[2];

static __host__ __device__ uint32_t bin_of(uint32_t seed, int i)
{
	return (random_word(seed, (uint32_t)i) & random_word(seed, (uint32_t)i + VALUES)) % BINS;
}

static __host__ __device__ uint32_t history_with(uint32_t history, uint32_t running)
{
	return history * 31 + running;
}

__global__ void count_values(uint32_t *counts, uint32_t seed)
{
	atomicAdd(&counts[bin_of(seed, INDEX)], 1);
}

/* One block of BINS. */
__global__ void sum_up(uint32_t *running, const uint32_t *counts)
{
	__shared__ uint32_t sums[BINS];
	int bin = (int)threadIdx.x;

	sums[bin] = counts[bin];
	for (int distance = 1; distance < BINS; distance *= 2) {
		uint32_t other;

		__syncthreads();
		other = bin >= distance ? sums[bin - distance] : 0;
		__syncthreads();
		sums[bin] += other;
	}
	running[bin] = sums[bin];
}

__global__ void note(uint32_t *history, const uint32_t *running)
{
	history[INDEX] = history_with(history[INDEX], running[INDEX]);
}

static void *histogram_begin(int, size_t *ret_bytes)
{
	for (int i = 0; i < 2; i++) {
		counts[i] = take<uint32_t>(BINS);
		CHECK(cudaEventCreateWithFlags(&full[i], cudaEventDisableTiming));
		CHECK(cudaEventCreateWithFlags(&read_out[i], cudaEventDisableTiming));
	}
	running = take<uint32_t>(BINS);
	history = take<uint32_t>(BINS);
	CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	*ret_bytes = BINS * sizeof(uint32_t);
	return history;
}

static void histogram_pass(uint32_t seed, int steps)
{
	CHECK(cudaMemsetAsync(history, 0, BINS * sizeof(uint32_t), second));
	for (int step = 0; step < steps; step++) {
		int turn = step % 2;

		CHECK(cudaStreamWaitEvent(stream, read_out[turn], 0));
		CHECK(cudaMemsetAsync(counts[turn], 0, BINS * sizeof(uint32_t), stream));
		count_values<<<VALUES / THREADS, THREADS, 0, stream>>>(counts[turn], seed_of(seed, step));
		CHECK(cudaEventRecord(full[turn], stream));
		CHECK(cudaStreamWaitEvent(second, full[turn], 0));
		sum_up<<<1, BINS, 0, second>>>(running, counts[turn]);
		CHECK(cudaEventRecord(read_out[turn], second));
		note<<<BINS / THREADS, THREADS, 0, second>>>(history, running);
	}
}

static bool histogram_right(uint32_t seed, int steps, const void *result)
{
	words ours(BINS);

	for (int step = 0; step < steps; step++) {
		uint32_t bins[BINS] = {0}, sum = 0;

		for (int i = 0; i < VALUES; i++)
			bins[bin_of(seed_of(seed, step), i)]++;
		for (size_t i = 0; i < BINS; i++)
			ours[i] = history_with(ours[i], sum += bins[i]);
	}
	return same(ours, result);
}

const struct bound_program bound_histogram = {"histogram", 400, histogram_begin, histogram_pass, histogram_right};

/* --- transfers: in each step, a number comes from pinned memory, a field is set to zero, gets what the cells send
 * there, and is copied over the cells; every LOG_EVERY steps a cell is copied to pinned memory, which goes behind the
 * cells at the end */

enum { PLACES = 2048, LOG_EVERY = 16, TABLE = 4096 };

static uint32_t *places, *sent, *turn_now, *table, *logged; /* the two last: pinned */

static __host__ __device__ int target_of(uint32_t cell, uint32_t turn, int i)
{
	return (int)((cell + turn * (uint32_t)i) % PLACES);
}

static __host__ __device__ uint32_t cell_with(uint32_t cell, uint32_t sent)
{
	return cell * 1664525u + sent;
}

__global__ void send(uint32_t *sent, const uint32_t *places, const uint32_t *turn)
{
	atomicAdd(&sent[target_of(places[INDEX], *turn, INDEX)], places[INDEX] >> 8);
}

__global__ void receive(uint32_t *sent, const uint32_t *places)
{
	sent[INDEX] = cell_with(places[INDEX], sent[INDEX]);
}

static int logs_of(int steps)
{
	return (steps + LOG_EVERY - 1) / LOG_EVERY;
}

static void *transfers_begin(int steps, size_t *ret_bytes)
{
	places = take<uint32_t>(PLACES + logs_of(steps));
	sent = take<uint32_t>(PLACES);
	turn_now = take<uint32_t>(1);
	CHECK(cudaMallocHost(&table, TABLE * sizeof(*table)));
	CHECK(cudaMallocHost(&logged, (size_t)logs_of(steps) * sizeof(*logged)));
	for (int i = 0; i < TABLE; i++)
		table[i] = random_word(7, (uint32_t)i);
	*ret_bytes = (size_t)(PLACES + logs_of(steps)) * sizeof(uint32_t);
	return places;
}

static void transfers_pass(uint32_t seed, int steps)
{
	size_t log_bytes = (size_t)logs_of(steps) * sizeof(uint32_t);

	fill<uint32_t><<<blocks(PLACES), THREADS, 0, stream>>>(places, seed, PLACES);
	for (int step = 0; step < steps; step++) {
		CHECK(cudaMemcpyAsync(turn_now, &table[step % TABLE], sizeof(*table), cudaMemcpyHostToDevice, stream));
		CHECK(cudaMemsetAsync(sent, 0, PLACES * sizeof(uint32_t), stream));
		send<<<PLACES / THREADS, THREADS, 0, stream>>>(sent, places, turn_now);
		receive<<<PLACES / THREADS, THREADS, 0, stream>>>(sent, places);
		CHECK(cudaMemcpyAsync(places, sent, PLACES * sizeof(uint32_t), cudaMemcpyDeviceToDevice, stream));
		if (step % LOG_EVERY == 0)
			CHECK(cudaMemcpyAsync(&logged[step / LOG_EVERY], &places[step % PLACES], sizeof(*logged),
					      cudaMemcpyDeviceToHost, stream));
	}
	CHECK(cudaMemcpyAsync(places + PLACES, logged, log_bytes, cudaMemcpyHostToDevice, stream));
}

static bool transfers_right(uint32_t seed, int steps, const void *result)
{
	words cells = filled<uint32_t>(seed, PLACES), log;

	for (int step = 0; step < steps; step++) {
		words next(PLACES);

		for (int i = 0; i < PLACES; i++)
			next[(size_t)target_of(cells[(size_t)i], table[step % TABLE], i)] += cells[(size_t)i] >> 8;
		for (size_t i = 0; i < PLACES; i++)
			next[i] = cell_with(cells[i], next[i]);
		cells.swap(next);
		if (step % LOG_EVERY == 0)
			log.push_back(cells[(size_t)(step % PLACES)]);
	}
	return same(cells, result) && same(log, result, PLACES);
}

const struct bound_program bound_transfers = {"transfers", 300, transfers_begin, transfers_pass, transfers_right};

/* --- temporaries: a step takes two pieces whose sizes come again after SIZES steps, and gives them back in the order
 * it took them */

enum { STATE = 1024, SIZES = 5 };

static uint32_t *state;

static int copies_of(int step)
{
	return 1 + step % SIZES;
}

static __host__ __device__ uint32_t spread_at(const uint32_t *state, int i)
{
	return random_word(state[i % STATE], (uint32_t)i);
}

static __host__ __device__ uint32_t pair_at(const uint32_t *spread, int i, int count)
{
	return spread[i] * 31 + spread[count - 1 - i];
}

__global__ void spread(uint32_t *to, const uint32_t *state, int count)
{
	if (INDEX < count)
		to[INDEX] = spread_at(state, INDEX);
}

__global__ void pair(uint32_t *to, const uint32_t *spread, int count)
{
	if (INDEX < count)
		to[INDEX] = pair_at(spread, INDEX, count);
}

__global__ void gather(uint32_t *state, const uint32_t *pairs, int copies)
{
	for (int i = 0; i < copies; i++)
		state[INDEX] += pairs[i * STATE + INDEX];
}

static void *temporaries_begin(int, size_t *ret_bytes)
{
	unsigned long long all = ~0ull;
	cudaMemPool_t pool;

	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
	state = take<uint32_t>(STATE);
	*ret_bytes = STATE * sizeof(uint32_t);
	return state;
}

static void temporaries_pass(uint32_t seed, int steps)
{
	fill<uint32_t><<<blocks(STATE), THREADS, 0, stream>>>(state, seed, STATE);
	for (int step = 0; step < steps; step++) {
		int count = copies_of(step) * STATE;
		uint32_t *a, *b;

		CHECK(cudaMallocAsync(&a, (size_t)count * sizeof(*a), stream));
		spread<<<blocks(count), THREADS, 0, stream>>>(a, state, count);
		CHECK(cudaMallocAsync(&b, (size_t)count * sizeof(*b), stream));
		pair<<<blocks(count), THREADS, 0, stream>>>(b, a, count);
		CHECK(cudaFreeAsync(a, stream));
		gather<<<STATE / THREADS, THREADS, 0, stream>>>(state, b, copies_of(step));
		CHECK(cudaFreeAsync(b, stream));
	}
}

static bool temporaries_right(uint32_t seed, int steps, const void *result)
{
	words ours = filled<uint32_t>(seed, STATE);

	for (int step = 0; step < steps; step++) {
		int count = copies_of(step) * STATE;
		words a((size_t)count);

		for (int i = 0; i < count; i++)
			a[(size_t)i] = spread_at(ours.data(), i);
		for (int i = 0; i < count; i++)
			ours[(size_t)(i % STATE)] += pair_at(a.data(), i, count);
	}
	return same(ours, result);
}

const struct bound_program bound_temporaries = {"temporaries", 300, temporaries_begin, temporaries_pass,
						temporaries_right};
