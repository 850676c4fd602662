/* The traces that there are, found by where they may begin; what was used longest ago gives way when they hold too much.
 *
 * One thread. */
#ifndef GSG_CACHE_H
#define GSG_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/trace.h"

#define GSG_CACHE_BUCKETS 1024u /* a power of two */
#define GSG_CACHE_SAME 4u	/* traces that begin at the same place */

struct gsg_cache {
	uint64_t limit_bytes;
	uint64_t bytes; /* the sum of gsg_trace_bytes when each was added or grew */
	uint32_t count;
	struct gsg_trace *newest, *oldest; /* by last use */
	struct gsg_trace *buckets[GSG_CACHE_BUCKETS]; /* chains: what was used last first, what failed since then last */
};

/* The trace with the same launches, arguments aside, that begins at the same place. NULL: there is none. */
struct gsg_trace *gsg_cache_same(const struct gsg_cache *cache, uint64_t place, const struct gsg_launch *const *launches,
				 uint32_t count);

/* Of the traces that begin where the stream is, with this launch: the one that came after `last` the last time; or the first in the
 * chain whose first launch has the same arguments; or the first. It has begun, and has this launch. NULL: there is none; *ret_rests
 * then says whether there is one that does not pay for the time being. */
struct gsg_trace *gsg_cache_find(struct gsg_cache *cache, uint64_t place, const struct gsg_launch *first,
				 const struct gsg_trace *last, bool *ret_rests);

/* A trace that has to give way before this one is added, for memory or because too many begin there; NULL: none. The caller
 * removes and ends it, and asks again. */
struct gsg_trace *gsg_cache_excess(const struct gsg_cache *cache, const struct gsg_trace *coming);

void gsg_cache_add(struct gsg_cache *cache, struct gsg_trace *trace);
void gsg_cache_remove(struct gsg_cache *cache, struct gsg_trace *trace);

/* The trace was of use, and may hold more than before: was_bytes. */
void gsg_cache_used(struct gsg_cache *cache, struct gsg_trace *trace, uint64_t was_bytes);

/* The launches went on otherwise: others that begin here are tried first. */
void gsg_cache_failed(struct gsg_cache *cache, struct gsg_trace *trace);

#endif
