/* See memory.h. The limit of a group above counts too, as far as it can be seen. */
#include "shim/base/memory.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/cgroup.h"
#include "shim/base/os.h"

#define MEMINFO_BYTES 512 /* what is wanted stands in its first lines; threads may have little stack */
#define NUMBER_BYTES 32

/* The number behind the name; UINT64_MAX if there is none. */
static uint64_t number_after(const char *text, const char *name)
{
	const char *found = text != NULL ? strstr(text, name) : NULL;
	uint64_t value = 0;

	if (found == NULL)
		return UINT64_MAX;
	for (found += strlen(name); *found == ' ' || *found == '\t'; found++)
		;
	if (*found < '0' || *found > '9')
		return UINT64_MAX;
	for (; *found >= '0' && *found <= '9'; found++)
		value = value * 10 + (uint64_t)(*found - '0');
	return value;
}

static uint64_t kibibytes_after(const char *text, const char *name)
{
	uint64_t value = number_after(text, name);

	return value < UINT64_MAX / 1024 ? value * 1024 : UINT64_MAX;
}

struct gsb_memory gsb_memory_judge(const char *meminfo, const char *limit, const char *use)
{
	struct gsb_memory memory = {
	    .total_bytes = kibibytes_after(meminfo, "MemTotal:"),
	    .available_bytes = kibibytes_after(meminfo, "MemAvailable:"),
	};
	uint64_t limit_bytes = number_after(limit, ""), used_bytes = number_after(use, "");

	if (limit_bytes < memory.total_bytes) {
		memory.total_bytes = limit_bytes;
		if (used_bytes != UINT64_MAX) {
			uint64_t left_bytes = used_bytes < limit_bytes ? limit_bytes - used_bytes : 0;

			if (left_bytes < memory.available_bytes)
				memory.available_bytes = left_bytes;
		}
	}
	return memory;
}

struct gsb_memory gsb_memory_read(void)
{
	char meminfo[MEMINFO_BYTES], limit[NUMBER_BYTES], use[NUMBER_BYTES];
	struct gsb_memory least, memory;
	struct gsb_cgroup group;
	bool first;

	if (gsb_os_read_file("/proc/meminfo", meminfo, sizeof(meminfo)) < 0)
		meminfo[0] = '\0';
	least = gsb_memory_judge(meminfo, NULL, NULL);
	first = gsb_cgroup_find(&group, "memory");
	do {
		memory = gsb_memory_judge(
			meminfo,
			gsb_cgroup_read(&group, first ? "memory.limit_in_bytes" : "memory.max", limit, sizeof(limit)),
			gsb_cgroup_read(&group, first ? "memory.usage_in_bytes" : "memory.current", use, sizeof(use)));
		if (memory.total_bytes < least.total_bytes)
			least.total_bytes = memory.total_bytes;
		if (memory.available_bytes < least.available_bytes)
			least.available_bytes = memory.available_bytes;
	} while (gsb_cgroup_up(&group));
	return least;
}

uint32_t gsb_memory_node(void)
{
	unsigned cpu = 0, node = 0;
	int saved_errno = errno;

	if (getcpu(&cpu, &node) != 0)
		node = 0;
	errno = saved_errno;
	return node;
}
