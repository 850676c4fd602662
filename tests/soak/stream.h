/* Streams, and what is known of the order of work.
 *
 * A stream's clock names all operations that come before the next one submitted to it; the host's clock those that the
 * host knows to be complete. The rules by which work is ordered are here and nowhere else: streams, events, host waits,
 * and the legacy default stream with the blocking streams of its context. `stream_order` and `host_await` add what is
 * missing, in one of the many ways there are, and nothing where a rule suffices. */
#ifndef SOAK_STREAM_H
#define SOAK_STREAM_H

#include <cuda_runtime_api.h>

#include "tests/soak/clock.h"

enum stream_kind { STREAM_LEGACY, STREAM_PER_THREAD, STREAM_BLOCKING, STREAM_NON_BLOCKING };

struct stream {
	cudaStream_t handle;
	enum stream_kind kind;
	int context;
	int thread; /* PER_THREAD: of the crew; else -1 */
	bool alive; /* the handle is valid */
	uint32_t submitted;
	struct clock clock;
	struct clock worked; /* what the host knows once it has waited for the stream */
	struct clock barrier; /* LEGACY: what comes before all that blocking streams are given next */
};

extern struct stream streams[STREAMS_MAX];
extern unsigned stream_count; /* ever made */
extern struct clock host;

/* Copies to the host that are complete because a cudaFree waited for them; covers less than a real wait. */
extern struct clock host_copies;

/* The program's taste: whether it likes default streams. Once. */
void streams_taste(void);

/* The default streams of a context. */
void streams_start(int context);
void streams_forget(int context);

/* Of the kinds that programs make; -1 when a program has had its share. */
int stream_make(int context);
int stream_make_of(int context, enum stream_kind kind);

/* The handle goes, what is queued stays. */
void stream_destroy(int stream);

/* A stream with a valid handle, by draw; of that context unless -1. */
int stream_pick(int context);

/* One of those that programs make, or -1. */
int stream_pick_made(void);

/* Any of that kind in the context but this one, made if there is none; per-thread streams count as blocking ones in their own thread.
 * -1 when a program has had its share. */
int stream_pick_of(int context, enum stream_kind kind, int but);
int stream_legacy(int context);

/* The number of one more operation on the stream: call it once for each. The second one also comes after `waited`. The third one is
 * for records of events, for which nobody waits who waits for the stream. The last one is for allocations, which the legacy stream does
 * not keep blocking streams in order by, either. */
uint32_t stream_submit(int stream);
uint32_t stream_submit_wait(int stream, const struct clock *waited);
uint32_t stream_submit_record(int stream);
uint32_t stream_submit_allocation(int stream);

/* Afterwards all that `needed` names comes before what is submitted next. */
void stream_order(int stream, const struct clock *needed);

/* Afterwards it is complete, and the host knows. */
void host_await(const struct clock *needed);
void host_knows(const struct clock *clock);

/* Everything in the context, or everywhere. */
void context_await(int context);
void host_await_all(void);

/* The host waits for that stream, or looks until it is idle. */
void stream_await(int stream);
void stream_poll(int stream);

/* All that was submitted to the context. */
struct clock context_clock(int context);

#endif
