/* Loops of tiny kernels, and two kinds of loop where a launch costs nothing that one could save:
 *
 *	constant	four kernels over and over, each with the same arguments
 *	ping-pong	one kernel between two buffers
 *	all-changing	one kernel of which no argument is what it was the last time
 *	hand-graph	as constant, by a graph of NODES launches that the program makes itself: as fast as it can be
 *	compute-bound	kernels that take far longer than their launch
 *	sync-every	as constant, with a wait after each launch
 *
 * Each kernel works on what the one before it left, and in no other order would the same come out: the last line has a
 * digest of the memory. */
#include <cuda_runtime.h>
#include <stdint.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"
#include "tests/gpu/turns.h"

enum {
	WIDTH = 32,
	LAUNCHES = 4000, /* in a step */
	NODES = 100,
	ROWS = 4099, /* prime: no arguments come again with the next step */
	WORDS = ROWS * WIDTH,
	WAITED = 400,
	GRINDS = 60,
	GRIND_BLOCKS = 264,
	GRIND_WIDTH = 256,
	GRIND_ROUNDS = 20000,
};

static cudaStream_t stream;
static cudaGraphExec_t graph;
static uint32_t *words;
static uint32_t passed; /* launches of all-changing so far */

__global__ void multiply(uint32_t *to, const uint32_t *from, uint32_t a, uint32_t b, int count)
{
	if ((int)threadIdx.x < count)
		to[threadIdx.x] = from[threadIdx.x] * a + b;
}

__global__ void fold(uint32_t *to, const uint32_t *from, uint32_t shift, uint32_t b, int count)
{
	if ((int)threadIdx.x < count)
		to[threadIdx.x] = (from[threadIdx.x] ^ from[threadIdx.x] >> shift) + b;
}

__global__ void turn(uint32_t *to, const uint32_t *from, uint32_t shift, uint32_t b, int count)
{
	if ((int)threadIdx.x < count)
		to[threadIdx.x] = (from[threadIdx.x] << shift | from[threadIdx.x] >> (32 - shift)) ^ b;
}

/* Not in place. */
__global__ void mix(uint32_t *to, const uint32_t *from, uint32_t a, uint32_t b, int count)
{
	if ((int)threadIdx.x < count)
		to[threadIdx.x] = from[threadIdx.x] * a + (from[(threadIdx.x + 1) % WIDTH] ^ b);
}

__global__ void grind(uint32_t *to, uint32_t a, uint32_t b, int rounds)
{
	uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, word = to[at];

	for (int i = 0; i < rounds; i++)
		word = word * a + (word >> 16 ^ b);
	to[at] = word;
}

static void four(int number)
{
	switch (number % 4) {
	case 0:
		multiply<<<1, WIDTH, 0, stream>>>(words, words, 1664525, 1013904223, WIDTH);
		break;
	case 1:
		fold<<<1, WIDTH, 0, stream>>>(words, words, 15, 0x9e3779b9, WIDTH);
		break;
	case 2:
		turn<<<1, WIDTH, 0, stream>>>(words, words, 7, 0x85ebca6b, WIDTH);
		break;
	default:
		multiply<<<1, WIDTH, 0, stream>>>(words, words, 22695477, 1, WIDTH - 1);
	}
}

static void constant(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		four(i);
	CHECK(cudaStreamSynchronize(stream));
}

static void ping_pong(void)
{
	for (int i = 0; i < LAUNCHES; i += 2) {
		mix<<<1, WIDTH, 0, stream>>>(words + WIDTH, words, 1664525, 1013904223, WIDTH);
		mix<<<1, WIDTH, 0, stream>>>(words, words + WIDTH, 1664525, 1013904223, WIDTH);
	}
	CHECK(cudaStreamSynchronize(stream));
}

static uint32_t *row(uint32_t number)
{
	return words + (size_t)(number % ROWS) * WIDTH;
}

static void all_changing(void)
{
	for (int i = 0; i < LAUNCHES; i++, passed++)
		mix<<<1, WIDTH, 0, stream>>>(row(passed + 1), row(passed), 2 * passed + 1, ~passed, WIDTH - passed % 7);
	CHECK(cudaStreamSynchronize(stream));
}

static void graph_make(void)
{
	cudaGraph_t captured;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < NODES; i++)
		four(i);
	CHECK(cudaStreamEndCapture(stream, &captured));
	CHECK(cudaGraphInstantiate(&graph, captured, 0));
	CHECK(cudaGraphDestroy(captured));
}

static void hand_graph(void)
{
	if (!graph)
		graph_make();
	for (int i = 0; i < LAUNCHES / NODES; i++)
		CHECK(cudaGraphLaunch(graph, stream));
	CHECK(cudaStreamSynchronize(stream));
}

static void compute_bound(void)
{
	for (int i = 0; i < GRINDS; i++)
		grind<<<GRIND_BLOCKS, GRIND_WIDTH, 0, stream>>>(words, 1664525, 1013904223 + i, GRIND_ROUNDS);
	CHECK(cudaStreamSynchronize(stream));
}

static void sync_every(void)
{
	for (int i = 0; i < WAITED; i++) {
		four(i);
		CHECK(cudaStreamSynchronize(stream));
	}
}

static const struct turns_program loops[] = {
	{"constant", constant, LAUNCHES},
	{"ping-pong", ping_pong, LAUNCHES},
	{"all-changing", all_changing, LAUNCHES},
	{"hand-graph", hand_graph, LAUNCHES},
	{"compute-bound", compute_bound, GRINDS},
	{"sync-every", sync_every, WAITED},
};

int main(int argc, char **argv)
{
	const struct turns_program *loop = turns_find(loops, sizeof(loops) / sizeof(*loops), argc, argv);
	static uint32_t host[WORDS];

	static_assert(GRIND_BLOCKS * GRIND_WIDTH <= WORDS, "they share the memory");
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&words, sizeof(host)));
	for (uint32_t i = 0; i < WORDS; i++)
		host[i] = i * 2654435761u;
	CHECK(cudaMemcpy(words, host, sizeof(host), cudaMemcpyHostToDevice));

	turns_run(loop, argc, argv);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(host, words, sizeof(host), cudaMemcpyDeviceToHost));
	printf("ok loops %s %016llx\n", loop->name, (unsigned long long)digest(host, sizeof(host)));
	return 0;
}
