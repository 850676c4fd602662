/* What each thread adds up of what it did, so that the difference between two moments tells what happened in between: the
 * figures of a step (shim/watch/step.h). Each thread writes its own, in the block of its counters; a reader sums them up.
 *
 *  X(name, unit, meaning). unit: COUNT, BYTES, NS, or TICKS of the processor's time-stamp counter, which are nanoseconds once read */
#ifndef GS_CORE_FIGURE_H
#define GS_CORE_FIGURE_H

#define GS_FIGURES(X)                                                                                                  \
	X(LAUNCHES, COUNT, "kernels and graphs launched")                                                              \
	X(LAUNCH, TICKS, "host time of launching them")                                                                \
	X(DEVICE, NS, "what they take on devices, by samples of these kernels so far")                                 \
	X(QUEUE, TICKS, "in launches and copies that took long: the queue was full, or code was loaded")               \
	X(WAITS, COUNT, "calls that wait, and copies that the host waits for")                                         \
	X(WAIT, TICKS, "inside these")                                                                                 \
	X(IDLE, TICKS, "from waits that left a device nothing to do until the host gave it something")                  \
	X(MEMORY_CALLS, COUNT, "calls for memory that took long")                                                      \
	X(MEMORY, TICKS, "inside these")                                                                               \
	X(LOADS, COUNT, "calls that loaded code")                                                                      \
	X(LOAD, TICKS, "inside these")                                                                                 \
	X(TO_DEVICE, BYTES, "copied to the device")                                                                    \
	X(TO_HOST, BYTES, "copied to the host")

enum gs_figure {
#define GS_FIGURE_ENUM(name, unit, text) GS_FIGURE_##name,
	GS_FIGURES(GS_FIGURE_ENUM)
#undef GS_FIGURE_ENUM
	GS_FIGURE_COUNT
};

#endif
