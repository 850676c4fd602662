/* Tensors that other streams use: when one is freed, an event on each of these streams says when its memory is free. */
#include <stdlib.h>

#include "tests/sim/torch/cache.h"

struct use {
	struct cache_block *block;
	cudaEvent_t event;
	struct use *next;
};

static struct use *uses;
static struct cache_block *deferred; /* freed while a capture was open: their events come afterwards */

static void record(struct cache_block *block)
{
	for (unsigned i = 0; i < block->use_count; i++) {
		struct use *use = malloc(sizeof(*use));

		if (use == NULL)
			abort();
		cache_need(cudaEventCreateWithFlags(&use->event, cudaEventDisableTiming), "cudaEventCreate");
		cache_need(cudaEventRecord(use->event, block->uses[i]), "cudaEventRecord");
		use->block = block;
		use->next = uses;
		uses = use;
		block->events++;
	}
	block->use_count = 0;
}

void uses_to_events(struct cache_block *block)
{
	if (pools_capturing()) {
		block->deferred_next = deferred;
		deferred = block;
	} else {
		record(block);
	}
}

static void record_deferred(void)
{
	struct cache_block *block;

	while ((block = deferred) != NULL) {
		deferred = block->deferred_next;
		record(block);
	}
}

static void finish(struct use **link)
{
	struct use *use = *link;

	*link = use->next;
	cache_need(cudaEventDestroy(use->event), "cudaEventDestroy");
	if (--use->block->events == 0)
		cache_block_idle(use->block);
	free(use);
}

void uses_poll(void)
{
	struct use **link = &uses;

	if (pools_capturing())
		return;
	record_deferred();
	while (*link != NULL) {
		cudaError_t error = cudaEventQuery((*link)->event);

		if (error == cudaSuccess) {
			finish(link);
			continue;
		}
		if (error != cudaErrorNotReady)
			cache_need(error, "cudaEventQuery");
		(void)cudaGetLastError();
		link = &(*link)->next;
	}
}

void uses_await(void)
{
	record_deferred();
	while (uses != NULL) {
		cache_need(cudaEventSynchronize(uses->event), "cudaEventSynchronize");
		finish(&uses);
	}
}
