/* See cache.h. */
#include "graph/cache.h"

#include "shim/base/assert.h"

static struct gsg_trace **bucket_of(struct gsg_cache *cache, uint64_t place)
{
	return &cache->buckets[place & (GSG_CACHE_BUCKETS - 1)];
}

struct gsg_trace *gsg_cache_same(const struct gsg_cache *cache, uint64_t place, const struct gsg_launch *const *launches,
				 uint32_t count)
{
	struct gsg_trace *trace = cache->buckets[place & (GSG_CACHE_BUCKETS - 1)];

	while (trace != NULL && (trace->place != place || !gsg_trace_is(trace, launches, count)))
		trace = trace->chain;
	return trace;
}

static bool begins(struct gsg_trace *trace, const struct gsg_launch *first)
{
	gsg_trace_begin(trace);
	return gsg_trace_match(trace, 0, first);
}

struct gsg_trace *gsg_cache_find(struct gsg_cache *cache, uint64_t place, const struct gsg_launch *first,
				 const struct gsg_trace *last, bool *ret_rests)
{
	struct gsg_trace *found = NULL;

	*ret_rests = false;
	for (struct gsg_trace *trace = *bucket_of(cache, place); trace != NULL; trace = trace->chain) {
		if (trace->place != place || trace->bad)
			continue;
		if (gsg_gain_rests(&trace->gain)) {
			*ret_rests = true;
			continue;
		}
		if (!begins(trace, first))
			continue;
		if (last != NULL && last->next == trace)
			return trace;
		if (found == NULL || (trace->dirty_count == 0 && found->dirty_count != 0))
			found = trace;
	}
	return found;
}

struct gsg_trace *gsg_cache_excess(const struct gsg_cache *cache, const struct gsg_trace *coming)
{
	struct gsg_trace *last = NULL;
	uint32_t same = 0;

	for (struct gsg_trace *trace = cache->buckets[coming->place & (GSG_CACHE_BUCKETS - 1)]; trace != NULL;
	     trace = trace->chain)
		if (trace->place == coming->place) {
			last = trace;
			same++;
		}
	if (same >= GSG_CACHE_SAME)
		return last;
	return cache->bytes + gsg_trace_bytes(coming) > cache->limit_bytes ? cache->oldest : NULL;
}

/* --- lists --------------------------------------------------------------------------------------------------------- */

static void link_newest(struct gsg_cache *cache, struct gsg_trace *trace)
{
	struct gsg_trace **bucket = bucket_of(cache, trace->place);

	trace->newer = NULL;
	trace->older = cache->newest;
	if (cache->newest != NULL)
		cache->newest->newer = trace;
	else
		cache->oldest = trace;
	cache->newest = trace;
	trace->chain = *bucket;
	*bucket = trace;
}

static void unchain(struct gsg_cache *cache, struct gsg_trace *trace)
{
	struct gsg_trace **place = bucket_of(cache, trace->place);

	while (*place != trace) {
		gsb_debug_assert(*place != NULL);
		place = &(*place)->chain;
	}
	*place = trace->chain;
}

static void unlink_trace(struct gsg_cache *cache, struct gsg_trace *trace)
{
	unchain(cache, trace);
	*(trace->newer != NULL ? &trace->newer->older : &cache->newest) = trace->older;
	*(trace->older != NULL ? &trace->older->newer : &cache->oldest) = trace->newer;
}

void gsg_cache_add(struct gsg_cache *cache, struct gsg_trace *trace)
{
	link_newest(cache, trace);
	cache->bytes += gsg_trace_bytes(trace);
	cache->count++;
}

void gsg_cache_remove(struct gsg_cache *cache, struct gsg_trace *trace)
{
	unlink_trace(cache, trace);
	cache->bytes -= gsg_trace_bytes(trace);
	cache->count--;
}

void gsg_cache_used(struct gsg_cache *cache, struct gsg_trace *trace, uint64_t was_bytes)
{
	cache->bytes += gsg_trace_bytes(trace) - was_bytes;
	if (cache->newest == trace && *bucket_of(cache, trace->place) == trace)
		return;
	unlink_trace(cache, trace);
	link_newest(cache, trace);
}

void gsg_cache_failed(struct gsg_cache *cache, struct gsg_trace *trace)
{
	struct gsg_trace **place = bucket_of(cache, trace->place);

	unchain(cache, trace);
	while (*place != NULL)
		place = &(*place)->chain;
	trace->chain = NULL;
	*place = trace;
}
