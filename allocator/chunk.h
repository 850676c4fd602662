/* Chunks: memory of the small pool that is lent to a lane (lane.h), which cuts and merges it without the ALLOCATOR lock.
 *
 *   pool     [live][P7][ LENT: home                          ][live] ..
 *   chunk              [live][free     ][live][live][free    ]
 *
 * In the pool a chunk is one block, its home, in state LENT, which is in no bin and merges with nothing. Inside it has a
 * chain of blocks of its own, without gaps and overlap, each LIVE, or PENDING with no tag: free for the lane's stream. No
 * two neighbours are free. Its beginning and end are multiples of GSA_LENT_BYTES.
 *
 * The lane's lock held for all of these; nothing can fail. */
#ifndef GSA_CHUNK_H
#define GSA_CHUNK_H

#include "allocator/types.h"

#define GSA_CHUNK_BYTES (8ull << 20) /* at most */
#define GSA_CHUNK_UNIT_BYTES 4096u   /* in which few blocks begin */

struct gsa_chunk {
	struct gsa_block *home;
	struct gsa_chunk *next; /* of the lane */
	struct gsa_block *first;
	unsigned live_count;
	struct gsa_block *starts[GSA_CHUNK_BYTES / GSA_CHUNK_UNIT_BYTES]; /* the first that begins in each unit */
};

/* All of it becomes one block, of which only place and size are set. */
void gsa_chunk_open(struct gsa_chunk *chunk, struct gsa_block *home, struct gsa_block *first);

/* The block that holds the address, which lies in the chunk. */
struct gsa_block *gsa_chunk_find(const struct gsa_chunk *chunk, uint64_t address);

/* The block keeps its first bytes; rear becomes the rest, and all else of it is as in the block. */
void gsa_chunk_cut(struct gsa_chunk *chunk, struct gsa_block *block, struct gsa_block *rear, uint64_t size_bytes);

/* The block gets what its successor has. Returns the successor's node, which is in no chain any more. */
struct gsa_block *gsa_chunk_join(struct gsa_chunk *chunk, struct gsa_block *block);

#endif
