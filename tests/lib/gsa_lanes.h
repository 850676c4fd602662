/* For tests of lanes: an allocator whose streams all have some, and what is in them. */
#ifndef TESTS_GSA_LANES_H
#define TESTS_GSA_LANES_H

#include <stdatomic.h>

#include "allocator/lend.h"
#include "tests/lib/gsa_test.h"

static inline struct bench *lanes_open(uint64_t capacity_bytes)
{
	struct gsa_options options = fake_options();

	options.lanes = GSA_LANES_ALWAYS;
	return bench_open(options, capacity_bytes);
}

static inline unsigned lane_count(struct bench *bench)
{
	return atomic_load(&bench->allocator->lane_count);
}

static inline struct gsa_lane *lane_of(struct bench *bench, uint64_t stream_id)
{
	return atomic_load(gsa_lane_slot(bench->allocator, stream_id));
}

/* The address lies in a chunk of the stream's lane. */
static inline bool is_lent(struct bench *bench, uint64_t address, uint64_t stream_id)
{
	struct gsa_lent *lent = gsa_lane_lent(bench->allocator, address);

	return lent != NULL && atomic_load(&lent->lane) != NULL &&
	       atomic_load(&lent->lane) == lane_of(bench, stream_id) &&
	       lane_of(bench, stream_id)->stream.id == stream_id;
}

/* The first request makes the pools, the second one the stream's lane. */
static inline void start(struct bench *bench, uint64_t stream_id)
{
	give(bench, take(bench, 512, stream_id), stream_id);
	give(bench, take(bench, 512, stream_id), stream_id);
	assert_int_equal(lane_of(bench, stream_id)->stream.id, stream_id);
}

static inline uint64_t take_lent(struct bench *bench, uint64_t size_bytes, uint64_t stream_id)
{
	uint64_t address = take(bench, size_bytes, stream_id);

	assert_true(is_lent(bench, address, stream_id));
	return address;
}

#endif
