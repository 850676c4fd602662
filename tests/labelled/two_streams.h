/* Two streams that do not wait for each other, and an event to order them by. */
#ifndef TWO_STREAMS_H
#define TWO_STREAMS_H

#include "tests/labelled/label.h"

static cudaStream_t first, second;
static cudaEvent_t event;

static inline void start(void)
{
	kernels_register();
	first = stream_new();
	second = stream_new();
	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
}

#endif
