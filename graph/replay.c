/* See replay.h. A launch goes through three hands that know nothing of each other: its stream's detectors, which look for a
 * period; the recording, if there is one of this stream; and the trace that the stream is in, or may enter with this launch. */
#include "graph/replay.h"

#include <string.h>

#include "graph/cost.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/os.h"

#define RUN_LEAST 32u	 /* launches that repeat, before anything is made of it */
#define SERVED_SHARE 8u	 /* of a period that is served well, no more than one launch in so many is made alone */
#define SKIP_MOST 1024u
#define CAUTION_MOST 6u
#define REPLAYS_FEW 8u	 /* a trace that ends after so few was built in vain */
#define REPLAYS_GOOD 64u
#define CHECK_NS 30u	 /* what it costs to compare a launch with a trace */
#define TIMED_ALL 16u	 /* launches that are all timed; then one in so many is */
#define STREAK_LONG 512u
#define GAP_WEIGHT 32u
#define GAP_MOST 4u /* a pause of whatever length, and as many launches that follow each other: they may be worth a graph */
#define FIRST_TOKEN 0xd1b54a32d192ed03u

static uint64_t get(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

static void set(_Atomic uint64_t *count, uint64_t value)
{
	atomic_store_explicit(count, value, memory_order_relaxed);
}

static void add(_Atomic uint64_t *count, uint64_t more)
{
	set(count, get(count) + more);
}

static void add_saved(struct gsg_replay *replay, int64_t saved_ns)
{
	_Atomic int64_t *saved = &replay->stats.saved_ns;

	atomic_store_explicit(saved, atomic_load_explicit(saved, memory_order_relaxed) + saved_ns, memory_order_relaxed);
}

void gsg_replay_init(struct gsg_replay *replay, const struct gsg_graph_ops *ops, void *user,
		     const struct gsg_replay_options *options)
{
	replay->ops = ops;
	replay->user = user;
	replay->options = *options;
	if (replay->options.chunk > GSG_TRACE_NODES)
		replay->options.chunk = GSG_TRACE_NODES;
	replay->cache.limit_bytes = options->cache_bytes;
}

/* --- one by one ---------------------------------------------------------------------------------------------------- */

static void note_time(struct gsg_replay *replay, uint64_t spent_ns)
{
	replay->plain_timed++;
	replay->plain_ns = gsg_cost_mean(replay->plain_ns, spent_ns);
}

static void launch_plain(struct gsg_replay *replay, struct gsg_lane *lane, const struct gsg_launch *launch,
			 enum gsg_plain_reason reason)
{
	bool timed = replay->plain_timed < TIMED_ALL || lane->plain % TIMED_ALL == 0;
	uint64_t start_ns = timed ? replay->ops->now_ns(replay->user) : 0;

	replay->ops->launch(replay->user, launch);
	if (timed)
		note_time(replay, replay->ops->now_ns(replay->user) - start_ns);
	lane->plain++;
	lane->streak = 0;
	add(&replay->stats.plain[reason], 1);
}

static void let_go(struct gsg_replay *replay, struct gsg_lane *lane)
{
	lane->trace = NULL;
	lane->at = 0;
	replay->holding--;
}

static void note_gain(struct gsg_replay *replay, struct gsg_trace *trace, int64_t gained_ns)
{
	if (gsg_gain_note(&trace->gain, gained_ns) && !replay->options.eager)
		add(&replay->stats.suspended, 1);
	if (replay->options.eager)
		trace->gain = (struct gsg_gain){0};
}

/* What is held is launched one by one. */
static void fall(struct gsg_replay *replay, struct gsg_lane *lane, enum gsg_plain_reason reason)
{
	struct gsg_trace *trace = lane->trace;
	uint32_t count = lane->at;

	let_go(replay, lane);
	for (uint32_t i = 0; i < count; i++)
		launch_plain(replay, lane, lane->held[i], reason);
	add(&replay->stats.falls[reason], 1);
	if (reason == GSG_PLAIN_MISMATCH || reason == GSG_PLAIN_FLUSH || reason == GSG_PLAIN_BETWEEN)
		gsg_cache_failed(&replay->cache, trace);
	if (reason != GSG_PLAIN_BUILD && reason != GSG_PLAIN_REFUSED)
		note_gain(replay, trace, -(int64_t)(replay->plain_ns + count * CHECK_NS));
}

void gsg_replay_settle(struct gsg_replay *replay, enum gsg_plain_reason reason)
{
	for (uint32_t i = 0; replay->holding != 0 && i < GSG_REPLAY_LANES && replay->lanes[i] != NULL; i++)
		if (replay->lanes[i]->trace != NULL)
			fall(replay, replay->lanes[i], reason);
}

/* --- by graph ------------------------------------------------------------------------------------------------------ */

static void show_cache(struct gsg_replay *replay)
{
	set(&replay->stats.live, replay->cache.count);
	set(&replay->stats.live_bytes, replay->cache.bytes);
}

/* The first replay does not count: the driver makes ready what later ones find. */
static void replayed(struct gsg_replay *replay, struct gsg_trace *trace, uint32_t patched, uint64_t spent_ns)
{
	int64_t gained_ns = (int64_t)(trace->count * replay->plain_ns) - (int64_t)spent_ns;

	add(&replay->stats.replayed, trace->count);
	add(&replay->stats.graph_launches, 1);
	add(&replay->stats.patched, patched);
	add_saved(replay, gained_ns);
	if (trace->replays > 1)
		note_gain(replay, trace, gained_ns - (int64_t)(trace->count * CHECK_NS));
	if (trace->replays == REPLAYS_GOOD && replay->caution > 0)
		replay->caution--;
}

/* All launches of the trace have come. */
static void complete(struct gsg_replay *replay, struct gsg_lane *lane)
{
	struct gsg_trace *trace = lane->trace;
	uint64_t was_bytes = gsg_trace_bytes(trace), start_ns = replay->ops->now_ns(replay->user);
	uint32_t patched = trace->dirty_count;
	int error = gsg_trace_launch(trace, replay->ops, replay->user, lane->held);

	gsg_cache_used(&replay->cache, trace, was_bytes);
	show_cache(replay);
	if (error != GS_OK) {
		add(&replay->stats.refused, 1);
		fall(replay, lane, GSG_PLAIN_REFUSED);
		return;
	}
	let_go(replay, lane);
	lane->last = trace;
	replayed(replay, trace, patched, replay->ops->now_ns(replay->user) - start_ns);
}

static void hold(struct gsg_replay *replay, struct gsg_lane *lane, const struct gsg_launch *launch, uint64_t position)
{
	if (lane->at == 0) {
		lane->held_from = position;
		replay->holding++;
	}
	lane->held[lane->at++] = launch;
	lane->streak++;
	if (lane->at == lane->trace->count)
		complete(replay, lane);
}

static void follow(struct gsg_replay *replay, struct gsg_lane *lane, const struct gsg_launch *launch, uint64_t position)
{
	bool rests;

	if (lane->trace != NULL) {
		if (gsg_trace_match(lane->trace, lane->at, launch)) {
			hold(replay, lane, launch, position);
			return;
		}
		fall(replay, lane, GSG_PLAIN_MISMATCH);
	}
	if ((launch->shape.flags & GSG_SHAPE_PLAIN) != 0) {
		launch_plain(replay, lane, launch, GSG_PLAIN_UNFIT);
		return;
	}
	lane->trace = gsg_cache_find(&replay->cache, lane->place, launch, lane->last, &rests);
	if (lane->trace != NULL && lane->last != NULL)
		lane->last->next = lane->trace;
	lane->last = NULL;
	if (lane->trace != NULL)
		hold(replay, lane, launch, position);
	else
		launch_plain(replay, lane, launch, rests ? GSG_PLAIN_RESTING : GSG_PLAIN_NO_TRACE);
}

/* --- making traces ------------------------------------------------------------------------------------------------- */

static void end_trace(struct gsg_replay *replay, struct gsg_trace *trace, _Atomic uint64_t *count)
{
	if (trace->replays < REPLAYS_FEW && replay->caution < CAUTION_MOST)
		replay->caution++;
	for (uint32_t i = 0; i < GSG_REPLAY_LANES && replay->lanes[i] != NULL; i++)
		if (replay->lanes[i]->last == trace)
			replay->lanes[i]->last = NULL;
	gsg_cache_remove(&replay->cache, trace);
	gsg_trace_ruin(trace, replay->ops, replay->user);
	gsg_trace_free(trace);
	add(count, 1);
	show_cache(replay);
}

/* A trace that cannot be built stays, as a bad one. */
static void make_trace(struct gsg_replay *replay, const struct gsg_launch *const *launches, uint32_t count, uint64_t place)
{
	uint64_t start_ns = replay->ops->now_ns(replay->user);
	struct gsg_trace *trace, *excess;

	if (gsg_cache_same(&replay->cache, place, launches, count) != NULL)
		return;
	gsg_replay_settle(replay, GSG_PLAIN_BUILD);
	trace = gsg_trace_new(launches, count, place);
	if (trace == NULL)
		return;
	if (gsg_trace_build(trace, replay->ops, replay->user) == GS_OK) {
		add(&replay->stats.built, 1);
		replay->recorded_built++;
	} else {
		add(&replay->stats.refused, 1);
	}
	while ((excess = gsg_cache_excess(&replay->cache, trace)) != NULL)
		end_trace(replay, excess, &replay->stats.evicted);
	gsg_cache_add(&replay->cache, trace);
	show_cache(replay);
	add(&replay->stats.build_ns, replay->ops->now_ns(replay->user) - start_ns);
}

static struct gsg_served *served_of(struct gsg_lane *lane, const struct gsg_watch *watch)
{
	return &lane->served[watch == &lane->shapes.inner];
}

static void see_anew(const struct gsg_lane *lane, struct gsg_served *served)
{
	served->plain = lane->plain;
	served->count = lane->count;
}

/* One at a time, so that no launch has to wait for long; then it is seen anew how well the stream is served. */
static void make_next(struct gsg_replay *replay)
{
	struct gsg_lane *lane = replay->recorded;
	struct gsg_served *served = served_of(lane, replay->recording.watch);
	uint32_t start, count;
	uint64_t place;

	count = gsg_recording_cut(&replay->recording, replay->options.chunk, &start, &place);
	if (count != 0) {
		make_trace(replay, replay->recording.launches + start, count, place);
		return;
	}
	if (replay->recorded_built != 0)
		served->skip_next = 0;
	else if (served->skip_next < SKIP_MOST)
		served->skip_next = 2 * served->skip_next + 1;
	served->skip = served->skip_next;
	see_anew(lane, &lane->served[0]);
	see_anew(lane, &lane->served[1]);
}

/* A period was found: whether most launches since the last time were served, as far as one can tell. */
static bool is_served(const struct gsg_lane *lane, struct gsg_served *served)
{
	uint64_t plain = lane->plain - served->plain, count = lane->count - served->count;

	if (count < RUN_LEAST)
		return true;
	see_anew(lane, served);
	return plain * SERVED_SHARE <= count;
}

static bool is_recorded(const struct gsg_replay *replay, const struct gsg_lane *lane)
{
	return replay->recorded == lane && (replay->recording.state == GSG_RECORDING_ON ||
					    replay->recording.state == GSG_RECORDING_AWAITS_FIRST);
}

/* A period that has just been seen often enough, the outer one if both have. NULL: none has. */
static const struct gsg_watch *found(const struct gsg_replay *replay, const struct gsg_lane *lane)
{
	const struct gsg_watch *outer = &lane->shapes.outer, *inner = &lane->shapes.inner;
	uint64_t at_least = (uint64_t)RUN_LEAST << replay->caution;

	if (gsg_watch_found(outer, at_least))
		return outer;
	return gsg_watch_found(inner, at_least) ? inner : NULL;
}

/* The inner period is recorded, and now the outer one is found, too: its graphs are longer, and fit each time. */
static bool outer_takes_over(const struct gsg_replay *replay, const struct gsg_lane *lane)
{
	return replay->recording.watch == &lane->shapes.inner && found(replay, lane) == &lane->shapes.outer;
}

static void consider(struct gsg_replay *replay, struct gsg_lane *lane)
{
	const struct gsg_watch *watch = found(replay, lane), *exact = &lane->exact.outer;
	struct gsg_served *served = served_of(lane, watch);

	if (watch == NULL || is_served(lane, served))
		return;
	if (served->skip > 0) {
		served->skip--;
		return;
	}
	if ((replay->recording.state != GSG_RECORDING_OFF && !is_recorded(replay, lane)) ||
	    !gsg_recording_begin(&replay->recording, watch, exact->run >= exact->period ? exact->period : 0,
				 lane->since_first < watch->period, replay->options.chunk))
		return;
	replay->recorded = lane;
	replay->recorded_built = 0;
	add(&replay->stats.periods, 1);
}

/* Where the stream is after a launch. */
static void move_on(struct gsg_lane *lane, uint64_t shape, bool is_first)
{
	lane->apart = false;
	lane->since_first = is_first ? 0 : lane->since_first + 1;
	lane->place = gsg_place_push(lane->place, shape, lane->recent[lane->recent_at]);
	lane->recent[lane->recent_at] = shape;
	lane->recent_at = (lane->recent_at + 1) % GSG_PLACE;
}

static void learn(struct gsg_replay *replay, struct gsg_lane *lane, const struct gsg_launch *launch)
{
	uint64_t shape = gsg_launch_token(launch);
	bool is_first = launch->head.first || lane->apart, recorded = is_recorded(replay, lane);
	uint64_t first = is_first ? FIRST_TOKEN : 0;

	move_on(lane, shape, is_first);
	gsg_detect_push(&lane->shapes, shape ^ first);
	gsg_detect_push(&lane->exact, gsg_hash(gsg_launch_values(launch), launch->shape.values_bytes, shape ^ first));
	if (recorded)
		gsg_recording_take(&replay->recording, launch, shape, is_first);
	if (!recorded || outer_takes_over(replay, lane))
		consider(replay, lane);
}

/* Of a stream whose launches have all gone by graphs for long, the next one of the trace need not be learned: false if it is not that.
 * The detectors miss it, as if it had never been. */
static bool goes_on(struct gsg_replay *replay, struct gsg_lane *lane, const struct gsg_launch *launch, uint64_t position)
{
	const struct gsg_trace *trace = lane->trace;

	if (lane->streak < STREAK_LONG || trace == NULL || is_recorded(replay, lane) || !gsg_trace_match(lane->trace, lane->at, launch))
		return false;
	move_on(lane, trace->nodes[lane->at].token, launch->head.first || lane->apart);
	lane->put_ticks = launch->head.put_ticks;
	hold(replay, lane, launch, position);
	return true;
}

/* --- how fast they come -------------------------------------------------------------------------------------------- */

/* What is held waits no longer than slow_ticks for the next launch, so nothing is gained where all come later than that; and
 * to look at them costs. */
static bool comes_slowly(struct gsg_replay *replay, struct gsg_lane *lane, const struct gsg_launch *launch)
{
	uint64_t slow_ticks = replay->options.slow_ticks, gap_ticks = launch->head.put_ticks - lane->put_ticks;

	if (lane->put_ticks == 0 || (int64_t)gap_ticks < 0)
		gap_ticks = 0;
	if (gap_ticks > GAP_MOST * slow_ticks)
		gap_ticks = GAP_MOST * slow_ticks; /* a pause */
	lane->put_ticks = launch->head.put_ticks;
	lane->gap_ticks += gap_ticks / GAP_WEIGHT;
	lane->gap_ticks -= lane->gap_ticks / GAP_WEIGHT;
	lane->slow = lane->gap_ticks > (lane->slow ? slow_ticks / 2 : slow_ticks);
	return lane->slow && lane->trace == NULL;
}

/* Those that follow it are learned anew. */
static void pass_by(struct gsg_replay *replay, struct gsg_lane *lane, const struct gsg_launch *launch)
{
	if (replay->recorded == lane)
		replay->recording.state = GSG_RECORDING_OFF;
	lane->apart = lane->apart || launch->head.first;
	lane->last = NULL;
	launch_plain(replay, lane, launch, GSG_PLAIN_SLOW);
}

/* --- streams ------------------------------------------------------------------------------------------------------- */

/* The one that was not used for longest, or a new one. NULL: no pages. */
static struct gsg_lane *lane_take(struct gsg_replay *replay)
{
	struct gsg_lane *oldest = replay->lanes[0];

	for (uint32_t i = 0; i < GSG_REPLAY_LANES; i++) {
		if (replay->lanes[i] == NULL)
			return replay->lanes[i] = gsb_os_pages_map(sizeof(struct gsg_lane));
		if (replay->lanes[i]->used < oldest->used)
			oldest = replay->lanes[i];
	}
	if (oldest->trace != NULL)
		fall(replay, oldest, GSG_PLAIN_LATE);
	if (replay->recorded == oldest)
		replay->recording.state = GSG_RECORDING_OFF;
	memset(oldest, 0, sizeof(*oldest));
	return oldest;
}

static struct gsg_lane *lane_of(struct gsg_replay *replay, const struct gsg_launch *launch)
{
	struct gsg_lane *lane;

	for (uint32_t i = 0; i < GSG_REPLAY_LANES && (lane = replay->lanes[i]) != NULL; i++)
		if (lane->stream == launch->shape.stream && lane->context_id == launch->shape.context_id)
			return lane;
	lane = lane_take(replay);
	if (lane == NULL)
		return NULL;
	lane->context_id = launch->shape.context_id;
	lane->stream = launch->shape.stream;
	lane->legacy = (launch->shape.flags & GSG_SHAPE_LEGACY) != 0;
	return lane;
}

/* What other streams hold that comes before work on this one; and what they hold for too long. */
static void settle_others(struct gsg_replay *replay, uint64_t context_id, void *stream, bool legacy, uint64_t now_ticks)
{
	for (uint32_t i = 0; replay->holding != 0 && i < GSG_REPLAY_LANES && replay->lanes[i] != NULL; i++) {
		struct gsg_lane *lane = replay->lanes[i];

		if (lane->trace == NULL || (lane->stream == stream && lane->context_id == context_id))
			continue;
		if (lane->context_id == context_id && (lane->legacy || legacy))
			fall(replay, lane, GSG_PLAIN_ORDER);
		else if ((int64_t)(now_ticks - lane->held[0]->head.put_ticks) > (int64_t)replay->options.late_ticks)
			fall(replay, lane, GSG_PLAIN_LATE);
	}
}

uint32_t gsg_replay_held(const struct gsg_replay *replay, uint64_t *ret_oldest)
{
	uint32_t count = 0;

	*ret_oldest = GSG_NONE_HELD;
	for (uint32_t i = 0; replay->holding != 0 && i < GSG_REPLAY_LANES && replay->lanes[i] != NULL; i++) {
		const struct gsg_lane *lane = replay->lanes[i];

		if (lane->trace == NULL)
			continue;
		count += lane->at;
		if (lane->held_from < *ret_oldest)
			*ret_oldest = lane->held_from;
	}
	return count;
}

static uint64_t oldest_held(const struct gsg_replay *replay)
{
	uint64_t oldest;

	gsg_replay_held(replay, &oldest);
	return oldest;
}

uint64_t gsg_replay_run(struct gsg_replay *replay, const struct gsg_launch *launch, uint64_t position)
{
	struct gsg_lane *lane = lane_of(replay, launch);

	add(&replay->stats.launches, 1);
	if (lane == NULL) {
		gsg_replay_settle(replay, GSG_PLAIN_ORDER);
		replay->ops->launch(replay->user, launch);
		add(&replay->stats.plain[GSG_PLAIN_NO_TRACE], 1);
		return GSG_NONE_HELD;
	}
	if (replay->holding > (lane->trace != NULL))
		settle_others(replay, lane->context_id, lane->stream, lane->legacy, launch->head.put_ticks);
	lane->used = get(&replay->stats.launches);
	lane->count++;
	if (goes_on(replay, lane, launch, position))
		return oldest_held(replay);
	if (comes_slowly(replay, lane, launch)) {
		pass_by(replay, lane, launch);
		return oldest_held(replay);
	}
	learn(replay, lane, launch);
	follow(replay, lane, launch, position);
	if (replay->recording.state == GSG_RECORDING_DONE)
		make_next(replay);
	return oldest_held(replay);
}

uint64_t gsg_replay_between(struct gsg_replay *replay, uint64_t context_id, void *stream, bool legacy)
{
	for (uint32_t i = 0; i < GSG_REPLAY_LANES && replay->lanes[i] != NULL; i++) {
		struct gsg_lane *lane = replay->lanes[i];

		if (lane->context_id != context_id || (lane->stream != stream && !lane->legacy && !legacy))
			continue;
		lane->apart = true;
		if (lane->trace != NULL)
			fall(replay, lane, GSG_PLAIN_BETWEEN);
	}
	return oldest_held(replay);
}

void gsg_replay_forget(struct gsg_replay *replay)
{
	gsg_replay_settle(replay, GSG_PLAIN_FLUSH);
	replay->recording.state = GSG_RECORDING_OFF;
	while (replay->cache.newest != NULL)
		end_trace(replay, replay->cache.newest, &replay->stats.forgotten);
}
