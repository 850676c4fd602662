/* Uploads through a ring of three pinned buffers: a buffer is written again only when the event behind its copy has come, which is
 * two steps old by then. The compute stream waits for the copy, the copy for the compute that read its target. All is in order, and
 * the device never runs dry.
 *
 * settings: hazards:on */
#include "tests/labelled/blind/work.h"

enum { RING = 3 };

struct slot {
	void *host;
	uint32_t *words;
	cudaEvent_t copied, used;
};

static APART void slot_refill(struct slot *slot, unsigned step)
{
	NEED(cudaEventSynchronize(slot->copied));
	memset(slot->host, (int)step, WORDS_BYTES / 16);
}

int main(void)
{
	static struct slot ring[RING];
	cudaStream_t copies, compute;

	work_start();
	copies = stream_new();
	compute = stream_new();
	for (unsigned i = 0; i < RING; i++) {
		NEED(cudaHostAlloc(&ring[i].host, WORDS_BYTES, cudaHostAllocDefault));
		memset(ring[i].host, 0, WORDS_BYTES);
		ring[i].words = words_new();
		ring[i].copied = event_new();
		ring[i].used = event_new();
	}
	for (unsigned step = 0; step < STEPS; step++) {
		struct slot *slot = &ring[step % RING];

		slot_refill(slot, step);
		NEED(cudaStreamWaitEvent(copies, slot->used, 0));
		NEED(cudaMemcpyAsync(slot->words, slot->host, WORDS_BYTES, cudaMemcpyHostToDevice, copies));
		NEED(cudaEventRecord(slot->copied, copies));
		NEED(cudaStreamWaitEvent(compute, slot->copied, 0));
		busy(slot->words, compute);
		NEED(cudaEventRecord(slot->used, compute));
	}
	NEED(cudaDeviceSynchronize());
	for (unsigned i = 0; i < RING; i++)
		NEED(cudaFreeHost(ring[i].host));
	return 0;
}
