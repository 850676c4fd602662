/* Native frames of the calling thread: libunwind where it can be loaded, else the C library's backtrace(). */
#ifndef GS_STACK_NATIVE_H
#define GS_STACK_NATIVE_H

#include <stddef.h>
#include <stdint.h>

/* Frames beyond this many are not looked at; the innermost count. */
#define GS_NATIVE_FRAMES_MAX 128u

/* Return addresses, innermost first, without the frames of this library. Returns how many; 0 while another thread
 * is still loading the unwinder. ret_takeovers: see gs_module_refresh. */
size_t gs_native_walk(uint64_t addresses[GS_NATIVE_FRAMES_MAX], unsigned *ret_takeovers);

/* "libunwind", "backtrace", or "off" as long as nothing was walked. */
const char *gs_native_name(void);

#endif
