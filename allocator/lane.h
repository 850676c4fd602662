/* Lanes: allocators beside a device's own, for small blocks of streams whose threads meet at its lock.
 *
 *   device's allocator   all large blocks, all of cudaMalloc, small blocks of streams that have no lane
 *   lane 0 .. n          small blocks of its streams, in addresses of its own
 *
 * A lane is a whole allocator with its own locks, segments, tags and fences, so all that is true of one is true of
 * each; but it has no plain memory and stitches nothing, so its blocks lie in its arena, and an address tells whose it is. A
 * program whose threads never meet has no lane and pays one look at a byte. Lanes are made one by one, when a stream
 * has been in somebody's way often enough, and stay; streams share them when there are GSA_LANES.
 *
 * What is free in a lane serves the streams of the lane alone: that is what it costs, some MiB each. Before the device
 * is out of memory lanes give back what they have free. Where the memory that may be held is limited there are none.
 *
 * The functions of gsa.h that are about an address go to the allocator that has it; those that are about all memory
 * go to the lanes as well, one after the other: no two of their locks are ever held at once. */
#ifndef GSA_LANE_H
#define GSA_LANE_H

#include <stdatomic.h>

#include "allocator/types.h"

static inline unsigned gsa_lane_count(const struct gsa *allocator)
{
	return atomic_load_explicit(&allocator->lanes.count, memory_order_acquire);
}

/* For index below the count. */
static inline struct gsa *gsa_lane(const struct gsa *allocator, unsigned index)
{
	return allocator->lanes.lane[index].allocator;
}

/* The one whose arena has the address: a lane, or else the allocator itself. */
static inline struct gsa *gsa_lane_at(struct gsa *allocator, uint64_t address)
{
	unsigned count = gsa_lane_count(allocator);

	for (unsigned index = 0; index < count; index++)
		if (address - allocator->lanes.lane[index].address < allocator->lanes.lane[index].size_bytes)
			return allocator->lanes.lane[index].allocator;
	return allocator;
}

static inline struct gsa_lane_slot *gsa_lane_slot(struct gsa *allocator, const struct gsa_stream *stream)
{
	return &allocator->lanes.slots[stream->id % GSA_LANE_SLOTS];
}

static inline bool gsa_lane_serves(const struct gsa_request *request)
{
	return request->stream != NULL && request->size_bytes <= GSA_SMALL_BYTES && !request->plain;
}

/* Where the request is served: its stream's lane, or the allocator itself. */
static inline struct gsa *gsa_lane_for(struct gsa *allocator, const struct gsa_request *request)
{
	unsigned lane;

	if (!gsa_lane_serves(request))
		return allocator;
	lane = atomic_load_explicit(&gsa_lane_slot(allocator, request->stream)->lane, memory_order_acquire);
	return lane == GSA_LANE_NONE || lane == GSA_LANE_COMING ? allocator : gsa_lane(allocator, lane - 1);
}

/* The request has found the lock held. True when its stream is to have a lane: gsa_lane_make. */
bool gsa_lane_met(struct gsa *allocator, const struct gsa_request *request);

/* As gsa_lane_for; first makes the lane if the stream is to have one. May reserve addresses; no lock held. */
struct gsa *gsa_lane_make(struct gsa *allocator, const struct gsa_request *request);

/* Gives back all that is free in lanes, if need be after waiting for it. Returns the bytes given back. */
uint64_t gsa_lanes_give_back(struct gsa *allocator);

/* What gsa_free_serial has told is kept with what it means in the lane; gsa_lane_serial finds that again. 0: not known
 * any more, which means nothing. */
void gsa_lane_mark(struct gsa *lane, uint64_t told);
uint64_t gsa_lane_serial(struct gsa *lane, uint64_t told);

#endif
