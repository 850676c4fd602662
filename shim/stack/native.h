/* Native frames of the calling thread: by our own walk (unwind.h), and where that gives up by libunwind, if it can be
 * loaded, else by the C library's backtrace(). */
#ifndef GS_STACK_NATIVE_H
#define GS_STACK_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/stack/unwind.h"

/* Frames beyond this many are not looked at; the innermost count. */
#define GS_NATIVE_FRAMES_MAX 128u

/* Where the program called this library. False: our own walk cannot tell, or another thread is still loading the unwinder. */
bool gs_native_enter(struct gs_unwind *unwind, struct gs_place *ret_place);

/* Return addresses, innermost first, without the frames of this library. Returns how many; 0 while another thread
 * is still loading the unwinder. place: of gs_native_enter; NULL: it failed. trail: as of gs_unwind_walk. */
size_t gs_native_walk(struct gs_unwind *unwind, const struct gs_place *place, struct gs_trail *trail,
		      uint64_t addresses[GS_NATIVE_FRAMES_MAX]);

/* What stands by: "libunwind", "backtrace", or "off" as long as nothing was walked. */
const char *gs_native_name(void);

#endif
