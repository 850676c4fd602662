/* Return addresses that were seen: which frame each is, and how it is left (cfi.h). Shared by all threads.
 *
 * An address means the same as long as nothing that frames were found in is unloaded: each time that happens a new
 * generation begins (module.h). */
#ifndef GS_STACK_ADDRESS_H
#define GS_STACK_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/stack/cfi.h"

struct gs_address {
	uint64_t address;
	uint32_t generation;
	uint32_t frame; /* number of gs_frame_intern */
	struct gs_cfi cfi;
};

/* ret_lasting: it lies in a module, so it may be kept for this generation. GS_E_LIMIT or GS_E_NO_HOST_MEMORY when no
 * frame can be added. */
int gs_address_find(uint64_t address, uint32_t generation, struct gs_address *ret_address, bool *ret_lasting);

#endif
