/* Streams: see stream.h. */
#include "tests/soak/stream.h"

#include <string.h>

#include "tests/soak/context.h"
#include "tests/soak/crew.h"
#include "tests/soak/draw.h"
#include "tests/soak/event.h"
#include "tests/soak/say.h"

struct stream streams[STREAMS_MAX];
unsigned stream_count;
struct clock host;
struct clock host_copies;

static uint32_t made_in_8; /* how often a stream is one that the program made */

void streams_taste(void)
{
	made_in_8 = draw(3) == 0 ? 1 : 6;
}

static int stream_add(struct stream stream)
{
	if (stream_count == STREAMS_MAX)
		return -1;
	stream.alive = true;
	streams[stream_count] = stream;
	return (int)stream_count++;
}

void streams_start(int context)
{
	stream_add((struct stream){.kind = STREAM_LEGACY, .context = context, .thread = -1});
	for (int thread = 0; thread < CREW; thread++)
		stream_add((struct stream){.handle = cudaStreamPerThread,
					   .kind = STREAM_PER_THREAD,
					   .context = context,
					   .thread = thread});
}

void streams_forget(int context)
{
	for (unsigned i = 0; i < stream_count; i++)
		if (streams[i].context == context)
			streams[i].alive = false;
}

int stream_make_of(int context, enum stream_kind kind)
{
	struct stream stream = {.kind = kind, .context = context, .thread = -1};
	unsigned flags = kind == STREAM_BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking;

	if (stream_count > STREAMS_MAX - (CREW + 1) * CONTEXTS_MAX)
		return -1;
	context_enter(context);
	if (way(2) == 0)
		NEED_OK(cudaStreamCreateWithFlags(&stream.handle, flags));
	else
		NEED_OK(cudaStreamCreateWithPriority(&stream.handle, flags, -(int)way(6)));
	return stream_add(stream);
}

int stream_make(int context)
{
	return stream_make_of(context, draw(3) == 0 ? STREAM_BLOCKING : STREAM_NON_BLOCKING);
}

void stream_destroy(int index)
{
	struct stream *stream = &streams[index];

	stream->alive = false;
	NEED_OK(cudaStreamDestroy(stream->handle));
}

static int pick(int context, bool made)
{
	int found[STREAMS_MAX], count = 0;

	for (unsigned i = 0; i < stream_count; i++)
		if (streams[i].alive && (context < 0 || streams[i].context == context) &&
		    (!made || streams[i].kind >= STREAM_BLOCKING))
			found[count++] = (int)i;
	return count != 0 ? found[draw((unsigned)count)] : -1;
}

int stream_pick(int context)
{
	int found = pick(context, draw(8) < made_in_8);

	return found >= 0 ? found : pick(context, false);
}

int stream_pick_made(void)
{
	return pick(-1, true);
}

int stream_legacy(int context)
{
	unsigned i = 0;

	while (streams[i].context != context || streams[i].kind != STREAM_LEGACY)
		i++;
	return (int)i;
}

/* Whether this thread may use it as a stream of that kind. */
static bool is_of(const struct stream *stream, enum stream_kind kind)
{
	if (stream->kind == STREAM_PER_THREAD)
		return kind == STREAM_BLOCKING && stream->thread == crew_self();
	return stream->kind == kind;
}

int stream_pick_of(int context, enum stream_kind kind, int but)
{
	int found[STREAMS_MAX], count = 0;

	for (int i = 0; i < (int)stream_count; i++)
		if (streams[i].alive && streams[i].context == context && i != but && is_of(&streams[i], kind))
			found[count++] = i;
	return count != 0 ? found[draw((unsigned)count)] : stream_make_of(context, kind);
}

/* --- What is known */

/* What comes before the next operation of the stream. */
static struct clock known(int index)
{
	const struct stream *stream = &streams[index];
	struct clock clock = stream->clock;

	clock_join(&clock, &host);
	if (stream->kind == STREAM_NON_BLOCKING)
		return clock;
	if (stream->kind != STREAM_LEGACY) {
		int legacy = stream_legacy(stream->context);

		clock_join(&clock, &streams[legacy].barrier);
		clock.at[legacy] = streams[legacy].clock.at[legacy];
		return clock;
	}
	for (unsigned i = 0; i < stream_count; i++)
		if (streams[i].alive && streams[i].context == stream->context && streams[i].kind != STREAM_NON_BLOCKING)
			clock_join(&clock, &streams[i].clock);
	return clock;
}

uint32_t stream_submit_allocation(int index)
{
	struct stream *stream = &streams[index];

	stream->clock = known(index);
	stream->clock.at[index] = ++stream->submitted;
	return stream->submitted;
}

uint32_t stream_submit_record(int index)
{
	struct stream *stream = &streams[index];

	stream_submit_allocation(index);
	stream->barrier = stream->clock;
	return stream->submitted;
}

uint32_t stream_submit_wait(int index, const struct clock *waited)
{
	struct stream *stream = &streams[index];

	stream_submit_allocation(index);
	clock_join(&stream->clock, waited);
	stream->barrier = stream->worked = stream->clock;
	return stream->submitted;
}

uint32_t stream_submit(int index)
{
	return stream_submit_wait(index, &host);
}

void host_knows(const struct clock *clock)
{
	clock_join(&host, clock);
	clock_join(&host_copies, clock);
}

struct clock context_clock(int context)
{
	struct clock clock = {{0}};

	for (unsigned i = 0; i < stream_count; i++)
		if (streams[i].context == context)
			clock_join(&clock, &streams[i].clock);
	return clock;
}

/* --- Waiting. A per-thread stream is its own thread's business. */

static void await_job(void *argument)
{
	const struct stream *stream = argument;

	context_enter(stream->context);
	NEED_OK(cudaStreamSynchronize(stream->handle));
}

static int thread_for(const struct stream *stream)
{
	return stream->thread >= 0 ? stream->thread : crew_self();
}

void stream_await(int index)
{
	struct stream *stream = &streams[index];

	crew_run(thread_for(stream), await_job, stream);
	host_knows(&stream->worked);
}

static void poll_job(void *argument)
{
	const struct stream *stream = argument;
	cudaError_t error;

	context_enter(stream->context);
	while ((error = cudaStreamQuery(stream->handle)) == cudaErrorNotReady)
		cudaGetLastError();
	NEED_OK(error);
}

void stream_poll(int index)
{
	struct stream *stream = &streams[index];

	crew_run(thread_for(stream), poll_job, stream);
	host_knows(&stream->worked);
}

void context_await(int context)
{
	struct clock clock = context_clock(context);

	context_enter(context);
	if (way(3) == 0)
		NEED_OK(cuCtxSynchronize());
	else
		NEED_OK(cudaDeviceSynchronize());
	host_knows(&clock);
}

void host_await_all(void)
{
	for (int i = 0; i < context_count; i++)
		if (contexts[i].alive)
			context_await(i);
}

/* The host learns that this operation is complete. */
static void host_await_one(int index, uint32_t number)
{
	const struct stream *stream = &streams[index];
	const struct clock *recorded;
	struct clock clock;
	cudaEvent_t event;
	int here = stream->context;

	recorded = way(2) == 0 ? event_find(index, number, &event) : NULL;
	if (recorded != NULL) {
		event_await(event, recorded);
	} else if (!stream->alive || way(8) == 0) {
		context_await(here);
	} else if (way(3) == 0) {
		event = event_recorded(index, &clock);
		event_await(event, &clock);
		event_destroy(event);
	} else if (way(3) == 0) {
		stream_poll(index);
	} else {
		stream_await(index);
	}
}

void host_await(const struct clock *needed)
{
	for (unsigned i = 0; i < stream_count; i++)
		if (needed->at[i] > host.at[i])
			host_await_one((int)i, needed->at[i]);
}

static void order_one(int index, int before, uint32_t number)
{
	const struct clock *recorded;
	struct clock clock;
	cudaEvent_t event;

	recorded = way(2) == 0 || !streams[before].alive ? event_find(before, number, &event) : NULL;
	if (recorded != NULL) {
		stream_wait(index, event, recorded);
	} else if (!streams[before].alive || way(12) == 0) {
		host_await_one(before, number);
	} else {
		event = event_recorded(before, &clock);
		stream_wait(index, event, &clock);
		event_destroy(event);
	}
}

void stream_order(int index, const struct clock *needed)
{
	for (unsigned i = 0; i < stream_count; i++)
		if (needed->at[i] > known(index).at[i])
			order_one(index, (int)i, needed->at[i]);
}
