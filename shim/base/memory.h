/* Memory of the machine, or of the container that the process runs in, whichever is less. */
#ifndef GSB_MEMORY_H
#define GSB_MEMORY_H

#include <stdint.h>

/* What there is, and what could be had now; UINT64_MAX where the system does not say. Reads files. */
struct gsb_memory {
	uint64_t total_bytes;
	uint64_t available_bytes;
};
struct gsb_memory gsb_memory_read(void);

/* The same from other texts than those of this machine, for tests: /proc/meminfo, and limit and use of the cgroup
 * ("max", or a number), each of which may be NULL. */
struct gsb_memory gsb_memory_judge(const char *meminfo, const char *limit, const char *use);

/* The processor's memory node, on which the thread runs now; 0 where the system does not say. */
uint32_t gsb_memory_node(void);

#endif
