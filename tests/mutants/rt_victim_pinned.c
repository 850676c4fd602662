/* Model of the cache of pinned memory: what was freed is handed out again when the copies from and to it are done. */
#include "tests/mutants/victim.h"

enum { STREAMS = 2, BUFFERS = 3, WORDS = 100000, STEPS = 60 };

struct buffer {
	uint32_t *words; /* on the host */
	cudaEvent_t event;
};

static struct buffer buffers[BUFFERS];

static struct buffer *buffer_take(void)
{
	unsigned first = victim_draw(BUFFERS);

	for (unsigned i = 0;; i = (i + 1) % BUFFERS) {
		struct buffer *buffer = &buffers[(first + i) % BUFFERS];

		if (cudaEventQuery(buffer->event) == cudaSuccess)
			return buffer;
	}
}

static void buffer_free(struct buffer *buffer, cudaStream_t stream)
{
	NEED(cudaEventRecord(buffer->event, stream));
}

int main(void)
{
	cudaStream_t streams[STREAMS];
	uint32_t *words[STREAMS];

	victim_init();
	for (unsigned i = 0; i < STREAMS; i++) {
		streams[i] = stream_new();
		NEED(cudaMalloc((void **)&words[i], WORDS * sizeof(uint32_t)));
	}
	for (unsigned i = 0; i < BUFFERS; i++) {
		NEED(cudaMallocHost((void **)&buffers[i].words, WORDS * sizeof(uint32_t)));
		NEED(cudaEventCreateWithFlags(&buffers[i].event, cudaEventDisableTiming));
	}
	for (uint32_t step = 1; step <= STEPS; step++) {
		struct buffer *buffer = buffer_take();
		unsigned at = victim_draw(STREAMS);

		for (unsigned i = 0; i < WORDS; i++)
			buffer->words[i] = step;
		kernel_delay(1 + victim_draw(10), streams[at]);
		NEED(cudaMemcpyAsync(words[at], buffer->words, WORDS * sizeof(uint32_t), cudaMemcpyHostToDevice,
				     streams[at]));
		buffer_free(buffer, streams[at]);
		kernel_verify(words[at], step, WORDS, victim_errors, streams[at]);
	}
	return victim_end(0);
}
