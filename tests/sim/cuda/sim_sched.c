/* The scheduler: see sim_sched.h.
 *
 * To reach a point we follow the chain "head of its stream -> first unreached `after` of that head -> ..." to an
 * operation that can run. Points only ever name earlier submissions, so the chain visits each stream at most once. */
#include "tests/sim/cuda/sim_sched.h"

#include <stdlib.h>

#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_host.h"
#include "tests/sim/cuda/sim_log.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_shadow.h"

#define RUNS_PER_TICK_MAX 3
#define STARVE_ONE_IN 3
#define DEMOTE_FIRST_MAX 32

static uint64_t clock_ns = 1000;
static unsigned long operations;
static uint64_t random_state;
static bool in_operation; /* kernels may call the driver; that must not run more operations */

unsigned long sim_sched_operations(void)
{
	return operations;
}

uint64_t sim_sched_now_ns(void)
{
	return clock_ns;
}

static uint64_t random_next(void)
{
	uint64_t z = random_state += 0x9E3779B97F4A7C15ull;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

/* The point that keeps the head of the stream from running, or one without a stream. */
static struct sim_point head_blocker(const struct sim_stream *stream)
{
	for (unsigned i = 0; i < stream->head->after_count; i++) {
		if (!sim_point_reached(stream->head->after[i]))
			return stream->head->after[i];
	}
	return (struct sim_point){NULL, 0};
}

/* The head waits for something outside the streams. */
static bool head_unready(const struct sim_stream *stream)
{
	return stream->running || (stream->head->ready && !stream->head->ready(stream->head));
}

/* Whether the device of the stream may reach the mappings that the head, if it is a kernel, was given. */
static bool head_reaches(const struct sim_stream *stream)
{
	const struct sim_op *op = stream->head;

	for (unsigned i = 0; op->kind == SIM_OP_KERNEL && i < op->span_count; i++) {
		const struct sim_range *range = sim_range_find(op->spans[i].start);

		if (range && range->kind == SIM_RANGE_VMM && !range->access[stream->ctx->device->ordinal])
			return false;
	}
	return true;
}

/* One step of the head operation, which can run. False when that must wait for the host thread or is not ready. */
static bool stream_step(struct sim_stream *stream)
{
	struct sim_op *op = stream->head;

	if (head_unready(stream))
		return false;
	clock_ns += 1000;
	if (op->host_code)
		return sim_host_begin(stream);
	if (--op->steps)
		return true;
	if (stream->ctx->sticky == CUDA_SUCCESS && !(sim_shadow_check(stream) && head_reaches(stream)))
		stream->ctx->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
	if (stream->ctx->sticky == CUDA_SUCCESS)
		stream->ctx->sticky = op->fails;
	if (op->run && stream->ctx->sticky == CUDA_SUCCESS) {
		in_operation = true;
		op->run(op);
		in_operation = false;
	}
	operations++;
	sim_stream_complete(stream);
	return true;
}

/* The same when nobody waits for it. */
static bool stream_step_chosen(struct sim_stream *stream, unsigned moment)
{
	if (head_unready(stream))
		return false;
	sim_log_step(stream, moment);
	return stream_step(stream);
}

/* The stream that must make the next step so that the point is reached. */
static struct sim_stream *point_next(struct sim_point point)
{
	struct sim_stream *stream = point.stream;
	struct sim_point blocker = head_blocker(stream);

	while (blocker.stream) {
		stream = blocker.stream;
		blocker = head_blocker(stream);
	}
	return stream;
}

/* What the point waits for comes from outside its streams: from other work, other threads, other processes. */
static bool sched_let_others(void)
{
	for (struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
		if (!head_blocker(stream).stream && stream_step(stream))
			return true;
	}
	return false;
}

void sim_sched_reach(struct sim_point point)
{
	if (!point.stream)
		return;
	sim_stream_get(point.stream);
	while (!sim_point_reached(point)) {
		struct sim_stream *next = point_next(point);

		if (stream_step(next))
			continue;
		if (!next->head->ready)
			sim_baton_wait();
		else if (!sched_let_others())
			sim_baton_wait_for(1);
	}
	sim_stream_put(point.stream);
}

void sim_sched_nudge(struct sim_point point)
{
	struct sim_stream *next;

	if (sim_point_reached(point))
		return;
	next = point_next(point);
	if (!stream_step(next) && next->head->ready)
		sched_let_others();
}

void sim_sched_finish_records(struct sim_stream *stream)
{
	while (stream->head && stream->head->kind == SIM_OP_EVENT && !head_blocker(stream).stream && stream_step(stream))
		;
}

void sim_sched_reach_all(const struct sim_point *points, unsigned count)
{
	struct sim_point *mine = count ? calloc(count, sizeof(*mine)) : NULL;

	for (unsigned i = 0; i < count; i++)
		mine[i] = (struct sim_point){sim_stream_get(points[i].stream), points[i].seq};
	for (unsigned i = 0; i < count; i++) {
		sim_sched_reach(mine[i]);
		sim_stream_put(mine[i].stream);
	}
	free(mine);
}

static unsigned room_waiters; /* threads that wait in sim_sched_make_room */

bool sim_sched_make_room(struct sim_stream *stream)
{
	if (in_operation)
		return false;
	room_waiters++;
	sim_sched_reach((struct sim_point){stream, stream->completed + 1});
	room_waiters--;
	return true;
}

void sim_sched_await_room(void)
{
	while (room_waiters != 0 && !in_operation)
		sim_baton_wait_for(1);
}

void sim_sched_drain(struct sim_ctx *ctx)
{
	struct sim_point *points = NULL;
	unsigned count = 0;

	for (struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
		if (stream->ctx != ctx)
			continue;
		points = realloc(points, (count + 1) * sizeof(*points));
		points[count++] = sim_stream_tail(stream);
	}
	sim_sched_reach_all(points, count);
	free(points);
}

/* Makes the steps of the replayed log for this moment. What it lists may not be possible any more. */
static void sched_replay(unsigned moment)
{
	uint64_t id;

	while ((id = sim_log_next_step(moment)) != 0) {
		struct sim_stream *stream = sim_stream_busy_first();

		while (stream && stream->id != id)
			stream = stream->busy_next;
		if (stream && !head_blocker(stream).stream)
			stream_step_chosen(stream, moment);
	}
}

/* Not further than the host thread lets us: a submission never waits. */
static void point_run(struct sim_point point, unsigned moment)
{
	while (!sim_point_reached(point) && stream_step_chosen(point_next(point), moment))
		;
}

void sim_sched_submitted(struct sim_point point)
{
	static unsigned long call;
	static unsigned submission; /* of that call */

	sim_host_start();
	if (call != sim_calls_total())
		submission = 0;
	call = sim_calls_total();
	submission++;
	if (in_operation)
		return;
	if (sim_log_replays())
		sched_replay(submission);
	else if (sim_conf()->policy == SIM_IN_ORDER)
		point_run(point, submission);
}

/* A step may complete the stream, so the walk starts again after each. */
void sim_sched_run_ready(void)
{
	struct sim_stream *stream = sim_stream_busy_first();

	while (stream) {
		if (!head_blocker(stream).stream && stream_step_chosen(stream, 0))
			stream = sim_stream_busy_first();
		else
			stream = stream->busy_next;
	}
}

/* The lower the sooner: those that were never demoted by their priority, then the others in that order. */
static int64_t stream_rank(const struct sim_stream *stream)
{
	return stream->demoted ? (int64_t)stream->demoted : stream->priority - INT32_MAX;
}

/* A ready stream for the policy to run, or NULL. ret_contested: it was not the only one. */
static struct sim_stream *sched_pick(bool *ret_contested)
{
	struct sim_stream *picked = NULL;
	uint64_t seen = 0;

	*ret_contested = false;

	for (struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
		if (head_blocker(stream).stream || head_unready(stream))
			continue;
		if (sim_conf()->policy == SIM_STARVE && (stream->id + sim_conf()->seed) % STARVE_ONE_IN == 0)
			continue;
		*ret_contested |= picked != NULL;
		if (sim_conf()->policy == SIM_PRIORITY && picked && stream_rank(stream) > stream_rank(picked))
			continue;
		if (sim_conf()->policy == SIM_PRIORITY && picked && stream_rank(stream) < stream_rank(picked))
			seen = 0;
		if (random_next() % ++seen == 0)
			picked = stream;
	}
	return picked;
}

/* With SIM_PRIORITY, a few times and further and further apart, the stream that comes before others falls behind them.
 */
static bool sched_demote(struct sim_stream *stream)
{
	static uint64_t turns, next;
	static unsigned last;

	if (!next)
		next = 1 + random_next() % DEMOTE_FIRST_MAX;
	if (++turns < next)
		return false;
	stream->demoted = ++last;
	sim_log_rank(stream);
	next += DEMOTE_FIRST_MAX / 2 + random_next() % (2 * turns);
	return true;
}

void sim_sched_tick(void)
{
	uint64_t runs;

	if (in_operation)
		return;
	if (sim_log_replays()) {
		sched_replay(0);
		return;
	}
	if (sim_conf()->policy == SIM_LATE)
		return;
	if (sim_conf()->policy == SIM_IN_ORDER) { /* what stayed behind a host function that has returned since */
		sim_sched_run_ready();
		return;
	}
	if (!random_state)
		random_state = sim_conf()->seed * 0xD1B54A32D192ED03ull + 1;
	for (runs = random_next() % (RUNS_PER_TICK_MAX + 1); runs; runs--) {
		bool contested;
		struct sim_stream *stream = sched_pick(&contested);

		if (!stream)
			return;
		if (sim_conf()->policy == SIM_PRIORITY && contested && sched_demote(stream))
			stream = sched_pick(&contested);
		stream_step_chosen(stream, 0);
	}
}
