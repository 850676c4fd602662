/* A walk up the calling thread's stack by what is known of each return address: some nanoseconds a frame.
 *
 * The frames of this library have a frame pointer; what lies outside of them is left as cfi.h says, so the walk reads
 * the words that a thrown exception would, and no others. It gives up at the first frame of which it is not known how
 * it is left, and wherever the stack is not what it should be: a walk goes towards higher addresses, in steps of words,
 * and what it has not read before it first asks the system about. */
#ifndef GS_STACK_UNWIND_H
#define GS_STACK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/stack/address.h"
#include "shim/stack/trail.h"

#define GS_UNWIND_KNOWN 1024u /* addresses that a thread finds at once; a power of two */

/* Of one thread; zeroed at first. */
struct gs_unwind {
	uint64_t low, high; /* of the stack: readable */
	uint64_t unloads;   /* gs_lookup_unloads at the last look for changes */
	uint32_t generation;
	uint32_t walks;
	struct gs_address known[GS_UNWIND_KNOWN]; /* address 0: none; each has two places, the newer one the first */
	struct gs_address other;		  /* one that does not last */
};

/* Before a walk: forgets what no longer holds. */
void gs_unwind_begin(struct gs_unwind *unwind);

/* What is known of the address; until the next call. NULL: no more can be remembered. */
const struct gs_address *gs_unwind_look_up(struct gs_unwind *unwind, uint64_t address);

/* The innermost place outside own_start..own_end that the caller was called from. False: it gave up. */
bool gs_unwind_enter(struct gs_unwind *unwind, uint64_t own_start, uint64_t own_end, struct gs_place *ret_place);

/* Return addresses from there on, innermost first. Returns how many, 0: it gave up. What was read goes into the trail, if that is not
 * NULL; it ends where not all that the walk depends on can be told. */
size_t gs_unwind_walk(struct gs_unwind *unwind, const struct gs_place *place, struct gs_trail *trail, uint64_t *addresses,
		      size_t capacity);

#endif
