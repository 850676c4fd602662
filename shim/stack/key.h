/* A cheap key of the place where a thread is: so that its stack needs to be taken only when the key is new.
 *
 * Of Python it covers the innermost frames, by code object and instruction; of native code the return address into the
 * program and how deep the stack is. So two calls with equal keys were made by the same lines of the program as far as
 * those frames reach; further out, or in native code further out than the call itself, they may differ. */
#ifndef GS_STACK_KEY_H
#define GS_STACK_KEY_H

#include <stdint.h>

#define GS_STACK_KEY_FRAMES 6u

/* call_site: return address into the program. depth: any address on the caller's stack. */
uint64_t gs_stack_key(const void *call_site, const void *depth);

#endif
