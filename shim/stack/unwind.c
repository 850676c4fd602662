/* See unwind.h. */
#include "shim/stack/unwind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "shim/api/lookup.h"
#include "shim/base/err.h"
#include "shim/base/os.h"
#include "shim/stack/module.h"
#include "shim/stack/others.h"

/* Modules also go by ways that we do not see: now and then it is looked whether some have. */
#define LOOK_WALKS 256u

/* Where a stack may reach below the lowest place known of it: more, and it is another one. */
#define GAP_BYTES (64u << 10)

void gs_unwind_begin(struct gs_unwind *unwind)
{
	uint64_t unloads = atomic_load_explicit(&gs_lookup_unloads, memory_order_acquire);
	uint32_t generation;

	if (unloads != unwind->unloads || unwind->walks++ % LOOK_WALKS == 0) {
		unwind->unloads = unloads;
		gs_module_refresh();
	}
	generation = gs_module_generation();
	if (generation == unwind->generation)
		return;
	unwind->generation = generation;
	memset(unwind->known, 0, sizeof(unwind->known));
}

/* It is not in its first place. */
static __attribute__((noinline)) const struct gs_address *look_further(struct gs_unwind *unwind, struct gs_address *first,
									uint64_t address)
{
	struct gs_address *second = &unwind->known[(size_t)(first - unwind->known) ^ 1];
	bool lasting;

	if (second->address == address)
		return second;
	if (gs_address_find(address, unwind->generation, &unwind->other, &lasting) != GS_OK)
		return NULL;
	if (!lasting)
		return &unwind->other;
	*second = *first;
	*first = unwind->other;
	return first;
}

const struct gs_address *gs_unwind_look_up(struct gs_unwind *unwind, uint64_t address)
{
	struct gs_address *first = &unwind->known[address * 0x9e3779b97f4a7c15ull >> 32 & (GS_UNWIND_KNOWN - 1)];

	return __builtin_expect(first->address == address, 1) ? first : look_further(unwind, first, address);
}

/* From here on the stack is walked. */
static void stack_enter(struct gs_unwind *unwind, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(GSB_PAGE_BYTES - 1);

	if (sp >= unwind->high || sp + GAP_BYTES < unwind->low) {
		unwind->low = page;
		unwind->high = page + GSB_PAGE_BYTES;
	} else if (page < unwind->low) {
		unwind->low = page;
	}
}

/* Whether the stack can be read up to the word, which lies above what is known. */
static __attribute__((noinline)) bool reaches(struct gs_unwind *unwind, const uint64_t *word)
{
	if (!gsb_os_is_readable(word))
		return false;
	unwind->high = ((uint64_t)(uintptr_t)word & ~(uint64_t)(GSB_PAGE_BYTES - 1)) + GSB_PAGE_BYTES;
	return true;
}

/* The word at an address of the stack that is not below sp. */
static inline GS_OTHERS_FRAMES bool word_at(struct gs_unwind *unwind, uint64_t sp, uint64_t address, uint64_t *ret_word)
{
	if (__builtin_expect(address < sp || address % sizeof(uint64_t) != 0, 0))
		return false;
	if (__builtin_expect(address >= unwind->high, 0) && !reaches(unwind, (const uint64_t *)(uintptr_t)address))
		return false;
	*ret_word = *(const uint64_t *)(uintptr_t)address;
	return true;
}

/* Code between own_start and own_end keeps frame pointers. */
GS_OTHERS_FRAMES bool gs_unwind_enter(struct gs_unwind *unwind, uint64_t own_start, uint64_t own_end, struct gs_place *ret_place)
{
	const uint64_t *frame = __builtin_frame_address(0), *outer = frame;
	uint64_t address;

	stack_enter(unwind, (uint64_t)(uintptr_t)frame);
	do {
		if (outer < frame || ((uint64_t)(uintptr_t)(outer + 2) > unwind->high && !reaches(unwind, outer + 1)))
			return false;
		frame = outer;
		outer = (const uint64_t *)(uintptr_t)frame[0];
		address = frame[1];
	} while (address - own_start < own_end - own_start);
	*ret_place = (struct gs_place){
		.address = address,
		.sp = (uint64_t)(uintptr_t)(frame + 2),
		.bp = (uint64_t)(uintptr_t)outer,
	};
	return true;
}

static inline void noted(struct gs_trail *trail, uint64_t address, uint64_t word)
{
	if (trail != NULL)
		gs_trail_note(trail, address, word);
}

/* From a frame to the one that called it: false where that cannot be told. */
static GS_OTHERS_FRAMES bool step(struct gs_unwind *unwind, struct gs_place *place, const struct gs_cfi *cfi, struct gs_trail *trail)
{
	uint64_t end, at;

	switch (cfi->end) {
	case GS_CFI_SP:
		end = place->sp + (uint64_t)(int64_t)cfi->offset;
		break;
	case GS_CFI_BP:
		end = place->bp + (uint64_t)(int64_t)cfi->offset;
		break;
	case GS_CFI_AT_BP:
		at = place->bp + (uint64_t)(int64_t)cfi->offset;
		if (!word_at(unwind, place->sp, at, &end))
			return false;
		noted(trail, at, end);
		break;
	default:
		return false;
	}
	if (end <= place->sp || !word_at(unwind, place->sp, end - 8, &place->address))
		return false;
	noted(trail, end - 8, place->address);
	if (cfi->bp != GS_CFI_KEPT) {
		at = (cfi->bp == GS_CFI_BELOW_END ? end : place->bp) + (uint64_t)(int64_t)cfi->bp_offset;
		if (!word_at(unwind, place->sp, at, &place->bp))
			return false;
		noted(trail, at, place->bp);
	}
	place->sp = end;
	return true;
}

GS_OTHERS_FRAMES size_t gs_unwind_walk(struct gs_unwind *unwind, const struct gs_place *place, struct gs_trail *trail,
				       uint64_t *addresses, size_t capacity)
{
	struct gs_place now = *place;
	size_t count = 0;

	if (trail != NULL)
		gs_trail_begin(trail, place, unwind->generation);
	while (now.address != 0) {
		const struct gs_address *known = gs_unwind_look_up(unwind, now.address);

		if (known == NULL)
			return 0;
		if (trail != NULL && known == &unwind->other)
			gs_trail_spoil(trail);
		addresses[count++] = now.address;
		if (known->cfi.end == GS_CFI_OUTERMOST || count == capacity)
			return count;
		if (!step(unwind, &now, &known->cfi, trail))
			return 0;
	}
	return count;
}
