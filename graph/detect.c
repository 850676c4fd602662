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

/* The distance to the last place that looked like this one. */
static void watch(struct gsg_detect *detect, uint32_t last)
{
	uint32_t distance = (uint32_t)detect->count - last;

	detect->period = 0;
	detect->run = 0;
	if (last == 0 || distance == 0 || distance > MASK - GSG_DETECT_GRAM ||
	    distance + GSG_DETECT_GRAM > detect->count || !gram_is_at(detect, distance))
		return;
	detect->period = distance;
	detect->run = GSG_DETECT_GRAM;
}

void gsg_detect_push(struct gsg_detect *detect, uint64_t token)
{
	uint64_t gram;
	uint32_t *last;

	detect->tokens[detect->count & MASK] = token;
	detect->count++;
	gram = gsg_detect_gram(detect);
	last = &detect->last[gram & MASK];
	if (detect->period != 0 && token == gsg_detect_token(detect, detect->period))
		detect->run++;
	else if (gram != 0)
		watch(detect, *last);
	*last = (uint32_t)detect->count;
}
