/* Live blocks: in the books, with what the request said. ALLOCATOR lock held, for all of these. */
#ifndef GSA_LIVE_H
#define GSA_LIVE_H

#include "allocator/aside.h"
#include "allocator/fit.h"
#include "allocator/merge.h"
#include "allocator/stats.h"
#include "allocator/types.h"

/* The node for one cut; GS_E_NO_HOST_MEMORY. Holds until the lock is let go. */
int gsa_live_reserve(struct gsa *allocator);

/* Detached -> LIVE. */
void gsa_live_enter(struct gsa *allocator, struct gsa_block *block, const struct gsa_request *request,
		    struct gsa_block_info *ret_info);

static inline uint64_t gsa_live_time(struct gsa *allocator, const struct gsa_request *request)
{
	return __builtin_expect(request->time_ns != 0, 1) ? request->time_ns : allocator->ops.now_ns(allocator->device);
}

/* Writes what the request says into the block: all but the serial. Needs no lock but of whose the block is. */
static inline void gsa_live_begin(struct gsa_block *restrict block, const struct gsa_request *restrict request, uint64_t time_ns)
{
	block->state = GSA_BLOCK_LIVE;
	block->origin = request->origin;
	block->asked_bytes = request->size_bytes;
	block->owner = request->owner;
	block->pool = request->pool;
	block->time_ns = time_ns;
	block->stack = request->stack;
	block->thread = request->thread;
	block->stream_id = request->stream != NULL ? request->stream->id : 0;
}

/* LIVE -> detached, freed now. */
void gsa_live_leave(struct gsa *allocator, struct gsa_block *block);

/* A block in no list that the books count as free, in the figure `was`, serves the request. */
static inline void gsa_live_serve_free(struct gsa *allocator, struct gsa_block *block, const struct gsa_request *request,
				       uint64_t time_ns, struct gsa_gauge *was)
{
	gsa_live_begin(block, request, time_ns);
	block->serial = ++allocator->alloc_serial;
	gsa_stats_served(allocator, block, was);
}

/* Serves the request, of so many bytes when rounded, with a block that was set aside for its like; NULL. */
static inline struct gsa_block *gsa_live_retake(struct gsa *allocator, const struct gsa_request *request, uint64_t size_bytes,
						uint64_t time_ns)
{
	struct gsa_block *block;

	if (request->origin != GSA_ORIGIN_ASYNC || request->stream == NULL ||
	    (block = gsa_aside_take(allocator, request->stream->id, size_bytes)) == NULL)
		return NULL;
	gsa_live_serve_free(allocator, block, request, time_ns, &allocator->stats.pending_bytes);
	return block;
}

/* Serves the request, of so many bytes of a pool when rounded, with the best of what is free as it lies, or the front of that. NULL:
 * there is none, no node is left, or settings want a say in what is cut; nothing has changed. */
static inline __attribute__((always_inline)) struct gsa_block *
gsa_live_take_best(struct gsa *allocator, const struct gsa_request *request, enum gsa_pool pool, uint64_t size_bytes)
{
	struct gsa_tag *tag = gsa_fit_tag(allocator, request);
	struct gsa_gauge *was;
	struct gsa_bins *bins;
	struct gsa_block *block;

	if (!gsb_slab_ready(&allocator->block_slab) || gsa_fit_cuts_little(allocator))
		return NULL;
	block = gsa_fit_best(allocator, tag, pool, size_bytes, &bins);
	if (block == NULL)
		return NULL;
	gsa_fit_note(allocator, block, request);
	was = gsa_stats_of_free(allocator, block->state);
	if (block->size_bytes > size_bytes)
		block = gsa_merge_take_front(allocator, bins, block, size_bytes);
	else
		gsa_block_unlist(allocator, block);
	block->tag = NULL;
	if (tag != NULL)
		gsa_tag_retire(allocator, tag);
	gsa_live_serve_free(allocator, block, request, gsa_live_time(allocator, request), was);
	return block;
}

/* Serves the request from memory that is free for it: GS_E_NOT_FOUND when there is none. */
int gsa_live_take(struct gsa *allocator, const struct gsa_want *want, struct gsa_block **ret_block);
int gsa_live_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

/* The live block that contains the address; NULL. What is lent comes back for that. */
struct gsa_block *gsa_live_at(struct gsa *allocator, uint64_t address);

/* The live block that begins at the address, if it is one of the first two that begin in their unit; NULL. */
static inline struct gsa_block *gsa_live_in_unit(const struct gsa *allocator, uint64_t address)
{
	enum gsa_pool pool = address >= allocator->small_address ? GSA_POOL_SMALL : GSA_POOL_LARGE;
	const struct gsa_starts *starts = &allocator->starts[pool];
	struct gsa_block *block;

	if (__builtin_expect(address - starts->address >= starts->size_bytes, 0))
		return NULL;
	block = starts->first[(address - starts->address) >> starts->shift];
	if (block != NULL && block->address < address)
		block = block->next;
	if (block == NULL || block->address != address || block->state != GSA_BLOCK_LIVE || block->retired)
		return NULL;
	return block;
}

/* The live block that begins at the address; NULL. */
static inline struct gsa_block *gsa_live_beginning(struct gsa *allocator, uint64_t address)
{
	struct gsa_block *block = gsa_live_in_unit(allocator, address);

	if (block == NULL)
		block = gsa_live_at(allocator, address);
	return block != NULL && block->address == address ? block : NULL;
}

static inline struct gsa_note gsa_live_note(const struct gsa_block *block)
{
	return (struct gsa_note){
		.address = block->address,
		.size_bytes = block->asked_bytes,
		.stack = block->stack,
	};
}

void gsa_live_describe(const struct gsa_block *block, struct gsa_block_info *ret_info);

/* The same where the ALLOCATOR lock is not held, with what the segment had some time ago. */
void gsa_live_describe_in(const struct gsa_block *block, uint64_t segment_bytes, struct gsa_block_info *ret_info);

#endif
