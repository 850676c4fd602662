/* Model of the submission queue and of the allocator above it: kernels wait in a queue until a call needs them, or it
 * is full; the event that says when freed memory may go to another stream waits in line behind them. */
#include "tests/mutants/victim.h"

enum { STREAMS = 3, BLOCKS = 4, WORDS = 20000, QUEUE_LENGTH = 24, STEPS = 400 };

enum call { CALL_LAUNCH, CALL_RECORD, CALL_COPY_TO_HOST, CALL_SYNC, CALL_COUNT };

/* Calls before which the queue must be empty. */
static const bool flushes[CALL_COUNT] = {
    [CALL_COPY_TO_HOST] = true,
    [CALL_SYNC] = true,
};

struct block {
	uint32_t *words;
	uint32_t value;
	unsigned stream; /* that uses it, or freed it */
	bool live;
	cudaEvent_t event; /* behind the work of the last owner, when no record of it is queued */
	unsigned records;  /* that are */
};

enum kind { KIND_FILL, KIND_VERIFY, KIND_DELAY, KIND_RECORD };

struct entry {
	enum kind kind;
	struct block *block;
	uint32_t value;
	unsigned stream;
};

static cudaStream_t streams[STREAMS];
static struct block blocks[BLOCKS];
static struct entry queue[QUEUE_LENGTH];
static unsigned queued;

static void submit(const struct entry *entry)
{
	struct block *block = entry->block;
	cudaStream_t stream = streams[entry->stream];

	switch (entry->kind) {
	case KIND_FILL:
		kernel_fill(block->words, entry->value, WORDS, stream);
		break;
	case KIND_VERIFY:
		kernel_verify(block->words, entry->value, WORDS, victim_errors, stream);
		break;
	case KIND_DELAY:
		kernel_delay(entry->value, stream);
		break;
	case KIND_RECORD:
		NEED(cudaEventRecord(block->event, stream));
		block->records--;
	}
}

static void flush(void)
{
	for (unsigned i = 0; i < queued; i++)
		submit(&queue[i]);
	queued = 0;
}

static void before(enum call call)
{
	if (flushes[call] || queued == QUEUE_LENGTH)
		flush();
}

static void defer(enum kind kind, struct block *block, uint32_t value)
{
	before(kind == KIND_RECORD ? CALL_RECORD : CALL_LAUNCH);
	queue[queued++] = (struct entry){.kind = kind, .block = block, .value = value, .stream = block->stream};
}

static void block_free(struct block *block)
{
	defer(KIND_VERIFY, block, block->value);
	block->live = false;
	block->records++;
	defer(KIND_RECORD, block, 0);
}

/* For the stream: freed there, or known to be idle. */
static struct block *block_take(unsigned stream)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		struct block *block = &blocks[i];

		if (block->live)
			continue;
		if (block->stream == stream || (block->records == 0 && cudaEventQuery(block->event) == cudaSuccess))
			return block;
	}
	return NULL;
}

static uint32_t read_on_host(struct block *block)
{
	static uint32_t host[WORDS];
	uint32_t wrong = 0;

	before(CALL_COPY_TO_HOST);
	NEED(cudaMemcpyAsync(host, block->words, sizeof(host), cudaMemcpyDeviceToHost, streams[block->stream]));
	NEED(cudaStreamSynchronize(streams[block->stream]));
	for (unsigned i = 0; i < WORDS; i++)
		wrong += host[i] != block->value;
	return wrong;
}

int main(void)
{
	uint32_t wrong = 0;

	victim_init();
	for (unsigned i = 0; i < STREAMS; i++)
		streams[i] = stream_new();
	for (unsigned i = 0; i < BLOCKS; i++) {
		NEED(cudaMalloc((void **)&blocks[i].words, WORDS * sizeof(uint32_t)));
		NEED(cudaEventCreateWithFlags(&blocks[i].event, cudaEventDisableTiming));
	}
	for (unsigned step = 0; step < STEPS; step++) {
		struct block *block = &blocks[victim_draw(BLOCKS)];
		unsigned stream = victim_draw(STREAMS);

		if (block->live && victim_draw(6) == 0)
			wrong += read_on_host(block);
		if (block->live) {
			defer(KIND_DELAY, block, 1 + victim_draw(20));
			block_free(block);
		}
		block = block_take(stream);
		if (block != NULL) {
			block->live = true;
			block->stream = stream;
			block->value = victim_draw(1u << 30);
			defer(KIND_FILL, block, block->value);
		}
	}
	before(CALL_SYNC);
	return victim_end(wrong);
}
