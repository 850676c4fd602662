/* See finder.h. */
#include "shim/watch/finder.h"

#include <stddef.h>

/* What comes as seldom as a new anchor, as a share of an inner round. */
#define OUTER_SHARE 8u

/* No round of layers has so many launches: nothing takes the place of an anchor of such rounds. */
#define WIDE 96u

static uint32_t patience(uint32_t period)
{
	return 2 * period > GS_FINDER_LOST_LEAST ? 2 * period : GS_FINDER_LOST_LEAST;
}

static void mark_set(const struct gs_finder *finder, struct gs_finder_mark *mark)
{
	mark->at = finder->at;
	mark->round = finder->round;
	mark->outer = finder->outer;
	mark->under = (uint16_t)finder->anchor;
}

static void choose(struct gs_finder *finder, struct gs_finder_mark *mark, uint64_t key, bool promoted, uint32_t period)
{
	finder->anchor = key;
	finder->anchor_mark = mark;
	finder->promoted = promoted;
	finder->rounds = 0;
	finder->round++;
	finder->round_at = finder->at;
	finder->lost_at = finder->at + patience(period);
	mark->period = period;
	mark_set(finder, mark);
}

static enum gs_found round_end(struct gs_finder *finder, struct gs_finder_mark *mark)
{
	uint32_t period = finder->at - finder->round_at;

	finder->lost_at = finder->at + patience(period > mark->period ? period : mark->period);
	finder->round++;
	finder->round_at = finder->at;
	finder->anchor_mark = mark;
	mark->period = period;
	mark_set(finder, mark);
	if (++finder->rounds >= GS_FINDER_ROUNDS) {
		mark->anchor = true;
		if (period >= WIDE)
			finder->wide_at = finder->at;
	}
	return GS_FOUND_ROUND;
}

static void anchor_lose(struct gs_finder *finder)
{
	finder->anchor = 0;
	finder->anchor_mark = NULL;
	finder->base = finder->round_at;
}

static bool came_since(const struct gs_finder_mark *mark, uint32_t base)
{
	return mark->at != 0 && (int32_t)(mark->at - base) > 0;
}

/* The anchor may still come in its time. */
static bool in_time(const struct gs_finder *finder)
{
	uint32_t period = finder->anchor_mark->period;

	return finder->at - finder->round_at <= period + period / 4;
}

/* Something that was an anchor once comes, perhaps while another one is. It may be part of that one's rounds, or another
 * part of the program has begun. */
static enum gs_found anchor_again(struct gs_finder *finder, struct gs_finder_mark *mark, uint64_t key)
{
	uint32_t period = mark->period, rounds = finder->round - mark->round;

	if (finder->anchor != 0 && ((finder->promoted && finder->rounds < GS_FINDER_ROUNDS) ||
				    (finder->rounds >= GS_FINDER_ROUNDS && rounds == 1 &&
				     period < finder->anchor_mark->period))) {
		mark->anchor = false;
		mark_set(finder, mark);
		return GS_FOUND_INNER;
	}
	if (finder->anchor != 0 && period < finder->anchor_mark->period && in_time(finder)) {
		mark_set(finder, mark);
		return GS_FOUND_NOTHING;
	}
	choose(finder, mark, key, false, period);
	return GS_FOUND_LOOP;
}

/* It comes once in several rounds of the anchor. */
static enum gs_found outer_seen(struct gs_finder *finder, struct gs_finder_mark *mark, uint64_t key)
{
	const struct gs_finder_mark before = *mark;
	uint32_t rounds = finder->round - before.round, length = finder->at - before.at, seldom, inner = length / rounds;

	/* What comes back together with its anchor comes once in a round again; what came with another one is no part of
	 * a loop around this one. */
	if (finder->rounds < 2 || before.under != (uint16_t)finder->anchor) {
		mark_set(finder, mark);
		return GS_FOUND_NOTHING;
	}
	seldom = ++finder->outer - before.outer;
	mark_set(finder, mark);
	if (seldom * OUTER_SHARE < inner || (seldom < 2 && inner > 1) ||
	    (int32_t)(finder->wide_at - before.at) > 0)
		return GS_FOUND_NOTHING;
	if (finder->anchor_mark != NULL)
		finder->anchor_mark->anchor = false;
	choose(finder, mark, key, true, length);
	return GS_FOUND_OUTER;
}

enum gs_found gs_finder_see_first(struct gs_finder *finder, struct gs_finder_mark *mark, uint64_t key)
{
	finder->at++;
	if (key == finder->anchor)
		return round_end(finder, mark);
	if (finder->anchor != 0 && finder->at == finder->lost_at)
		anchor_lose(finder);
	if (mark->anchor)
		return anchor_again(finder, mark, key);
	if (finder->anchor == 0 && came_since(mark, finder->base)) {
		choose(finder, mark, key, false, finder->at - mark->at);
		return GS_FOUND_LOOP;
	}
	if (mark->at != 0 && mark->round == finder->round && finder->anchor != 0)
		return GS_FOUND_NOTHING;
	if (mark->at != 0 && finder->anchor != 0 && finder->round - mark->round >= 2)
		return outer_seen(finder, mark, key);
	mark_set(finder, mark);
	return GS_FOUND_NOTHING;
}
