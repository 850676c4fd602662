/* See unwind.h. */
#include "shim/stack/unwind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "shim/api/lookup.h"
#include "shim/base/err.h"
#include "shim/base/os.h"
#include "shim/stack/module.h"

/* Modules also go by ways that we do not see: now and then it is looked whether some have. */
#define LOOK_WALKS 256u

/* Where a stack may reach below the lowest place known of it: more, and it is another one. */
#define GAP_BYTES (64u << 10)

/* Neither sanitizer has a say in what lies between the variables of others. */
#define OTHERS_FRAMES __attribute__((no_sanitize("address"), no_sanitize("thread")))

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

/* The word at an address of the stack that is not below sp. */
static inline OTHERS_FRAMES bool word_at(struct gs_unwind *unwind, uint64_t sp, uint64_t address, uint64_t *ret_word)
{
	if (__builtin_expect(address < sp || address % sizeof(uint64_t) != 0, 0))
		return false;
	if (__builtin_expect(address >= unwind->high, 0)) {
		if (!gsb_os_is_readable((const void *)(uintptr_t)address))
			return false;
		unwind->high = (address & ~(uint64_t)(GSB_PAGE_BYTES - 1)) + GSB_PAGE_BYTES;
	}
	*ret_word = *(const uint64_t *)(uintptr_t)address;
	return true;
}

OTHERS_FRAMES size_t gs_unwind_walk(struct gs_unwind *unwind, uint64_t own_start, uint64_t own_end,
				    uint64_t *addresses, size_t capacity)
{
	uint64_t bp = (uint64_t)(uintptr_t)__builtin_frame_address(0), sp = bp, end, address;
	size_t count = 0;

	stack_enter(unwind, sp);
	do {
		if (!word_at(unwind, sp, bp + 8, &address))
			return 0;
		sp = bp + 16;
		bp = *(const uint64_t *)(uintptr_t)bp;
	} while (address - own_start < own_end - own_start);
	while (address != 0) {
		const struct gs_address *known = gs_unwind_look_up(unwind, address);
		struct gs_cfi cfi;
		bool read = true;

		if (known == NULL)
			return 0;
		addresses[count++] = address;
		cfi = known->cfi;
		if (cfi.end == GS_CFI_OUTERMOST || count == capacity)
			return count;
		switch (cfi.end) {
		case GS_CFI_SP:
			end = sp + (uint64_t)(int64_t)cfi.offset;
			break;
		case GS_CFI_BP:
			end = bp + (uint64_t)(int64_t)cfi.offset;
			break;
		case GS_CFI_AT_BP:
			read = word_at(unwind, sp, bp + (uint64_t)(int64_t)cfi.offset, &end);
			break;
		default:
			return 0;
		}
		if (!read || end <= sp || !word_at(unwind, sp, end - 8, &address))
			return 0;
		if (cfi.bp != GS_CFI_KEPT)
			read = word_at(unwind, sp,
				       (cfi.bp == GS_CFI_BELOW_END ? end : bp) + (uint64_t)(int64_t)cfi.bp_offset, &bp);
		if (!read)
			return 0;
		sp = end;
	}
	return count;
}
