/* The caching allocator of one device: public face.
 *
 * A *segment* is a range of device addresses with physical memory behind it: an expandable one grows by mapping more
 * handles where it has none (two a device: one for blocks up to 1 MiB, one for larger ones), a fixed one has one
 * handle, a plain one is a single driver allocation. Segments are cut into *blocks*; neighbours that are free and alike
 * merge. A free block remembers the stream on which it was freed (its *tag*): an allocation on that stream may have it
 * at once; anybody else only after a fence that was recorded after the free is done. Memory freed by cudaFree names no
 * stream: it waits for a fence over all streams.
 *
 * Fences are recorded lazily, when somebody else wants the memory: a fence recorded later covers everything an earlier
 * one would have, and most memory goes back to the stream it came from. Where that is not so, as for a block that is
 * freed on another stream than it was allocated on, at once: an early fence is done before later work of that stream.
 *
 * Thread-safe. Never calls the driver with the ALLOCATOR lock held. Never touches the program's heap. gsa_free cannot
 * fail for lack of anything: what it needs was obtained by gsa_alloc. Addresses and sizes are in bytes. */
#ifndef GSA_GSA_H
#define GSA_GSA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/ops.h"

struct gsa;

enum gsa_lanes { GSA_LANES_AUTO, GSA_LANES_NEVER, GSA_LANES_ALWAYS }; /* auto: where threads get in each other's way */

/* Fixed at gsa_init; shim/core/conf.c has the table that users see. */
struct gsa_options {
	uint64_t arena_bytes;        /* addresses to reserve for the arena */
	uint64_t granularity_bytes;  /* of physical handles; a power of two */
	uint64_t limit_bytes;        /* most physical memory to hold; 0 = no limit of ours */
	bool use_vmm;                /* false: every segment is a plain driver allocation, cached whole */
	bool expandable;             /* false: a fixed segment a growth, one handle each */
	bool runs_ahead;             /* gsa_ran_ahead is never so */
	enum gsa_lanes lanes;         /* small blocks of streams without the lock that all share */

	/* As PyTorch's settings of these names; 0: off. */
	uint64_t max_split_bytes;     /* fixed segments: larger blocks are not cut; rounded up to the granularity */
	uint64_t large_segment_bytes; /* least growth for requests above GSA_SMALL_BYTES and up to half of this */
	uint64_t collect_bytes;       /* before holding more, idle memory above this goes back */
	unsigned roundup_divisions;   /* sizes are rounded up to as many steps between powers of two */
};

enum gsa_origin {
	GSA_ORIGIN_LEGACY, /* cudaMalloc and its kin: freed without a stream */
	GSA_ORIGIN_ASYNC,  /* cudaMallocAsync and its kin */
	GSA_ORIGIN_COUNT
};

#define GSA_TIME_NONE UINT64_MAX /* not known */

struct gsa_request {
	uint64_t size_bytes;             /* > 0 */
	uint64_t owner;                  /* context that the block dies with */
	uint64_t pool;                   /* CUmemoryPool it was asked from; 0 for legacy */
	uint64_t time_ns;                /* for the snapshot, or GSA_TIME_NONE; 0: now_ns is asked */
	uint32_t stack;                  /* for the snapshot; 0 = unknown */
	uint32_t thread;                 /* for the snapshot */
	const struct gsa_stream *stream; /* NULL for GSA_ORIGIN_LEGACY */
	enum gsa_origin origin;
	bool plain;                      /* a driver allocation of its own, given back to the driver when freed */
	bool lasting;                    /* outlives its owner: never plain memory, which dies with it */
	bool again;                      /* the same request has just failed, and was counted */
};

/* A live block as seen from outside. */
struct gsa_block_info {
	uint64_t address;
	uint64_t size_bytes;      /* as asked for */
	uint64_t reserved_bytes;  /* as rounded */
	uint64_t segment_address;
	uint64_t segment_bytes;   /* mapped bytes of the segment */
	uint64_t owner;
	uint64_t pool;
	uint64_t serial;          /* unique per allocation, never reused */
	uint64_t time_ns;         /* of the allocation, from now_ns; GSA_TIME_NONE */
	enum gsa_origin origin;
	bool plain;               /* in a plain segment */
	bool exact;               /* of its own: the driver's as soon as it is freed */
	bool shared;              /* gsa_share was called for it, and it is not plain */
	uint32_t stack;
	uint32_t thread;
	uint64_t stream_id;       /* of the allocation; 0 for legacy */
};

int gsa_init(struct gsa **ret_allocator, const struct gsa_ops *ops, void *device, const struct gsa_options *options);

/* Gives everything back to the driver. Only when no other thread can be inside; for tests and device reset. */
void gsa_fini(struct gsa *allocator);

/* GS_E_NO_MEMORY: the whole ladder failed (poll fences, take other streams' memory, give idle memory back, wait for
 * what is pending). GS_E_INVALID: size 0. GS_E_NO_HOST_MEMORY: no room for our own books.
 * GS_E_FORBIDDEN: it would need the driver in a way that the current capture forbids, or plain memory for what is
 * lasting: pass the call through. */
int gsa_alloc(struct gsa *allocator, const struct gsa_request *request, struct gsa_block_info *ret_block);

/* What the history tells of a block that was served or freed. */
struct gsa_note {
	uint64_t address;
	uint64_t size_bytes; /* as asked for */
	uint32_t stack;	     /* of the allocation */
};

/* Only from memory that is free for the request as things are: no driver call, no fence asked. GS_E_NOT_FOUND when there
 * is none; nothing has changed then. Not for a plain request. */
int gsa_alloc_held(struct gsa *allocator, const struct gsa_request *request, uint64_t *ret_address);

/* stream NULL: freed without a stream. GS_E_NOT_FOUND: no block of ours starts there (a foreign, freed or interior
 * pointer): the driver's answer is the right one. ret_block, if not NULL, tells what was freed. */
int gsa_free(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream,
	     struct gsa_block_info *ret_block);

/* The same for memory that stays held when it is freed, that nobody else maps, and that needs no fence at once: no driver
 * call. GS_E_NOT_FOUND: none such starts there, or it is freed without a stream where gsa_ran_ahead; nothing has changed
 * then. ret_note may be NULL. */
int gsa_free_held(struct gsa *allocator, uint64_t address, const struct gsa_stream *stream, struct gsa_note *ret_note);

/* The live block that contains the address; interior addresses too, up to reserved_bytes. GS_E_NOT_FOUND. */
int gsa_find(struct gsa *allocator, uint64_t address, struct gsa_block_info *ret_block);

/* The address lies in memory that the allocator holds, live or free: the driver must not be asked to free it. */
bool gsa_holds(struct gsa *allocator, uint64_t address);

/* The address lies among those that the allocator has reserved for its pools, with memory or without. */
bool gsa_reserves(struct gsa *allocator, uint64_t address);

/* Physical handles behind a live block, from the one that holds the address to the last, in address order: for export
 * to another process. offset_bytes is where the address lies within the first. Returns how many there are (at most
 * capacity are written), 0 for plain memory. */
struct gsa_handle_span {
	uint64_t handle;
	uint64_t size_bytes;
};
size_t gsa_block_handles(struct gsa *allocator, uint64_t address, struct gsa_handle_span *spans, size_t capacity,
			 uint64_t *ret_offset_bytes);

/* Others know the physical memory of the live block at or around the address. GS_E_NOT_FOUND: there is none.
 * gsa_share: another process or device maps it, maybe for longer than the block lives. Once freed it is never used
 * again: it is unmapped and given back when its handles hold nothing else (a plain allocation: at the free).
 * gsa_hold: somebody may look it up by its address, also later. Its handles are not mapped elsewhere. */
int gsa_share(struct gsa *allocator, uint64_t address);
int gsa_hold(struct gsa *allocator, uint64_t address);

/* Gives back what was shared and freed, as far as it is idle by now. Does not wait. */
void gsa_share_sweep(struct gsa *allocator);

/* Before the stream's handle becomes invalid: memory tagged with it must not be stranded. */
void gsa_stream_ending(struct gsa *allocator, const struct gsa_stream *stream);

/* The host has waited for the whole device: everything freed before this call is idle. `before` comes from
 * gsa_free_serial, taken before the wait began. Likewise for one stream; 0: nothing that was freed on it waits. */
uint64_t gsa_free_serial(struct gsa *allocator);
void gsa_device_idle(struct gsa *allocator, uint64_t before);
uint64_t gsa_stream_serial(struct gsa *allocator, uint64_t stream_id);
void gsa_stream_idle(struct gsa *allocator, uint64_t stream_id, uint64_t before);

/* The context and all work in it are gone: its live legacy blocks are freed and idle. Stream-ordered ones belong to
 * their pool and live on, except where they are plain allocations of the context. Returns how many died. */
size_t gsa_owner_gone(struct gsa *allocator, uint64_t owner);

/* Gives idle physical memory back to the driver until at most keep_bytes are held idle. Records and polls fences first;
 * does not wait for the device, so while that has work no plain memory is given back. Returns the bytes given back. */
uint64_t gsa_trim(struct gsa *allocator, uint64_t keep_bytes);

/* Waits for what is pending, and gives all back. */
uint64_t gsa_trim_all(struct gsa *allocator);

/* Gives all that is known to be idle back, unless somebody grows or trims just now: for a thread that those may wait for. Records
 * and polls no fence. Returns the bytes given back. */
uint64_t gsa_trim_try(struct gsa *allocator);

/* Called now and then, with no capture open: gives back as much as has been free all the time for age_ns, or, low, for
 * the last second of it: nobody wanted it meanwhile. Returns the bytes given back. */
uint64_t gsa_purge(struct gsa *allocator, uint64_t age_ns, bool low);

/* Blocks the host until everything freed so far is idle. False when that cannot be had now. */
bool gsa_wait(struct gsa *allocator);

/* Runs set_access again over everything mapped: after a peer was given access. */
int gsa_access_changed(struct gsa *allocator);

/* Figures now, and the highest since the last reset; one row each, so struct, reset and JSON cannot drift. */
#define GSA_GAUGES(X)                                                                                                  \
	X(allocated_bytes, "live blocks, as asked for")                                                                \
	X(allocated_legacy_bytes, "of these, from cudaMalloc and its kin")                                             \
	X(allocated_async_bytes, "of these, from cudaMallocAsync and its kin")                                         \
	X(rounded_bytes, "live blocks, as rounded")                                                                    \
	X(pending_bytes, "freed, waiting for a fence or tagged with a stream")                                         \
	X(idle_bytes, "free for anybody")                                                                              \
	X(reserved_bytes, "physical memory held: rounded + pending + idle")                                            \
	X(live_count, "live blocks")

#define GSA_COUNTERS(X)                                                                                                \
	X(allocs, "allocations served")                                                                                \
	X(frees, "blocks freed")                                                                                       \
	X(hits, "allocations that needed no driver call")                                                              \
	X(cross_stream, "blocks that changed stream after a fence")                                                    \
	X(grows, "times physical memory was added")                                                                    \
	X(trims, "times physical memory was given back")                                                               \
	X(stitches, "requests for which pieces of free memory were mapped one behind the other")                       \
	X(fences, "fences recorded")                                                                                   \
	X(out_of_memory, "allocations that failed after the whole ladder")

struct gsa_gauge {
	uint64_t now;
	uint64_t peak;
};

struct gsa_stats {
#define GSA_GAUGE_FIELD(name, text) struct gsa_gauge name;
	GSA_GAUGES(GSA_GAUGE_FIELD)
	struct gsa_gauge pool_bytes; /* reserved but for live blocks of cudaMalloc: what a memory pool would hold; its
					peak is that of the times of allocations for the pool */
#undef GSA_GAUGE_FIELD
#define GSA_COUNTER_FIELD(name, text) uint64_t name;
	GSA_COUNTERS(GSA_COUNTER_FIELD)
#undef GSA_COUNTER_FIELD
};

/* So much is freed and not idle yet that the program has to wait before it goes on: one that frees and allocates in a
 * loop must not hold what it would never have held where each free waits (H2). */
bool gsa_ran_ahead(struct gsa *allocator);

void gsa_stats_read(struct gsa *allocator, struct gsa_stats *ret_stats);
void gsa_stats_reset_peak(struct gsa *allocator);

/* Of the figures of a memory pool: the peak of allocated_async_bytes, and of pool_bytes. */
void gsa_stats_reset_pool_used(struct gsa *allocator);
void gsa_stats_reset_pool_held(struct gsa *allocator);

enum gsa_block_state {
	GSA_BLOCK_LIVE,
	GSA_BLOCK_PENDING, /* free; not yet for everybody */
	GSA_BLOCK_IDLE,    /* free for anybody */
	GSA_BLOCK_UNMAPPED, /* addresses without memory inside an expandable segment; not visited */
	GSA_BLOCK_SHADOW,   /* addresses whose memory is in use at other addresses; not visited */
	GSA_BLOCK_LENT,     /* cut and merged elsewhere; not visited */
	GSA_BLOCK_ASIDE,    /* free, in a lookaside list; not visited */
	GSA_BLOCK_STATE_COUNT
};

enum gsa_segment_kind {
	GSA_SEGMENT_EXPANDABLE,
	GSA_SEGMENT_FIXED,
	GSA_SEGMENT_PLAIN,
	GSA_SEGMENT_STITCHED /* visited as a fixed one */
};

/* Visits a consistent state, segments in address order and each segment's blocks in address order. The callbacks run
 * with the ALLOCATOR lock held: they must not call the allocator, the driver or anything that takes a lower lock. */
struct gsa_visitor {
	/* size_bytes: mapped bytes, the sum of the segment's blocks. Segments without any are not visited. */
	void (*segment)(void *user, enum gsa_segment_kind kind, uint64_t address, uint64_t size_bytes);
	/* info->size_bytes, stack and the rest are those of the last allocation when the block is free. */
	void (*block)(void *user, enum gsa_block_state state, const struct gsa_block_info *info);
	void *user;
};
void gsa_walk(struct gsa *allocator, const struct gsa_visitor *visitor);

/* Walks everything and asserts every equation; for tests and debug builds. */
void gsa_check(struct gsa *allocator);

#endif
