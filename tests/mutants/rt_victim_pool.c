/* Model of a pool of memory for captures: what a captured graph uses stays its own until the graph and every executable
 * made of it are gone. */
#include "tests/mutants/victim.h"

enum { BLOCKS = 4, WORDS = 20000, ROUNDS = 20 };

struct pool {
	unsigned users; /* graphs and executables */
	uint32_t *words;
};

static uint32_t *idle[BLOCKS];
static unsigned idle_count;

static uint32_t *block_take(void)
{
	return idle[--idle_count];
}

static void block_give(uint32_t *words)
{
	idle[idle_count++] = words;
}

static void pool_unref(struct pool *pool)
{
	if (--pool->users == 0)
		block_give(pool->words);
}

/* out = value, by way of the pool's memory; then it verifies that. */
static cudaGraph_t capture(struct pool *pool, uint32_t value, cudaStream_t stream)
{
	cudaGraph_t graph;

	pool->words = block_take();
	pool->users = 1;
	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	kernel_fill(pool->words, value, WORDS, stream);
	kernel_delay(5, stream);
	kernel_verify(pool->words, value, WORDS, victim_errors, stream);
	NEED(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraphExec_t instantiate(struct pool *pool, cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	NEED(cudaGraphInstantiate(&exec, graph, 0));
	pool->users++;
	return exec;
}

int main(void)
{
	cudaStream_t stream, other;

	victim_init();
	stream = stream_new();
	other = stream_new();
	for (unsigned i = 0; i < BLOCKS; i++) {
		uint32_t *words;

		NEED(cudaMalloc((void **)&words, WORDS * sizeof(uint32_t)));
		block_give(words);
	}
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct pool pool;
		cudaGraph_t graph = capture(&pool, round, stream);
		cudaGraphExec_t exec = instantiate(&pool, graph);
		uint32_t *words;

		NEED(cudaGraphDestroy(graph));
		pool_unref(&pool);
		words = block_take();
		kernel_fill(words, 1000 + round, WORDS, other);
		NEED(cudaGraphLaunch(exec, stream));
		kernel_verify(words, 1000 + round, WORDS, victim_errors, other);
		NEED(cudaStreamSynchronize(stream));
		NEED(cudaGraphExecDestroy(exec));
		pool_unref(&pool);
		NEED(cudaStreamSynchronize(other));
		block_give(words);
	}
	return victim_end(0);
}
