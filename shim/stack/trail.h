/* What a walk up the stack read: where each word lay, and what it was. A walk depends on where it begins, on what is known of return
 * addresses (by the generation of modules), and on these words; as long as all are what they were, so is its result. To look at the
 * words again takes a fraction of the walk, because none has to be known before the next one is read.
 *
 * Of one thread. */
#ifndef GS_STACK_TRAIL_H
#define GS_STACK_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

#define GS_TRAIL_WORDS 96u /* of a longer walk nothing is kept */
#define GS_TRAILS 256u

/* Where a walk begins: a return address into the program, and the registers there. */
struct gs_place {
	uint64_t address, sp, bp;
};

struct gs_trail {
	struct gs_place place;
	uint32_t generation;
	uint32_t base; /* the stack that the result is below */
	uint32_t node; /* the result */
	bool kept;     /* it is whole, and has a result */
	uint16_t count; /* of words; more than there is room for: it is of no use */
	uint16_t top;	/* the largest of the offsets */
	uint16_t offsets[GS_TRAIL_WORDS]; /* from sp, in words */
	uint64_t words[GS_TRAIL_WORDS];
};

/* Zeroed at first. */
struct gs_trails {
	struct gs_trail each[GS_TRAILS];
};

/* The place for the trail of a walk that begins there, whatever it holds now. */
static inline struct gs_trail *gs_trail_of(struct gs_trails *trails, uint32_t base, const struct gs_place *place)
{
	uint64_t key = (place->sp ^ place->address << 20 ^ (uint64_t)base << 44) * 0x9e3779b97f4a7c15u;

	return &trails->each[(key ^ key >> 32) % GS_TRAILS];
}

static inline void gs_trail_begin(struct gs_trail *trail, const struct gs_place *place, uint32_t generation)
{
	trail->place = *place;
	trail->generation = generation;
	trail->kept = false;
	trail->count = trail->top = 0;
}

/* The walk depends on more than can be noted. */
static inline void gs_trail_spoil(struct gs_trail *trail)
{
	trail->count = GS_TRAIL_WORDS + 1;
}

/* The walk read this word at this address. */
static inline void gs_trail_note(struct gs_trail *trail, uint64_t address, uint64_t word)
{
	uint64_t offset = (address - trail->place.sp) / sizeof(word);

	if (trail->count >= GS_TRAIL_WORDS || offset > UINT16_MAX) {
		gs_trail_spoil(trail);
		return;
	}
	trail->offsets[trail->count] = (uint16_t)offset;
	trail->words[trail->count++] = word;
	if (offset > trail->top)
		trail->top = (uint16_t)offset;
}

/* The walk has ended well. */
static inline void gs_trail_keep(struct gs_trail *trail, uint32_t base, uint32_t node)
{
	trail->base = base;
	trail->node = node;
	trail->kept = trail->count <= GS_TRAIL_WORDS;
}

/* Whether it is of a walk from there, below this stack, that would read the same again. high: the stack is readable up to there. */
bool gs_trail_holds(const struct gs_trail *trail, uint32_t base, uint32_t generation, const struct gs_place *place, uint64_t high);

#endif
