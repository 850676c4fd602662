/* See detect.h. */
#include "graph/detect.h"

#include <string.h>

#define MULTIPLIER 0x9e3779b97f4a7c15u
#define MASK (GSG_DETECT_TOKENS - 1)

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * MULTIPLIER;
	return hash ^ hash >> 32;
}

uint64_t gsg_hash(const void *bytes, uint64_t size_bytes, uint64_t seed)
{
	const unsigned char *at = bytes;
	uint64_t hash = seed ^ size_bytes, word;

	for (; size_bytes >= sizeof(word); at += sizeof(word), size_bytes -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash, word);
	}
	for (; size_bytes > 0; at++, size_bytes--)
		hash = mix(hash, *at);
	return hash;
}

uint64_t gsg_detect_gram(const struct gsg_detect *detect)
{
	uint64_t gram = 1;

	if (detect->count < GSG_DETECT_GRAM)
		return 0;
	for (unsigned i = GSG_DETECT_GRAM; i-- > 0;)
		gram = mix(gram, gsg_detect_token(detect, i));
	return gram;
}

static bool gram_is_at(const struct gsg_detect *detect, uint32_t distance)
{
	for (unsigned i = 0; i < GSG_DETECT_GRAM; i++)
		if (gsg_detect_token(detect, i) != gsg_detect_token(detect, i + distance))
			return false;
	return true;
}

/* The distance to the last place that looked like this one; 0: there is none, or it is too far. */
static uint32_t distance_to(const struct gsg_detect *detect, uint32_t last)
{
	uint32_t distance = (uint32_t)detect->count - last;

	if (last == 0 || distance == 0 || distance > MASK - GSG_DETECT_GRAM ||
	    distance + GSG_DETECT_GRAM > detect->count || !gram_is_at(detect, distance))
		return 0;
	return distance;
}

/* distance: what to watch when it is broken, or, for the inner one, when that is shorter. */
static void follow(struct gsg_watch *watch, bool holds, uint32_t distance, bool shorter)
{
	if (holds && !(shorter && distance != 0 && distance < watch->period)) {
		watch->run++;
		return;
	}
	watch->period = distance;
	watch->run = distance != 0 ? GSG_DETECT_GRAM : 0;
}

static bool holds(const struct gsg_detect *detect, const struct gsg_watch *watch)
{
	return watch->period != 0 && gsg_detect_token(detect, 0) == gsg_detect_token(detect, watch->period);
}

void gsg_detect_push(struct gsg_detect *detect, uint64_t token)
{
	uint32_t *last, distance;
	uint64_t gram;

	detect->tokens[detect->count & MASK] = token;
	detect->count++;
	gram = gsg_detect_gram(detect);
	last = &detect->last[gram & MASK];
	distance = gram != 0 ? distance_to(detect, *last) : 0;
	follow(&detect->outer, holds(detect, &detect->outer), distance, false);
	follow(&detect->inner, holds(detect, &detect->inner), distance, true);
	*last = (uint32_t)detect->count;
}
