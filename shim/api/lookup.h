/* The doors: what dlsym, dlvsym and cuGetProcAddress hand out instead of the driver's own functions. */
#ifndef GS_API_LOOKUP_H
#define GS_API_LOOKUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/hot.h"

/* Finds the dlsym, dlvsym and dlclose that we stand in front of: libc's own, or those of a library that is preloaded
 * behind us. Called by the constructor, and by the first dlsym if that comes earlier. */
void gs_lookup_init(void);

/* How often the program has unloaded something: what is remembered of an address holds while this stays the same. */
extern GSB_OURS _Atomic uint64_t gs_lookup_unloads;

/* What a program gets when the driver answers `real` to a question for `name` (an exported symbol for dlsym, a public
 * name for cuGetProcAddress): our entry of that very function, a trampoline for a function that the table does not
 * list, or `real` itself for callers that must not be disturbed. caller: a return address. */
void *gs_lookup_substitute(const char *name, bool per_thread, void *real, const void *caller);

/* True for the driver itself, NVIDIA's profiling and management libraries, and ourselves: they see the real driver. */
bool gs_lookup_is_exempt(const void *caller);
struct gsb_elf;
bool gs_lookup_exempts(const struct gsb_elf *elf);

#endif
