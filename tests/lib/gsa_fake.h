/* A device for the allocator's tests: struct gsa_ops without a driver.
 *
 * It keeps books of its own (reservations, handles, mappings, plain allocations, fences) and asserts what the driver
 * would refuse, and that no lock is held that ops.h forbids. Streams have ids from 1 to FAKE_STREAMS - 1 and a number
 * of operations submitted and finished; a fence is done when everything submitted before it has finished. Thread-safe.
 */
#ifndef TESTS_GSA_FAKE_H
#define TESTS_GSA_FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/gsa.h"

#define FAKE_STREAMS 32
#define FAKE_RANGES_MAX 32768
#define FAKE_FENCES_MAX 1024
#define FAKE_UNIT_BYTES (2ull << 20)

enum fake_op {
	FAKE_RESERVE,
	FAKE_CREATE,
	FAKE_MAP,
	FAKE_SET_ACCESS,
	FAKE_UNMAP,
	FAKE_PLAIN_ALLOC,
	FAKE_PLAIN_FREE,
	FAKE_FENCE_STREAM,
	FAKE_FENCE_ALL,
	FAKE_FENCE_POLL,
	FAKE_FENCE_WAIT,
	FAKE_OP_COUNT /* also: any of them but FAKE_PLAIN_FREE, whose failure is the caller's to see */
};

struct fake_range {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t handle; /* mappings */
	uint64_t physical; /* where its memory lies: all memory ever made is one row */
	bool access;
};

struct fake_fence {
	bool used;
	bool all;
	uint64_t stream_id;
	uint64_t submitted[FAKE_STREAMS];
};

struct fake {
	pthread_mutex_t mutex;
	uint64_t capacity_bytes;
	uint64_t used_bytes;
	uint64_t created_bytes; /* ever */
	uint64_t clock_ns;
	uint64_t next_address;
	uint64_t next_plain;
	uint64_t told_bytes; /* by on_segment */

	unsigned reservation_count;
	uint64_t next_reserved;
	unsigned mapping_count;
	unsigned plain_count;
	unsigned handle_count;
	uint64_t next_handle;
	struct fake_fence fences[FAKE_FENCES_MAX];
	unsigned fence_count;

	uint64_t submitted[FAKE_STREAMS];
	uint64_t finished[FAKE_STREAMS];
	bool gone[FAKE_STREAMS];
	bool capturing; /* fences are forbidden */
	void (*before_fence_stream)(void *user); /* called by fence_stream, nothing held; may be NULL */
	void *before_fence_user;
	void (*before_unmap)(void *user); /* likewise, by unmap */
	void *before_unmap_user;
	void (*before_map)(void *user); /* likewise, by map */
	void *before_map_user;

	unsigned calls[FAKE_OP_COUNT];
	unsigned call_count; /* of all */

	/* The call number fail_at (from 0, counting from fake_fail) of fail_op fails with fail_error, and the next
	 * fail_times - 1 after it. */
	enum fake_op fail_op;
	unsigned fail_at;
	unsigned fail_times;
	int fail_error;
	unsigned fail_seen;
	unsigned fail_fired;

	/* Last, because fake_init leaves them as they are: as many as the counts say. */
	struct fake_range reservations[FAKE_RANGES_MAX]; /* the first is the arena */
	struct fake_range mappings[FAKE_RANGES_MAX];
	struct fake_range plains[FAKE_RANGES_MAX];
	struct fake_range handles[FAKE_RANGES_MAX]; /* address is the handle */
};

extern const struct gsa_ops fake_ops;

void fake_init(struct fake *fake, uint64_t capacity_bytes);
void fake_fail(struct fake *fake, enum fake_op op, unsigned at, unsigned times, int error);

void fake_submit(struct fake *fake, uint64_t stream_id);
void fake_finish(struct fake *fake, uint64_t stream_id);
bool fake_finished(const struct fake *fake, uint64_t stream_id, uint64_t submitted);

/* Is all of it mapped and accessible, or inside one plain allocation? */
bool fake_usable(struct fake *fake, uint64_t address, uint64_t size_bytes);

/* Where the address lies in physical memory, and for how many bytes the next ones follow there. Plain memory lies at its
 * address. */
uint64_t fake_physical(struct fake *fake, uint64_t address, uint64_t *ret_bytes);

/* Asserts that everything was given back. */
void fake_fini(struct fake *fake);

/* A stream and requests, in short. */
struct gsa_stream fake_stream(uint64_t id);
struct gsa_options fake_options(void);
int fake_alloc(struct gsa *allocator, uint64_t size_bytes, uint64_t stream_id, struct gsa_block_info *ret_block);
uint64_t fake_take(struct gsa *allocator, uint64_t size_bytes, uint64_t stream_id);
void fake_give(struct gsa *allocator, uint64_t address, uint64_t stream_id);

#endif
