/* A random but legal program: allocates with every call there is, fills, adds and verifies by kernels on several
 * streams, orders streams by events, frees by either call, gives memory back. Prints how much it did and how many words were ever wrong;
 * the output depends on argv[1] (seed) alone. argv[2]: number of operations.
 *
 * A block is used on one stream at a time, its own; to move it the program records an event and lets the other stream
 * wait. cudaFree comes without any waiting: the driver's own waits for the device. All memory is announced to the
 * simulated driver, which ends the program with a status of its own when queued work and a new owner meet; the delays
 * are long enough that work is behind under every policy that lets it be. */
#include "tests/preload/kernel.h"
#include "tests/preload/shadow.h"

enum { STREAMS = 5, SLOTS = 24, MOST_WORDS = 1500000 };

struct slot {
	uint32_t *words; /* NULL = empty */
	uint64_t count;
	uint32_t value;
	unsigned stream; /* where its last work was submitted */
	bool ordered;	 /* from cudaMallocAsync: may be freed by cudaFreeAsync */
};

static cudaStream_t streams[STREAMS]; /* the last two are a blocking stream and the NULL stream */
static struct slot slots[SLOTS];
static uint32_t *errors;
static unsigned long allocations, frees, moves;
static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* The block's work so far comes before what follows on the other stream. */
static void slot_move(struct slot *slot, unsigned stream)
{
	cudaEvent_t event;

	if (slot->stream == stream)
		return;
	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	NEED(cudaEventRecord(event, streams[slot->stream]));
	NEED(cudaStreamWaitEvent(streams[stream], event, 0));
	NEED(cudaEventDestroy(event));
	slot->stream = stream;
	moves++;
}

static void slot_verify(const struct slot *slot)
{
	kernel_verify(slot->words, slot->value, slot->count, errors, streams[slot->stream]);
}

static void slot_alloc(struct slot *slot)
{
	static const uint32_t limits[] = {64, 4096, 100000, 300000};
	size_t size_bytes;

	slot->count = 1 + draw(draw(10) == 0 ? MOST_WORDS : limits[draw(4)]);
	slot->value = draw(1u << 30);
	slot->stream = draw(STREAMS);
	size_bytes = slot->count * sizeof(*slot->words);
	slot->ordered = true;
	switch (draw(3)) {
	case 0:
		slot->ordered = false;
		NEED(shadow_malloc((void **)&slot->words, size_bytes));
		break;
	case 1:
		NEED(shadow_malloc_async((void **)&slot->words, size_bytes, streams[slot->stream]));
		break;
	default: {
		cudaMemPool_t pool;

		NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
		NEED(shadow_malloc_from_pool_async((void **)&slot->words, size_bytes, pool, streams[slot->stream]));
	}
	}
	kernel_fill(slot->words, slot->value, slot->count, streams[slot->stream]);
	allocations++;
}

static void slot_free(struct slot *slot)
{
	slot_verify(slot);
	if (!slot->ordered || draw(2) == 0) {
		NEED(shadow_free(slot->words));
	} else {
		slot_move(slot, draw(STREAMS));
		NEED(shadow_free_async(slot->words, streams[slot->stream]));
	}
	slot->words = NULL;
	frees++;
}

static void slot_add(struct slot *slot, struct slot *other)
{
	uint64_t count = slot->count;

	if (other->words == NULL || other == slot || other->count < count)
		return;
	slot_move(other, slot->stream);
	kernel_add(slot->words, other->words, count, streams[slot->stream]);
	slot->value += other->value;
}

static void slot_check_on_host(struct slot *slot)
{
	static uint32_t host[MOST_WORDS];
	uint32_t wrong = 0;

	NEED(cudaStreamSynchronize(streams[slot->stream]));
	NEED(cudaMemcpy(host, slot->words, slot->count * sizeof(*host), cudaMemcpyDeviceToHost));
	for (uint64_t i = 0; i < slot->count; i++)
		wrong += host[i] != slot->value;
	if (wrong != 0)
		printf("%u words are wrong on the host\n", wrong);
}

/* Whatever is given back to the driver, work on it is not queued any more. */
static void trim(void)
{
	cudaMemPool_t pool;

	NEED(cudaDeviceGetDefaultMemPool(&pool, 0));
	NEED(cudaMemPoolTrimTo(pool, draw(2) == 0 ? 0 : 4u << 20));
}

static void step(void)
{
	struct slot *slot = &slots[draw(SLOTS)];

	if (slot->words == NULL) {
		slot_alloc(slot);
		return;
	}
	switch (draw(9)) {
	case 0:
	case 1:
	case 2:
		slot_free(slot);
		break;
	case 3:
		slot_move(slot, draw(STREAMS));
		break;
	case 4:
		slot_check_on_host(slot);
		break;
	case 5:
		kernel_delay(1 + draw(400), streams[slot->stream]);
		break;
	case 6:
		if (draw(10) == 0)
			NEED(cudaDeviceSynchronize());
		break;
	case 7:
		if (draw(3) == 0)
			trim();
		break;
	default:
		slot_add(slot, &slots[draw(SLOTS)]);
	}
}

int main(int argc, char **argv)
{
	unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 1500;

	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	kernels_register();
	for (unsigned i = 0; i < STREAMS - 2; i++)
		streams[i] = stream_new();
	NEED(cudaStreamCreate(&streams[STREAMS - 2]));
	errors = errors_new();
	shadow_owner(errors, sizeof(*errors), SIM_SHADOW_ANY);
	while (steps-- > 0)
		step();
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i].words != NULL)
			slot_free(&slots[i]);
	printf("%lu allocations, %lu frees, %lu moves, %u words wrong\n", allocations, frees, moves,
	       errors_read(errors));
	for (unsigned i = 0; i < STREAMS - 1; i++)
		NEED(cudaStreamDestroy(streams[i]));
	NEED(shadow_free(errors));
	return 0;
}
