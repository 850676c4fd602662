/* See trail.h. */
#include "shim/stack/trail.h"

#include "shim/stack/others.h"

GS_OTHERS_FRAMES bool gs_trail_holds(const struct gs_trail *trail, uint32_t base, uint32_t generation, const struct gs_place *place,
				     uint64_t high)
{
	const uint64_t *stack = (const uint64_t *)(uintptr_t)place->sp;

	if (!trail->kept || trail->base != base || trail->generation != generation ||
	    trail->place.address != place->address || trail->place.sp != place->sp || trail->place.bp != place->bp ||
	    place->sp + ((uint64_t)trail->top + 1) * sizeof(*stack) > high)
		return false;
	for (unsigned at = 0; at < trail->count; at++)
		if (stack[trail->offsets[at]] != trail->words[at])
			return false;
	return true;
}
