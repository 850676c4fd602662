/* Model of replay: a sequence of launches is a graph; each round, arguments that are not those of the last round are
 * patched before the graph is launched. */
#include "tests/mutants/victim.h"

enum { NODES = 6, BLOCKS = 3, WORDS = 4096, ROUNDS = 60 };

struct arguments {
	uint32_t *words;
	uint32_t value;
	uint64_t count;
};

static cudaGraphNode_t nodes[NODES];
static struct arguments last[NODES];

static struct cudaKernelNodeParams params_of(void **kernel_params)
{
	return (struct cudaKernelNodeParams){.func = (void *)kernel_stub_fill,
					     .gridDim = {1, 1, 1},
					     .blockDim = {128, 1, 1},
					     .kernelParams = kernel_params};
}

static bool arguments_same(const struct arguments *a, const struct arguments *b)
{
	return a->words == b->words && a->value == b->value && a->count == b->count;
}

static void patch(cudaGraphExec_t exec, unsigned node, struct arguments *now)
{
	void *kernel_params[] = {&now->words, &now->value, &now->count};
	struct cudaKernelNodeParams params = params_of(kernel_params);

	if (arguments_same(&last[node], now))
		return;
	NEED(cudaGraphExecKernelNodeSetParams(exec, nodes[node], &params));
	last[node] = *now;
}

static cudaGraphExec_t build(uint32_t *words)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	NEED(cudaGraphCreate(&graph, 0));
	for (unsigned i = 0; i < NODES; i++) {
		void *kernel_params[] = {&last[i].words, &last[i].value, &last[i].count};
		struct cudaKernelNodeParams params = params_of(kernel_params);

		last[i] = (struct arguments){.words = words, .value = 0, .count = 1};
		NEED(cudaGraphAddKernelNode(&nodes[i], graph, i > 0 ? &nodes[i - 1] : NULL, i > 0, &params));
	}
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

int main(void)
{
	uint32_t *blocks[BLOCKS];
	cudaGraphExec_t exec;
	cudaStream_t stream;

	victim_init();
	stream = stream_new();
	for (unsigned i = 0; i < BLOCKS; i++)
		NEED(cudaMalloc((void **)&blocks[i], NODES * WORDS * sizeof(uint32_t)));
	exec = build(blocks[0]);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct arguments now[NODES];

		for (unsigned i = 0; i < NODES; i++) {
			now[i] = last[i];
			if (round == 0 || victim_draw(3) == 0)
				now[i].words = blocks[victim_draw(BLOCKS)] + i * WORDS;
			if (round == 0 || victim_draw(3) == 0)
				now[i].value = 1 + victim_draw(1000);
			if (round == 0 || victim_draw(3) == 0)
				now[i].count = 1 + victim_draw(WORDS);
			kernel_fill(now[i].words, 0, WORDS, stream);
			patch(exec, i, &now[i]);
		}
		NEED(cudaGraphLaunch(exec, stream));
		for (unsigned i = 0; i < NODES; i++) {
			kernel_verify(now[i].words, now[i].value, now[i].count, victim_errors, stream);
			if (now[i].count < WORDS)
				kernel_verify(now[i].words + now[i].count, 0, WORDS - now[i].count, victim_errors,
					      stream);
		}
	}
	return victim_end(0);
}
