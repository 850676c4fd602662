/* Finds the steps of a program in the order of what one thread launches: the rounds of its loop, be it training, decoding, or
 * one after the other.
 *
 * A step begins with its *anchor*, a launch (kernel and place) that comes once in each round. At first that is whatever comes
 * again first, which is part of an innermost loop: the layers of a network. What comes once in several rounds lies in a
 * loop around it, and becomes the anchor in its place if it is not alone: the launches that come as seldom must make up an
 * eighth of an inner round, and that must be no longer than a layer may be. So a kernel that runs every N steps changes nothing, while all that a network does before and
 * after its layers makes the step. What may differ from step to step, therefore, is everything but the anchor.
 *
 * An anchor that stays away for twice its round is lost, and the search begins anew: the program does something else now. If
 * it had been found often enough, it is one again as soon as it comes back.
 *
 * Launches of one kernel at one place that follow each other count as one. Pure; all of it belongs to one thread. */
#ifndef GS_WATCH_FINDER_H
#define GS_WATCH_FINDER_H

#include <stdbool.h>
#include <stdint.h>

/* A loop that came round so often is one for good. */
#define GS_FINDER_ROUNDS 4u

/* An anchor that is not lost before so many launches. */
#define GS_FINDER_LOST_LEAST 32u

/* What is remembered of a kernel at a place, in the place's own record; zero at first. All numbers may wrap. */
struct gs_finder_mark {
	uint32_t at;	 /* launch at which it came last, the first time in its round; 0 = never */
	uint32_t round;	 /* then */
	uint32_t outer;	 /* then */
	uint32_t period; /* of its rounds, in launches; anchors */
	uint16_t under;	 /* the anchor then, shortened */
	bool anchor;	 /* of a loop for good */
};

struct gs_finder {
	uint64_t anchor; /* key; 0 = none */
	struct gs_finder_mark *anchor_mark;
	uint32_t at;	   /* launches so far */
	uint32_t round;	   /* rounds so far, of all anchors */
	uint32_t round_at; /* first launch of this one */
	uint32_t outer;	   /* launches so far that had come before, but not in the round before */
	uint32_t lost_at;
	uint32_t wide_at; /* newest round with so many launches that it is no part of a step */
	uint32_t base;	 /* without an anchor: what came since then is new */
	uint32_t rounds; /* of this anchor */
	bool promoted;	 /* it took the place of one in a loop inside its own */
};

enum gs_found {
	GS_FOUND_NOTHING,
	GS_FOUND_ROUND, /* the anchor: a step ends, another one begins */
	GS_FOUND_LOOP,	/* becomes the anchor: a step begins */
	GS_FOUND_OUTER, /* likewise, and the anchor so far was part of a loop inside its own */
	GS_FOUND_INNER	/* was an anchor once, of a loop inside that of the anchor now */
};

/* A launch. key: of the kernel at the place, not 0; mark: of the same. */
enum gs_found gs_finder_see_first(struct gs_finder *finder, struct gs_finder_mark *mark, uint64_t key);

static inline enum gs_found gs_finder_see(struct gs_finder *finder, struct gs_finder_mark *mark, uint64_t key)
{
	uint32_t at = finder->at + 1;

	/* It came in this round before, and nothing is due. */
	if (__builtin_expect(mark->round == finder->round && mark->at != 0 && key != finder->anchor &&
				     finder->anchor != 0 && at != finder->lost_at && !mark->anchor,
			     1)) {
		finder->at = at;
		return GS_FOUND_NOTHING;
	}
	return gs_finder_see_first(finder, mark, key);
}

#endif
