/* The allocator's structs, for files of this room only.
 *
 *   arena     |<-------------------------- one reservation of addresses a device ------------------------>|
 *   pools     |<-- large ------------------------------------------------------->|<-- small ------------->|
 *   handles   [   h0   ][   h1   ][   h2   ]          [   h3   ]                 [  h4  ]
 *   blocks    [live][P7][idle     ][live   ][unmapped ][live][P7][unmapped       ][live ][unmapped        ]
 *
 * Each part of the arena is one chain of blocks in address order, without gaps and without overlap; small and large
 * requests are kept apart, or a small live block would stand in the way of large ones. A block is LIVE, PENDING under
 * a tag (P7: freed on stream 7), IDLE or UNMAPPED. Physical handles lie under the blocks that are not UNMAPPED; the
 * ends of blocks and handles are unrelated, except that an UNMAPPED block begins and ends between handles.
 *
 * With expandable segments the mapped part of a pool is one segment. Otherwise each handle is a segment, and blocks
 * of different segments never merge. A plain segment lies outside the arena: one driver allocation, one block. So does a
 * stitched one (stitch.h): addresses behind which lie handles of the large pool. While its block lives, the addresses in
 * the pool that have the same memory are SHADOW blocks. A LENT block is cut and merged by a lane (lane.h), an ASIDE one is
 * free for a request of its size on its stream (aside.h).
 *
 * Equations, proved by gsa_check:
 *   reserved = rounded + pending + idle = sum of mapped_bytes over all segments
 *   pending = sum of tag->bytes + ASIDE blocks + what is free in LENT ones; of what is alive in those the others tell, too
 *   mapped_bytes of a pool = sum of its handle sizes = sum of mapped_bytes of its segments; a stitched segment is of
 *   the large pool, and its mapped_bytes are what its SHADOW blocks at home lack
 *   every block of the arena is in `starts`; every one that is not LIVE, SHADOW, LENT or ASIDE is in exactly one set of
 *   bins: its tag's, `idle` or `holes`
 *   a block that is retired counts as LIVE, with nothing asked for, until it is unmapped (share.h)
 *   two neighbours of one segment are never free and alike (same state, same tag)
 *   in a tag the queue is ordered by free_serial; no free_serial is above the allocator's
 *
 * Who may change what: UNMAPPED blocks, handles and arena segments only with GROW and ALLOCATOR held; all the rest with
 * ALLOCATOR held. A block on its way between UNMAPPED and IDLE is in no bin while the driver works on it; only the
 * holder of GROW knows it. */
#ifndef GSA_TYPES_H
#define GSA_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/addr_map.h"
#include "allocator/gsa.h"
#include "allocator/ops.h"
#include "shim/base/assert.h"
#include "shim/base/lock.h"
#include "shim/base/slab.h"

/* Sizes and addresses of blocks in the arena are multiples of this: what cudaMalloc promises is 256, what kernels with
 * wide loads and PyTorch like is 512. */
#define GSA_ROUND_BYTES 512u

/* A handle of an expandable segment is at most 1/GSA_HANDLE_SHARE of what its pool holds or 1/GSA_HANDLE_PIECES of what is
 * mapped at a time, and at most GSA_HANDLE_MAX_BYTES: the driver takes some 50 us for each, and of what is free between live blocks
 * only whole ones can be stitched or given back. What is mapped for a request of hundreds of megabytes comes back as one, mostly:
 * 1/GSA_HANDLE_LARGE_PIECES of it, if that is more, up to GSA_HANDLE_LARGE_BYTES. */
#define GSA_HANDLE_MAX_BYTES (10ull << 20)
#define GSA_HANDLE_SHARE 64u
#define GSA_HANDLE_PIECES 8u
#define GSA_HANDLE_LARGE_BYTES (20ull << 20)
#define GSA_HANDLE_LARGE_PIECES 24u

/* Requests up to this size, after rounding, are small. The small pool's share of the addresses is more than any program
 * needs that does not consist of small blocks only; when it is full they go to the large pool. */
#define GSA_SMALL_BYTES (1ull << 20)
#define GSA_SMALL_SHARE 4u

/* Addresses are looked up by units in which few blocks begin. */
#define GSA_LARGE_UNIT_SHIFT 20u
#define GSA_SMALL_UNIT_SHIFT 10u

/* A growth takes at least 1/GSA_STEP_SHARE of what its pool holds, at most GSA_STEP_MAX_BYTES: few growths, little
 * waste. */
#define GSA_STEP_SHARE 512u
#define GSA_STEP_MAX_BYTES (32ull << 20)

/* Free memory is stitched together instead of making new memory where that saves 1/GSA_STITCH_GAIN_SHARE of the request
 * and more than 1/GSA_WASTE_SHARE of what is held would not be needed otherwise. For each handle made, GSA_STITCH_SHARE
 * may be mapped again, which costs about as much each: so that comes to an end when growth does. Where 1/GSA_IDLE_SHARE
 * of what is used is idle, more may be, as long as all of it, at GSA_STITCH_NS a handle, took no more than
 * 1/GSA_STITCH_TIME_SHARE of the time since the beginning. */
#define GSA_WASTE_SHARE 48u
#define GSA_STITCH_GAIN_SHARE 8u
#define GSA_STITCH_SHARE 12u
#define GSA_IDLE_SHARE 4u
#define GSA_STITCH_NS 30000ull
#define GSA_STITCH_TIME_SHARE 128u

/* Sizes that are remembered of requests for which a segment was made. */
#define GSA_STITCH_SIZES 64u

/* Stitched segments that are kept. */
#define GSA_STITCHED_MAX 256u

/* A cached plain segment serves a request when at most 1/GSA_PLAIN_WASTE_SHARE of it is wasted. */
#define GSA_PLAIN_WASTE_SHARE 8u

/* A block of at least this size that is freed for others to use gets its fence at once. That is what is freed on another
 * stream than it was allocated on, and everything where 1/GSA_CROSS_SHARE of all allocations, and some more, take memory
 * from another stream. */
#define GSA_FENCE_BYTES (2ull << 20)
#define GSA_CROSS_SHARE 16u
#define GSA_CROSS_LEAST 32u

/* Fences of one tag that may be under way: more would cover little that the earlier ones do not. */
#define GSA_TAG_FENCES_MAX 8u

/* What is freed and still waits stays below this, or this share of what lives: see gsa_ran_ahead. */
#define GSA_AHEAD_BYTES (256ull << 20)
#define GSA_AHEAD_SHARE 4u

#define GSA_TAG_BUCKETS 64u

/* Streams with lookaside lists at a time, the largest blocks there, and how many a stream may have in all: as many as are
 * merged in a fraction of a millisecond. Larger blocks are worth merging at once: what is held would grow without that. */
#define GSA_ASIDE_STREAMS 16u
#define GSA_ASIDE_BYTES (16ull << 10)
#define GSA_ASIDE_LISTS (GSA_ASIDE_BYTES / GSA_ROUND_BYTES)
#define GSA_ASIDE_BLOCKS 1024u
#define GSA_ASIDE_WHILE 32768u /* allocations, which is some steps of most programs */

/* How often the lock must be found taken before there are lanes: one acquisition in GSA_HEAT_STEP, and
 * GSA_HEAT_LANES / GSA_HEAT_STEP more. */
#define GSA_HEAT_STEP 32u
#define GSA_HEAT_LANES 1024u
#define GSA_HEAT_MOST 2048u

/* Streams that may have a lane, the unit of what is lent to them, and how many serials and nodes a lane gets at a time. Every
 * GSA_LANE_LOOKS calls its books are settled if they are off by 1/GSA_LANE_DRIFT_SHARE of what it has alive, and by
 * GSA_LANE_DRIFT_BYTES. */
#define GSA_LANES 64u
#define GSA_LENT_BYTES (64ull << 10)
#define GSA_LANE_SERIALS 8192u
#define GSA_LANE_NODES 128u
#define GSA_LANE_LOOKS 16u
#define GSA_LANE_DRIFT_SHARE 4u
#define GSA_LANE_DRIFT_BYTES (64ll << 10)

/* max_split: a block that is not cut serves a request that wastes less than this of it. */
#define GSA_SPLIT_WASTE_BYTES (20ull << 20)

/* Kinds of memory that are never mixed. The blocks of the first two are cut and merged; plain ones stay whole. */
enum gsa_pool { GSA_POOL_LARGE, GSA_POOL_SMALL, GSA_POOL_PLAIN, GSA_POOL_COUNT };
#define GSA_ARENA_POOLS 2 /* the first two */

/* Free blocks by size (bins.h): 8 bins to a doubling, of sizes in units and below 2^51 bytes. */
#define GSA_BIN_UNIT_BYTES 512u
#define GSA_BIN_STEPS_LOG 3u
#define GSA_BIN_STEPS (1u << GSA_BIN_STEPS_LOG)
#define GSA_BIN_COUNT 320u

struct gsa_bins {
	unsigned words;			   /* bit w: some bin of word w is used */
	uint64_t used[GSA_BIN_COUNT / 64]; /* bit: the bin is */
	struct gsa_block *first[GSA_BIN_COUNT];
};

/* Where blocks begin (starts.h). */
#define GSA_STARTS_LEVELS 5u /* 2^30 units */

struct gsa_starts {
	_Alignas(64) uint64_t address; /* of the range; 0: not in use */
	uint64_t size_bytes;
	unsigned shift; /* log2 of the unit */
	unsigned levels;
	struct gsa_block **first;
	uint64_t *bits[GSA_STARTS_LEVELS]; /* bit: unit, then word of the level below, that is not empty */
	void *pages;
	size_t pages_bytes;
};

/* A LENT block on its way to a lane, which is open until it arrives: when the lane ends, the block is taken back. */
struct gsa_loan {
	struct gsa_stream stream;
	struct gsa_block *home; /* NULL: none, or taken back */
	struct gsa_loan *next;
};

/* A request on its way through the allocator. */
struct gsa_want {
	const struct gsa_request *request;
	uint64_t size_bytes; /* rounded */
	enum gsa_pool pool;  /* PLAIN: a driver allocation of its own */
	struct gsa_loan *loan; /* the block becomes LENT instead of LIVE; NULL */
};

struct gsa_segment {
	enum gsa_segment_kind kind;
	enum gsa_pool pool;
	uint64_t address;	 /* of its first byte; the pool's for an expandable one */
	uint64_t mapped_bytes;	 /* physical memory in it; 0: nothing yet, not shown to anybody */
	uint64_t owner;		 /* plain: context that the driver allocation dies with; else 0 */
	bool exact;		 /* plain: asked for by request->plain, never cached */
	struct gsa_block *first; /* block at address; front blocks outlive splits and merges */

	/* Stitched: */
	struct gsa_run *runs; /* its memory, in the order in which it is mapped */
	unsigned run_count;
	unsigned handle_count;
	bool held; /* to be found at its address for good: never unmapped, nor are its handles */
	uint64_t free_serial; /* of its last block */
	uint64_t whole_bytes; /* of its addresses, all mapped; mapped_bytes is what is taken from the pool now */
	uint64_t reserved_bytes; /* of its addresses, mapped or not */
	struct gsa_segment *next_stitched;
};

/* Whole handles in a row, at their own addresses in the large pool. */
struct gsa_run {
	uint64_t address;
	uint64_t size_bytes;
	struct gsa_run *next;
};

struct gsa_handle {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t value;		 /* the driver's */
	bool made;		 /* value is physical memory */
	bool in_place;		 /* to be found at its address only: never mapped anywhere else */
	struct gsa_handle *next; /* of a growth under way, or of spares */
};

/* Three cache lines: what looking for a fit and at a neighbour needs; what entering and leaving a state needs; what is told
 * of a live block. One that is set aside and taken again does without the second. */
struct gsa_block {
	uint64_t address;
	uint64_t size_bytes;
	struct gsa_segment *segment; /* NULL while UNMAPPED, or SHADOW in the arena */
	struct gsa_block *prev;	     /* neighbours in the pool; NULL at its ends and for plain */
	struct gsa_block *next;
	struct gsa_tag *tag;	    /* PENDING */
	struct gsa_block *bin_next; /* free: in its bin */
	enum gsa_block_state state : 8;
	enum gsa_origin origin : 8; /* of the last allocation */
	bool shared;		    /* LIVE: somebody else may have its memory mapped, or will */
	bool retired;	/* LIVE in the chain, but freed: waits in `retired` for its handles to be given back */
	uint16_t bin;	/* which, where it is in one */

	_Alignas(64) struct gsa_block *bin_prev;
	struct gsa_block *queue_prev; /* the tag's queue, oldest free first; retired: all of these, in any order */
	struct gsa_block *queue_next;

	/* Of the last free: */
	uint64_t free_serial; /* the highest, when blocks merged */
	uint64_t freed_on;    /* stream id; 0: none, or never used */

	/* Of the last allocation, as in gsa_block_info, and in the order of gsa_request, from where it is copied: */
	_Alignas(64) uint64_t asked_bytes;
	uint64_t owner;
	uint64_t pool;
	uint64_t time_ns;
	uint32_t stack;
	uint32_t thread;
	uint64_t stream_id;
	uint64_t serial;
};
_Static_assert(sizeof(struct gsa_block) == 192, "three cache lines");

/* Memory freed on one stream and not known to be idle yet. */
struct gsa_tag {
	struct gsa_stream stream;    /* id 0: freed without a stream; a fence over all streams is needed */
	struct gsa_tag *bucket_next; /* same hash */
	struct gsa_tag *prev;	     /* all tags */
	struct gsa_tag *next;
	struct gsa_block *oldest; /* queue of its blocks, by free_serial */
	struct gsa_block *newest;
	uint64_t bytes;		  /* of its blocks */
	uint64_t covered;	  /* highest serial that a recorded fence covers */
	struct gsa_fence *fences; /* under way, first recorded first */
	unsigned fence_count;
	unsigned pins;	/* threads that will come back to it */
	bool ending;	/* its stream is being destroyed: nothing more is freed on it or recorded for it */

	/* All zero without blocks, and so in nodes that wait to be used, too: tags come and go with every allocation of a
	 * program that has one block at a time. */
	struct gsa_bins bins[GSA_POOL_COUNT];
};

/* A fence under way. Once done it frees the blocks of its tag (of all tags, for the one without a stream) whose
 * free_serial is at most `cover`. */
struct gsa_fence {
	uint64_t value; /* the driver's */
	uint64_t cover;
	struct gsa_tag *tag;	/* NULL once it has nothing more to say */
	struct gsa_fence *next; /* of the tag, or of the spent ones */
	unsigned refs;		/* threads that are asking the driver about it */
};

/* Lookaside lists of one stream (aside.h), one for each size. */
struct gsa_aside_list {
	struct gsa_block *first; /* freed last; through bin_next */
	unsigned length;
};

struct gsa_aside {
	struct gsa_stream stream; /* whose they are, or were when there was something in them; id 0: nobody's */
	unsigned count;		  /* blocks in all of them */
	struct gsa_aside_list lists[GSA_ASIDE_LISTS];
};

struct gsa {
	struct gsa_ops ops; /* fixed at init, as are device and options */
	void *device;
	struct gsa_options options;
	uint64_t start_ns;

	struct gsb_lock grow_lock;

	/* Under grow_lock and lock to write, either to read. */
	uint64_t arena_address; /* 0: nothing reserved yet */
	uint64_t small_address; /* where the small pool begins in it */
	struct gsa_block *first[GSA_ARENA_POOLS];
	struct gsa_segment *expandable[GSA_ARENA_POOLS]; /* NULL with fixed segments */
	struct gsa_bins holes[GSA_ARENA_POOLS];		 /* UNMAPPED blocks */
	struct gsa_starts starts[GSA_ARENA_POOLS];	 /* all blocks of the arena; changes also under lock alone */
	uint64_t mapped_bytes[GSA_ARENA_POOLS];
	struct gsa_map handles; /* address -> struct gsa_handle */
	struct gsa_segment *stitched; /* newest first */
	unsigned stitched_count;
	uint64_t made_handles;	   /* handles made so far */
	uint64_t stitched_handles; /* mapped a second time so far */
	uint64_t stitch_sizes[GSA_STITCH_SIZES]; /* of the last requests for which one was made */
	unsigned stitch_next;

	_Alignas(64) struct gsb_lock lock; /* the ALLOCATOR lock; guards the rest */

	_Atomic bool exact_ever; /* some segment was exact */
	_Alignas(64) bool plain_only; /* virtual memory was refused, or is not wanted: no growth in the arena any more */
	bool vmm_worked;	 /* something was mapped once */
	uint64_t incoming_bytes; /* plain memory being asked of the driver */
	struct gsa_map segments; /* address -> struct gsa_segment */
	struct gsa_bins idle[GSA_POOL_COUNT];
	struct gsa_tag streamless; /* the tag without a stream; head of the list of all tags */
	struct gsa_tag *tags[GSA_TAG_BUCKETS];
	struct gsa_tag *last_tag; /* found last; NULL */
	struct gsa_fence *spent; /* fences to give back to the driver */
	struct gsa_block *retired;
	uint64_t done_serial; /* all work from before this free is known to be done, on all streams */
	uint64_t alloc_serial;
	uint64_t free_serial;
	struct gsa_stats stats;

	/* Pending and idle bytes, for gsa_purge: the least since the last look, and since age_since_ns up to that look. */
	uint64_t least_free_bytes;
	uint64_t least_aged_bytes;
	uint64_t look_ns; /* 0: not looked yet */
	uint64_t age_since_ns;

	unsigned asides_used; /* bit: the stream may have blocks there */
	uint64_t fewest_count; /* live blocks: the fewest of this while */
	uint64_t valley_count; /* of the last while, or fewer: with so few the lists are emptied */
	uint64_t while_end;    /* alloc_serial with which the while ends, if the lists are not emptied for somebody before */
	struct gsa_aside asides[GSA_ASIDE_STREAMS];

	/* Lanes (lane.h). */
	unsigned heat; /* how often the lock was found taken lately; at least 1 with GSA_LANES_ALWAYS */
	uint64_t lanes_after; /* alloc_serial from which on lanes may be opened */
	uint64_t lanes_look_ns;
	struct gsa_loan *loans;
	struct gsb_slab lane_slab;
	struct gsb_slab chunk_slab;

	struct gsb_slab block_slab;
	struct gsb_slab segment_slab;
	struct gsb_slab run_slab;
	struct gsb_slab handle_slab;
	struct gsb_slab tag_slab;
	struct gsb_slab fence_slab;
	struct gsa_map_slabs map_slabs;

	/* Read without the lock. */
	_Alignas(64) _Atomic unsigned lane_count; /* open ones */
	_Atomic(struct gsa_lent *) lent; /* by units of GSA_LENT_BYTES of the range; NULL: nothing was lent yet */
	uint64_t lent_address; /* of the range; fixed before `lent` is set, as is the next */
	uint64_t lent_range_bytes;
	_Atomic(struct gsa_lane *) lanes[GSA_LANES]; /* by stream */
};

/* The allocator, for whoever holds its lock: debug builds check that. */
static inline struct gsa *gsa_held(struct gsa *allocator)
{
	gsb_debug_assert(gsb_lock_held(&allocator->lock));
	return allocator;
}

static inline uint64_t gsa_round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static inline uint64_t gsa_block_end(const struct gsa_block *block)
{
	return block->address + block->size_bytes;
}

#endif
