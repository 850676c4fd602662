/* A random but legal program of graphs: captures and builds them over memory of cudaMalloc and cudaMallocAsync, with
 * memory of their own as well, launches them on several streams, changes what they launch, frees the memory behind the
 * last launch by either call while other memory comes and goes. Prints how much it did and how many words were ever
 * wrong; the output depends on argv[1] (seed) alone. argv[2]: number of operations.
 *
 * A launch of a graph: a = value; its own memory t = extra, on a forked stream; a += t; b += a. A graph that gives t to
 * the program leaves the free to that. All memory of allocators is announced to the simulated driver. */
#include "tests/preload/kernel.h"
#include "tests/preload/shadow.h"

enum { STREAMS = 4, SLOTS = 10, MOST_WORDS = 60000 };

struct slot {
	cudaGraph_t graph; /* NULL = empty */
	cudaGraphExec_t exec;
	uint32_t *a, *b, *t; /* t: the graph's */
	bool ordered;	     /* a and b are from cudaMallocAsync */
	bool gives;	     /* t outlives the launch */
	bool t_live;
	bool auto_free; /* the next launch frees it */
	uint64_t count;
	uint32_t value, extra, sum; /* sum: what b holds after the launches so far */
	unsigned stream;	    /* where the last launch went, or other work on a and b */
};

static cudaStream_t streams[STREAMS], side; /* the last stream is a blocking one */
static cudaEvent_t forked, joined;
static struct slot slots[SLOTS];
static uint32_t *errors;
static unsigned long graphs, launches, updates, noises;
static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Few sizes, so that memory finds a new owner soon. */
static uint64_t draw_count(void)
{
	static const uint32_t most[] = {300, 4000, 16000, MOST_WORDS};
	uint32_t limit = most[draw(4)];

	return limit - draw(limit / 10);
}

static void stream_follow(unsigned after, unsigned stream)
{
	cudaEvent_t event;

	if (after == stream)
		return;
	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	NEED(cudaEventRecord(event, streams[after]));
	NEED(cudaStreamWaitEvent(streams[stream], event, 0));
	NEED(cudaEventDestroy(event));
}

static void slot_capture(struct slot *slot, cudaStream_t stream)
{
	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	kernel_fill(slot->a, slot->value, slot->count, stream);
	NEED(cudaEventRecord(forked, stream));
	NEED(cudaStreamWaitEvent(side, forked, 0));
	NEED(cudaMallocAsync((void **)&slot->t, slot->count * sizeof(uint32_t), side));
	kernel_fill(slot->t, slot->extra, slot->count, side);
	NEED(cudaEventRecord(joined, side));
	kernel_delay(1 + draw(20), stream);
	NEED(cudaStreamWaitEvent(stream, joined, 0));
	kernel_add(slot->a, slot->t, slot->count, stream);
	kernel_add(slot->b, slot->a, slot->count, stream);
	if (!slot->gives)
		NEED(cudaFreeAsync(slot->t, stream));
	NEED(cudaStreamEndCapture(stream, &slot->graph));
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, void (*stub)(void),
				  void **params)
{
	struct cudaKernelNodeParams node = {(void *)stub, {1, 1, 1}, {128, 1, 1}, 0, params, NULL};
	cudaGraphNode_t made;

	NEED(cudaGraphAddKernelNode(&made, graph, after, count, &node));
	return made;
}

/* The same graph by hand. */
static void slot_build(struct slot *slot)
{
	struct cudaMemAllocNodeParams memory = {
	    .poolProps = {.allocType = cudaMemAllocationTypePinned, .location = {cudaMemLocationTypeDevice, 0}},
	    .bytesize = slot->count * sizeof(uint32_t)};
	cudaGraphNode_t fills[2], add, made;

	NEED(cudaGraphCreate(&slot->graph, 0));
	NEED(cudaGraphAddMemAllocNode(&made, slot->graph, NULL, 0, &memory));
	slot->t = memory.dptr;
	fills[0] = add_kernel(slot->graph, NULL, 0, kernel_stub_fill, (void *[]){&slot->a, &slot->value, &slot->count});
	fills[1] =
	    add_kernel(slot->graph, &made, 1, kernel_stub_fill, (void *[]){&slot->t, &slot->extra, &slot->count});
	add = add_kernel(slot->graph, fills, 2, kernel_stub_add, (void *[]){&slot->a, &slot->t, &slot->count});
	if (!slot->gives)
		NEED(cudaGraphAddMemFreeNode(&made, slot->graph, &add, 1, slot->t));
	add_kernel(slot->graph, &add, 1, kernel_stub_add, (void *[]){&slot->b, &slot->a, &slot->count});
}

static void slot_new(struct slot *slot)
{
	size_t size_bytes;
	unsigned stream = draw(STREAMS);

	*slot = (struct slot){.count = draw_count(),
			      .value = draw(1000),
			      .extra = draw(1000),
			      .ordered = draw(2),
			      .gives = draw(2),
			      .auto_free = draw(2),
			      .stream = stream};
	size_bytes = slot->count * sizeof(uint32_t);
	if (slot->ordered) {
		NEED(shadow_malloc_async((void **)&slot->a, size_bytes, streams[stream]));
		NEED(shadow_malloc_async((void **)&slot->b, size_bytes, streams[stream]));
	} else {
		NEED(shadow_malloc((void **)&slot->a, size_bytes));
		NEED(shadow_malloc((void **)&slot->b, size_bytes));
	}
	kernel_fill(slot->b, 0, slot->count, streams[stream]);
	if (draw(3))
		slot_capture(slot, streams[draw(STREAMS)]);
	else
		slot_build(slot);
	NEED(cudaGraphInstantiate(&slot->exec, slot->graph,
				  slot->auto_free ? cudaGraphInstantiateFlagAutoFreeOnLaunch : 0));
	graphs++;
}

/* By the program: t is its own until then. */
static void slot_give_back(struct slot *slot)
{
	if (!slot->t_live)
		return;
	kernel_verify(slot->t, slot->extra, slot->count, errors, streams[slot->stream]);
	if (draw(12))
		NEED(cudaFreeAsync(slot->t, streams[slot->stream]));
	else
		NEED(cudaFree(slot->t));
	slot->t_live = false;
}

static void slot_launch(struct slot *slot)
{
	unsigned stream = draw(STREAMS);

	if (!slot->auto_free)
		slot_give_back(slot);
	stream_follow(slot->stream, stream);
	slot->stream = stream;
	for (unsigned times = slot->gives && !slot->auto_free ? 1 : 1 + draw(4); times > 0; times--) {
		NEED(cudaGraphLaunch(slot->exec, streams[stream]));
		slot->sum += slot->value + slot->extra;
		launches++;
	}
	slot->t_live = slot->gives;
}

static void slot_verify(struct slot *slot)
{
	kernel_verify(slot->b, slot->sum, slot->count, errors, streams[slot->stream]);
}

static void slot_end(struct slot *slot)
{
	slot_verify(slot);
	if (draw(2)) {
		slot_give_back(slot);
		NEED(cudaGraphExecDestroy(slot->exec));
		NEED(cudaGraphDestroy(slot->graph));
	} else {
		NEED(cudaGraphDestroy(slot->graph));
		NEED(cudaGraphExecDestroy(slot->exec));
		slot_give_back(slot);
	}
	if (slot->ordered && draw(4)) {
		NEED(shadow_free_async(slot->a, streams[slot->stream]));
		NEED(shadow_free_async(slot->b, streams[slot->stream]));
	} else {
		NEED(shadow_free(slot->a));
		NEED(shadow_free(slot->b));
	}
	*slot = (struct slot){0};
}

/* The first node of a graph that fills a is found by its parameters. */
static void slot_update(struct slot *slot)
{
	struct cudaKernelNodeParams params;
	cudaGraphNode_t nodes[16];
	enum cudaGraphNodeType type;
	size_t count = 16;

	NEED(cudaGraphGetNodes(slot->graph, nodes, &count));
	for (size_t i = 0; i < count; i++) {
		NEED(cudaGraphNodeGetType(nodes[i], &type));
		if (type != cudaGraphNodeTypeKernel)
			continue;
		NEED(cudaGraphKernelNodeGetParams(nodes[i], &params));
		if (*(uint32_t **)params.kernelParams[0] != slot->a)
			continue;
		slot->value = draw(1000);
		params.kernelParams = (void *[]){&slot->a, &slot->value, &slot->count};
		NEED(cudaGraphExecKernelNodeSetParams(slot->exec, nodes[i], &params));
		updates++;
		return;
	}
}

/* Memory that comes and goes at once, written while it is there. */
static void noise(void)
{
	unsigned stream = draw(STREAMS);
	uint64_t count = draw_count();
	bool ordered = draw(2);
	uint32_t *words;

	if (ordered)
		NEED(shadow_malloc_async((void **)&words, count * sizeof(*words), streams[stream]));
	else
		NEED(shadow_malloc((void **)&words, count * sizeof(*words)));
	kernel_fill(words, 0xdeadbeef, count, streams[stream]);
	if (ordered && draw(2))
		NEED(shadow_free_async(words, streams[stream]));
	else
		NEED(shadow_free(words));
	noises++;
}

static void step(void)
{
	struct slot *slot = &slots[draw(SLOTS)];

	if (slot->graph == NULL) {
		slot_new(slot);
		return;
	}
	switch (draw(9)) {
	case 0:
		slot_end(slot);
		break;
	case 1:
		slot_update(slot);
		break;
	case 2:
		slot_verify(slot);
		break;
	case 3:
		kernel_delay(1 + draw(200), streams[draw(STREAMS)]);
		break;
	case 4:
		if (draw(8) == 0)
			NEED(cudaStreamSynchronize(streams[slot->stream]));
		else
			NEED(cudaDeviceGraphMemTrim(0));
		break;
	case 5:
	case 6:
		noise();
		break;
	default:
		slot_launch(slot);
	}
}

int main(int argc, char **argv)
{
	unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 1200;

	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	kernels_register();
	for (unsigned i = 0; i < STREAMS - 1; i++)
		streams[i] = stream_new();
	NEED(cudaStreamCreate(&streams[STREAMS - 1]));
	side = stream_new();
	NEED(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
	NEED(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
	errors = errors_new();
	shadow_owner(errors, sizeof(*errors), SIM_SHADOW_ANY);
	while (steps-- > 0)
		step();
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i].graph != NULL)
			slot_end(&slots[i]);
	printf("%lu graphs, %lu launches, %lu updates, %lu others, %u words wrong\n", graphs, launches, updates, noises,
	       errors_read(errors));
	return 0;
}
