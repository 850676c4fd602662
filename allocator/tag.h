/* Tags: which stream memory was freed on, and the fences that will tell when it is idle. ALLOCATOR lock held.
 *
 * A tag exists while it has blocks, fences or pins. The one without a stream always exists; it also takes what cannot
 * have a tag of its own (no node for one, or its stream is gone): a fence over all streams covers any of it. */
#ifndef GSA_TAG_H
#define GSA_TAG_H

#include "allocator/types.h"

/* The tag of the stream; NULL when there is none. */
struct gsa_tag *gsa_tag_find(struct gsa *allocator, uint64_t stream_id);

/* The tag to free on; never NULL. stream NULL: without a stream. */
struct gsa_tag *gsa_tag_for(struct gsa *allocator, const struct gsa_stream *stream);

/* Everything freed in it up to `before` is idle; fences that cover no more than that have nothing more to say. */
void gsa_tag_idle(struct gsa *allocator, struct gsa_tag *tag, uint64_t before);

/* Likewise for every tag. */
void gsa_tags_idle(struct gsa *allocator, uint64_t before);

/* Its stream can no longer be asked: its blocks move to the tag without a stream. */
void gsa_tag_orphan(struct gsa *allocator, struct gsa_tag *tag);

/* Forgets the tag if nothing needs it. */
void gsa_tag_retire(struct gsa *allocator, struct gsa_tag *tag);

/* For block.c: the tag's queue and byte count. */
void gsa_tag_push(struct gsa_tag *tag, struct gsa_block *block);
void gsa_tag_push_behind(struct gsa_tag *tag, struct gsa_block *block, struct gsa_block *rear);
void gsa_tag_pull(struct gsa_tag *tag, struct gsa_block *block);
/* rear, of the same free and a copy of the block's links, takes its place; the block's bytes leave. */
void gsa_tag_replace(struct gsa_tag *tag, struct gsa_block *block, struct gsa_block *rear);

#endif
