/* libstackprobe.so: shim/stack behind a few exported functions, so that a program or an interpreter can ask for its own
 * stack as the shim would see it. */
#ifndef TEST_STACK_PROBE_H
#define TEST_STACK_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* flags: enum gs_stack_mode of shim/stack/stack.h. Returns 0. */
int probe_init(unsigned flags);

/* The caller's stack, outermost frame first, one frame a line: "P function|file|line" or "N module|offset in hex".
 * Returns the length that it had; a negative one: it did not fit. */
long probe_capture(char *text, size_t capacity, uintptr_t call_site);

/* The same from a thread of its own that the interpreter knows nothing about. */
long probe_capture_in_thread(char *text, size_t capacity);

/* The caller's return addresses by our own walk alone, innermost first: where in the caller it was called from, then the
 * frames above. Returns how many, 128 at most; 0: it gave up. Where the trail of an earlier walk holds the same is walked all the same,
 * and the process aborts unless both lead to the same. How often that was so. */
size_t probe_walk(uint64_t *addresses, size_t capacity);
unsigned probe_trails_held(void);

/* "captures native_walks cut|python|native". */
void probe_counters(char *text, size_t capacity);

/* Lets one request for table memory fail after so many that succeed. */
void probe_fault(unsigned passes);
/* How many have failed since. */
unsigned probe_fault_fired(void);

/* Connects the stacks of PyTorch's backward operations to those of the forward ones. */
void probe_forward(void);

/* Nanoseconds a capture, the mean of count captures of the same stack. */
double probe_time(unsigned count);

/* Runs a callback of the program below a frame of this library. */
void probe_call(void (*callback)(void *user), void *user);

#endif
