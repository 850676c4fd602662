/* Live blocks: in the books, with what the request said. ALLOCATOR lock held, for all of these. */
#ifndef GSA_LIVE_H
#define GSA_LIVE_H

#include "allocator/aside.h"
#include "allocator/stats.h"
#include "allocator/types.h"

/* The node for one cut; GS_E_NO_HOST_MEMORY. Holds until the lock is let go. */
int gsa_live_reserve(struct gsa *allocator);

/* Detached -> LIVE. */
void gsa_live_enter(struct gsa *allocator, struct gsa_block *block, const struct gsa_request *request,
		    struct gsa_block_info *ret_info);

/* Writes what the request says into the block: all but the serial. Needs no lock but of whose the block is. */
static inline void gsa_live_begin(struct gsa *allocator, struct gsa_block *block, const struct gsa_request *request)
{
	block->state = GSA_BLOCK_LIVE;
	block->asked_bytes = request->size_bytes;
	block->owner = request->owner;
	block->pool = request->pool;
	block->time_ns = request->time_ns != 0 ? request->time_ns : allocator->ops.now_ns(allocator->device);
	block->stream_id = request->stream != NULL ? request->stream->id : 0;
	block->origin = request->origin;
	block->stack = request->stack;
	block->thread = request->thread;
}

/* LIVE -> detached, freed now. */
void gsa_live_leave(struct gsa *allocator, struct gsa_block *block);

/* Serves the request with a block that was set aside for its like; NULL. */
static inline struct gsa_block *gsa_live_retake(struct gsa *allocator, const struct gsa_want *want)
{
	const struct gsa_request *request = want->request;
	struct gsa_block *block;

	if (request->origin != GSA_ORIGIN_ASYNC || request->stream == NULL ||
	    (block = gsa_aside_take(allocator, request->stream->id, want->size_bytes)) == NULL)
		return NULL;
	gsa_live_begin(allocator, block, request);
	block->serial = ++allocator->alloc_serial;
	gsa_stats_retaken(allocator, block);
	return block;
}

/* Serves the request from memory that is free for it: GS_E_NOT_FOUND when there is none. */
int gsa_live_take(struct gsa *allocator, const struct gsa_want *want, struct gsa_block **ret_block);
int gsa_live_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

/* The live block that contains the address; NULL. What is lent comes back for that. */
struct gsa_block *gsa_live_at(struct gsa *allocator, uint64_t address);

/* The live block that begins at the address; NULL. */
static inline struct gsa_block *gsa_live_beginning(struct gsa *allocator, uint64_t address)
{
	enum gsa_pool pool = address >= allocator->small_address ? GSA_POOL_SMALL : GSA_POOL_LARGE;
	const struct gsa_starts *starts = &allocator->starts[pool];
	struct gsa_block *block = NULL;

	if (__builtin_expect(address - starts->address < starts->size_bytes, 1))
		block = starts->first[(address - starts->address) >> starts->shift];
	if (block == NULL || block->address != address || block->state != GSA_BLOCK_LIVE || block->retired) {
		block = gsa_live_at(allocator, address);
		if (block != NULL && block->address != address)
			block = NULL;
	}
	return block;
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
