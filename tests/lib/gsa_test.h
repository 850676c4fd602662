/* One allocator over one fake device, in short, for the allocator's tests. Include it after cmocka.h. */
#ifndef TESTS_GSA_TEST_H
#define TESTS_GSA_TEST_H

#include <stdlib.h>

#include "shim/base/err.h"
#include "tests/lib/gsa_fake.h"

#define KIB (1ull << 10)
#define MIB (1ull << 20)
#define GIB (1ull << 30)

struct bench {
	struct fake fake;
	struct gsa *allocator;
	struct gsa_stats stats; /* as of the last bench_stats */
};

static inline struct bench *bench_open(struct gsa_options options, uint64_t capacity_bytes)
{
	struct bench *bench = malloc(sizeof(*bench));

	fake_init(&bench->fake, capacity_bytes);
	assert_int_equal(gsa_init(&bench->allocator, &fake_ops, &bench->fake, &options), GS_OK);
	return bench;
}

static inline void bench_close(struct bench *bench)
{
	gsa_check(bench->allocator);
	gsa_fini(bench->allocator);
	fake_fini(&bench->fake);
	free(bench);
}

static inline const struct gsa_stats *bench_stats(struct bench *bench)
{
	gsa_check(bench->allocator);
	gsa_stats_read(bench->allocator, &bench->stats);
	return &bench->stats;
}

static inline uint64_t take(struct bench *bench, uint64_t size_bytes, uint64_t stream_id)
{
	return fake_take(bench->allocator, size_bytes, stream_id);
}

static inline void give(struct bench *bench, uint64_t address, uint64_t stream_id)
{
	fake_give(bench->allocator, address, stream_id);
}

#endif
