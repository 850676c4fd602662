/* The modules that native frames lie in.
 *
 * They are entered into the table of stack.h in the order in which they are seen and stay there when they are
 * unloaded; the newest one that covers an address counts. */
#ifndef GS_STACK_MODULE_H
#define GS_STACK_MODULE_H

#include <stdint.h>

/* Enters modules that were loaded since the last call. Returns how often an address range was found to have been taken
 * over by another module: what libunwind remembers by address may be stale from the first time on. Takes the loader's
 * lock, also when there is nothing new. */
unsigned gs_module_refresh(void);

/* Grows when a refresh finds that a module is gone in which gs_module_of had found an address: what is remembered by
 * address is stale then. */
uint32_t gs_module_generation(void);

/* The module that covers the address and its load bias; 0 and 0 when none does. */
uint32_t gs_module_of(uint64_t address, uint64_t *ret_base);

#endif
