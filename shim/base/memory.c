/* See memory.h. Of cgroups both versions are known; the limit of a parent counts too, as far as it can be seen: inside
 * a container its own group is the root of what is mounted. */
#include "shim/base/memory.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/os.h"
#include "shim/base/text.h"

#define TEXT_BYTES 4096

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

/* The group's path behind "0::" (version 2) or ":memory:" (version 1); "" if the process is in none. */
static void group_path(const char *groups, const char *mark, char *path, size_t capacity)
{
	const char *found = strstr(groups, mark);
	size_t length = 0;

	if (found != NULL)
		for (found += strlen(mark); *found != '\0' && *found != '\n' && length + 1 < capacity; found++)
			path[length++] = *found;
	path[length] = '\0';
}

static const char *read_in(char *text, const char *mount, const char *group, const char *name)
{
	char path[1024];
	struct gsb_text place;

	gsb_text_init(&place, path, sizeof(path));
	gsb_text_add(&place, "%s%s/%s", mount, strcmp(group, "/") == 0 ? "" : group, name);
	return gsb_os_read_file(path, text, TEXT_BYTES) > 0 ? text : NULL;
}

/* The least of the limits of the group and of those above it, with what is used there. */
static struct gsb_memory judge_groups(const char *meminfo, const char *mount, char *group, const char *limit_name,
				      const char *use_name)
{
	char limit[TEXT_BYTES], use[TEXT_BYTES];
	struct gsb_memory least = gsb_memory_judge(meminfo, NULL, NULL), memory;
	char *end;

	do {
		memory = gsb_memory_judge(meminfo, read_in(limit, mount, group, limit_name),
					  read_in(use, mount, group, use_name));
		if (memory.total_bytes < least.total_bytes)
			least.total_bytes = memory.total_bytes;
		if (memory.available_bytes < least.available_bytes)
			least.available_bytes = memory.available_bytes;
		end = strrchr(group, '/');
		if (end != NULL)
			*end = '\0';
	} while (end != NULL);
	return least;
}

struct gsb_memory gsb_memory_read(void)
{
	char meminfo[TEXT_BYTES], groups[TEXT_BYTES], group[512];

	if (gsb_os_read_file("/proc/meminfo", meminfo, sizeof(meminfo)) < 0)
		meminfo[0] = '\0';
	if (gsb_os_read_file("/proc/self/cgroup", groups, sizeof(groups)) < 0)
		groups[0] = '\0';
	group_path(groups, ":memory:", group, sizeof(group));
	if (group[0] != '\0')
		return judge_groups(meminfo, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
				    "memory.usage_in_bytes");
	group_path(groups, "0::", group, sizeof(group));
	return judge_groups(meminfo, "/sys/fs/cgroup", group, "memory.max", "memory.current");
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
