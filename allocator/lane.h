/* Lanes: streams that allocate and free small blocks without the ALLOCATOR lock, where many threads want that at once.
 *
 * A lane belongs to a stream. It has chunks (chunk.h), in which it serves requests of that stream and takes back what is
 * freed on it, under a lock of its own: as every thread works on its own stream, nobody waits. That a stream gets back
 * what was freed on it needs no fence, and to others a lane gives nothing.
 *
 * Lanes are made where the ALLOCATOR lock is often found taken, and only then: a program in which that is not so has
 * none, and whatever is here costs it one look at lane_count. They end when fewer than two are in use.
 *
 * Whoever has to see all memory ends the lanes first, or the one, or gives a single chunk back: its blocks become ordinary
 * ones, the free ones PENDING under the stream's tag as if freed now. So a lane holds only live blocks that belong to its
 * stream, that nobody shares and that are in no stitched or plain segment; everything else in this room meets lanes as
 * LENT blocks only, and gsa_live_at never sees one (lend.h).
 *
 * What a lane has served and taken back since its books were last settled is in none of the allocator's figures yet. They
 * are settled before anybody reads those, and when much has come together. So what is read is true; a peak, while several
 * lanes are in use at once, is known to a quarter of what each has alive: of a lane that is
 * used alone it is exact.
 *
 * Locks: ALLOCATOR before LANE. A stream's lane is found without a lock: lanes, once made, stay, and may serve another
 * stream later; whose lane it is, and whether an address still lies in one of its chunks, is looked at under its lock. It
 * is written with both held, as are the list of chunks, the map of what is lent, and the number of open lanes. Memory on its
 * way to a lane is a loan, which ALLOCATOR alone guards. */
#ifndef GSA_LANE_H
#define GSA_LANE_H

#include "allocator/chunk.h"
#include "allocator/types.h"

/* A figure since the books were settled: by how much it changed, and what the most was. */
struct gsa_drift {
	int64_t now;
	int64_t top;
};

struct gsa_lane {
	_Alignas(64) struct gsb_lock lock;
	struct gsa_stream stream; /* id 0: not in use */
	struct gsa_chunk *chunks;
	uint64_t held_bytes; /* of the chunks */
	uint64_t live_bytes; /* rounded */
	uint64_t strangers;  /* chunks that went back because somebody else wanted something of them */
	struct gsa_block *nodes; /* spare, through bin_next */
	unsigned node_count;

	uint64_t serial; /* of the last allocation; the next ones are its own up to serial_end */
	uint64_t serial_end;
	struct gsa_drift asked;
	struct gsa_drift rounded;
	struct gsa_drift count;
	int64_t freed_top; /* of -rounded */
	unsigned allocs;
	unsigned frees;

	uint64_t segment_bytes; /* of the pool's segment, when the books were settled */
	uint64_t misses;	/* requests for which it had no room */
	uint64_t asks_at;	/* so many misses before it asks for more */
	uint64_t served; /* since it was opened */
	uint64_t seen;	 /* of that, at the last look at who is in use */
	struct gsa_bins bins;
};

/* Where an address of the small pool is lent to. */
struct gsa_lent {
	_Atomic(struct gsa_lane *) lane; /* NULL: to nobody */
	struct gsa_chunk *chunk;	 /* under the lane's lock */
};

/* Some lane is open. False is true a moment ago, which is as good. */
static inline bool gsa_lane_any(const struct gsa *allocator)
{
	return __builtin_expect(atomic_load_explicit(&allocator->lane_count, memory_order_relaxed) != 0, 0);
}

/* Serves a request of a stream that has a lane; ret_info or ret_note may be NULL. GS_E_NOT_FOUND: it is none, or the lane
 * has no room. GS_E_BUSY: it has none and wants some (gsa_lend_more). No lock held. */
int gsa_lane_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info,
		   struct gsa_note *ret_note);

/* Frees what a lane has served, on its own stream. False: it is not that, and nothing has changed. No lock held. */
bool gsa_lane_free(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream,
		   struct gsa_block_info *ret_info, struct gsa_note *ret_note);

/* What holds the address, if it is lent. GS_E_NOT_FOUND: it is not. ret_live: it is a live block, and ret_info tells
 * which. No lock held. */
int gsa_lane_find(struct gsa *allocator, uint64_t address, bool *ret_live, struct gsa_block_info *ret_info);

/* A request that a lane may serve. */
static inline bool gsa_lane_suits(const struct gsa_want *want)
{
	return want->pool == GSA_POOL_SMALL && want->request->stream != NULL &&
	       want->request->origin == GSA_ORIGIN_ASYNC;
}

/* Where the stream's lane is, if there is one. */
static inline _Atomic(struct gsa_lane *) *gsa_lane_slot(struct gsa *allocator, uint64_t stream_id)
{
	return &allocator->lanes[stream_id % GSA_LANES];
}

/* The entry of an address; NULL where nothing was ever lent. */
static inline struct gsa_lent *gsa_lane_lent(struct gsa *allocator, uint64_t address)
{
	struct gsa_lent *lent = atomic_load_explicit(&allocator->lent, memory_order_acquire);

	if (lent == NULL || address - allocator->lent_address >= allocator->lent_range_bytes)
		return NULL;
	return &lent[(address - allocator->lent_address) / GSA_LENT_BYTES];
}

#endif
