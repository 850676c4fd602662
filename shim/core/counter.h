/* Calls and host time of each intercepted function, summed over all threads, for readers. */
#ifndef GS_CORE_COUNTER_H
#define GS_CORE_COUNTER_H

#include <stddef.h>
#include <stdint.h>

struct gs_counter {
	const char *name;	/* exported symbol */
	const char *layer;	/* "driver" or "runtime" */
	const char *call_class; /* class column of the table of functions */
	uint64_t calls;
	uint64_t host_ns; /* 0 when not timed */
};

size_t gs_counter_count(void);
void gs_counter_read(size_t index, struct gs_counter *ret_counter);

#endif
