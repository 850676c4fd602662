/* Events: see event.h. */
#include "tests/soak/event.h"

#include <stddef.h>

#include "tests/soak/context.h"
#include "tests/soak/crew.h"
#include "tests/soak/draw.h"
#include "tests/soak/say.h"

enum { EVENTS = 12 };

static struct {
	cudaEvent_t event; /* NULL = free slot */
	int context;
	bool recorded;
	struct clock clock;
} slots[EVENTS];

static cudaEvent_t event_new(void)
{
	static const unsigned flags[] = {cudaEventDefault, cudaEventDisableTiming, cudaEventDisableTiming,
					 cudaEventBlockingSync};
	cudaEvent_t event;

	NEED_OK(cudaEventCreateWithFlags(&event, flags[way(4)]));
	return event;
}

void event_destroy(cudaEvent_t event)
{
	NEED_OK(cudaEventDestroy(event));
}

struct record {
	const struct stream *stream;
	cudaEvent_t event; /* NULL: makes one */
};

static void record_job(void *argument)
{
	struct record *record = argument;

	context_enter(record->stream->context);
	if (record->event == NULL)
		record->event = event_new();
	NEED_OK(cudaEventRecord(record->event, record->stream->handle));
}

static cudaEvent_t record_on(int index, cudaEvent_t event, struct clock *ret_clock)
{
	const struct stream *stream = &streams[index];
	struct record record = {stream, event};

	crew_run(stream->thread >= 0 ? stream->thread : crew_self(), record_job, &record);
	stream_submit_record(index);
	*ret_clock = stream->clock;
	return record.event;
}

cudaEvent_t event_recorded(int stream, struct clock *ret_clock)
{
	return record_on(stream, NULL, ret_clock);
}

void event_await(cudaEvent_t event, const struct clock *clock)
{
	cudaError_t error;

	if (way(3) == 0) {
		while ((error = cudaEventQuery(event)) == cudaErrorNotReady)
			cudaGetLastError();
		NEED_OK(error);
	} else {
		NEED_OK(cudaEventSynchronize(event));
	}
	host_knows(clock);
}

struct wait {
	const struct stream *stream;
	cudaEvent_t event;
};

static void wait_job(void *argument)
{
	const struct wait *wait = argument;

	context_enter(wait->stream->context);
	NEED_OK(cudaStreamWaitEvent(wait->stream->handle, wait->event, 0));
}

void stream_wait(int index, cudaEvent_t event, const struct clock *clock)
{
	struct stream *stream = &streams[index];
	struct wait wait = {stream, event};

	crew_run(stream->thread >= 0 ? stream->thread : crew_self(), wait_job, &wait);
	stream_submit_wait(index, clock);
}

const struct clock *event_find(int stream, uint32_t number, cudaEvent_t *ret_event)
{
	unsigned from = way(EVENTS);

	for (unsigned i = 0; i < EVENTS; i++) {
		unsigned at = (from + i) % EVENTS;

		if (slots[at].event != NULL && slots[at].recorded && slots[at].clock.at[stream] >= number) {
			*ret_event = slots[at].event;
			return &slots[at].clock;
		}
	}
	return NULL;
}

void events_forget(int context)
{
	for (unsigned i = 0; i < EVENTS; i++)
		if (slots[i].event != NULL && slots[i].context == context)
			slots[i].event = NULL;
}

/* --- Operations */

void event_make_or_destroy(int context)
{
	unsigned at = draw(EVENTS);

	if (slots[at].event != NULL) {
		event_destroy(slots[at].event);
		slots[at].event = NULL;
		return;
	}
	context_enter(context);
	slots[at].event = event_new();
	slots[at].context = context;
	slots[at].recorded = false;
}

void event_record_some(int stream)
{
	unsigned at = draw(EVENTS);

	if (slots[at].event == NULL || slots[at].context != streams[stream].context)
		return;
	record_on(stream, slots[at].event, &slots[at].clock);
	slots[at].recorded = true;
}

/* Waiting for what was never recorded is no error and does nothing. */
void event_wait_some(int stream)
{
	static const struct clock nothing;
	unsigned at = draw(EVENTS);

	if (slots[at].event != NULL)
		stream_wait(stream, slots[at].event, slots[at].recorded ? &slots[at].clock : &nothing);
}

void event_ask_some(void)
{
	unsigned at = draw(EVENTS);

	if (slots[at].event == NULL || !slots[at].recorded)
		return;
	if (way(3) == 0) {
		cudaError_t error = cudaEventQuery(slots[at].event);

		if (error != cudaErrorNotReady)
			need((int)error, "cudaEventQuery");
		if (error == cudaSuccess)
			host_knows(&slots[at].clock);
		else
			cudaGetLastError();
	} else {
		event_await(slots[at].event, &slots[at].clock);
	}
}
