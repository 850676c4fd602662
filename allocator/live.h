/* Live blocks: in the books, with what the request said. ALLOCATOR lock held, for all of these. */
#ifndef GSA_LIVE_H
#define GSA_LIVE_H

#include "allocator/types.h"

/* The node for one cut; GS_E_NO_HOST_MEMORY. Holds until the lock is let go. */
int gsa_live_reserve(struct gsa *allocator);

/* Detached -> LIVE. */
void gsa_live_enter(struct gsa *allocator, struct gsa_block *block, const struct gsa_request *request,
		    struct gsa_block_info *ret_info);

/* Writes what the request says into the block: all but the serial. Needs no lock but of whose the block is. */
void gsa_live_begin(struct gsa *allocator, struct gsa_block *block, const struct gsa_request *request);

/* LIVE -> detached, freed now. */
void gsa_live_leave(struct gsa *allocator, struct gsa_block *block);

/* Serves the request from memory that is free for it: GS_E_NOT_FOUND when there is none. */
int gsa_live_take(struct gsa *allocator, const struct gsa_want *want, struct gsa_block **ret_block);
int gsa_live_serve(struct gsa *allocator, const struct gsa_want *want, struct gsa_block_info *ret_info);

/* The live block that contains the address; NULL. What is lent comes back for that. */
struct gsa_block *gsa_live_at(struct gsa *allocator, uint64_t address);

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
