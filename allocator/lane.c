/* See lane.h. */
#include "allocator/lane.h"

#include "allocator/arena.h"
#include "allocator/stats.h"
#include "shim/base/err.h"

static bool may_have_lane(const struct gsa *allocator, const struct gsa_request *request)
{
	const struct gsa_options *options = &allocator->options;

	return options->lanes != GSA_LANES_NEVER && options->use_vmm && options->expandable &&
	       options->limit_bytes == 0 && gsa_lane_serves(request) && !atomic_load(&allocator->lanes.refused);
}

static bool wants_lane(struct gsa *allocator, const struct gsa_request *request)
{
	const struct gsa_lane_slot *slot;

	if (!may_have_lane(allocator, request))
		return false;
	slot = gsa_lane_slot(allocator, request->stream);
	return atomic_load(&slot->lane) == GSA_LANE_NONE && (allocator->options.lanes == GSA_LANES_ALWAYS ||
							     atomic_load(&slot->meetings) >= GSA_LANE_MEETINGS);
}

bool gsa_lane_met(struct gsa *allocator, const struct gsa_request *request)
{
	struct gsa_lane_slot *slot;
	uint64_t now_ns;

	if (!may_have_lane(allocator, request))
		return false;
	slot = gsa_lane_slot(allocator, request->stream);
	now_ns = allocator->ops.now_ns(allocator->device);
	if (now_ns - atomic_load(&slot->since_ns) > GSA_LANE_NS) {
		atomic_store(&slot->since_ns, now_ns);
		atomic_store(&slot->meetings, 0);
	}
	atomic_fetch_add(&slot->meetings, 1);
	return wants_lane(allocator, request);
}

/* A lane with its addresses; NULL when there can be none. */
static struct gsa *open_lane(const struct gsa *allocator)
{
	struct gsa_options options = allocator->options;
	struct gsa *lane;
	int error;

	options.arena_bytes /= GSA_LANES;
	options.lanes = GSA_LANES_NEVER;
	if (gsa_init(&lane, &allocator->ops, allocator->device, &options) != GS_OK)
		return NULL;
	lane->is_lane = true;
	lane->vmm_worked = true; /* or it would not be wanted */
	gsb_lock_acquire(&lane->grow_lock);
	error = gsa_arena_reserve(lane);
	gsb_lock_release(&lane->grow_lock);
	if (error == GS_OK)
		return lane;
	gsa_fini(lane);
	return NULL;
}

/* Adds a lane, if there are not enough by now. False: it cannot be made. */
static bool add_lane(struct gsa *allocator)
{
	struct gsa *lane = open_lane(allocator);
	unsigned count;

	if (lane == NULL)
		return false;
	gsb_lock_acquire(&allocator->lock);
	count = gsa_lane_count(gsa_held(allocator));
	if (count < GSA_LANES) {
		allocator->lanes.lane[count] = (struct gsa_lane){
			.allocator = lane, .address = lane->arena_address, .size_bytes = lane->options.arena_bytes};
		atomic_store_explicit(&allocator->lanes.count, count + 1, memory_order_release);
	}
	gsb_lock_release(&allocator->lock);
	if (count >= GSA_LANES)
		gsa_fini(lane);
	return true;
}

struct gsa *gsa_lane_make(struct gsa *allocator, const struct gsa_request *request)
{
	struct gsa_lane_slot *slot;
	unsigned expected = GSA_LANE_NONE, next, count;

	if (!wants_lane(allocator, request))
		return gsa_lane_for(allocator, request);
	slot = gsa_lane_slot(allocator, request->stream);
	if (!atomic_compare_exchange_strong(&slot->lane, &expected, GSA_LANE_COMING))
		return gsa_lane_for(allocator, request);
	next = atomic_fetch_add(&allocator->lanes.next, 1) % GSA_LANES;
	if (next >= gsa_lane_count(allocator) && !add_lane(allocator))
		atomic_store(&allocator->lanes.refused, true);
	count = gsa_lane_count(allocator);
	atomic_store_explicit(&slot->lane, count > 0 ? next % count + 1 : GSA_LANE_NONE, memory_order_release);
	return gsa_lane_for(allocator, request);
}

static bool has_pending(struct gsa *lane)
{
	struct gsa_stats stats;

	gsa_stats_own(lane, &stats);
	return stats.pending_bytes.now > 0;
}

uint64_t gsa_lanes_give_back(struct gsa *allocator)
{
	uint64_t given_bytes = 0;

	for (unsigned index = 0; index < gsa_lane_count(allocator); index++) {
		struct gsa *lane = gsa_lane(allocator, index);

		given_bytes += gsa_trim(lane, 0);
		if (has_pending(lane) && gsa_wait(lane))
			given_bytes += gsa_trim(lane, 0);
	}
	return given_bytes;
}

void gsa_lane_mark(struct gsa *lane, uint64_t told)
{
	gsb_lock_acquire(&lane->lock);
	lane->marks[lane->mark_next++ % GSA_LANE_MARKS] = (struct gsa_lane_mark){told, gsa_held(lane)->free_serial};
	gsb_lock_release(&lane->lock);
}

uint64_t gsa_lane_serial(struct gsa *lane, uint64_t told)
{
	uint64_t serial = 0;

	if (told == UINT64_MAX)
		return told;
	gsb_lock_acquire(&lane->lock);
	for (unsigned i = 0; i < GSA_LANE_MARKS; i++)
		if (lane->marks[i].told == told)
			serial = gsa_held(lane)->marks[i].serial;
	gsb_lock_release(&lane->lock);
	return serial;
}
