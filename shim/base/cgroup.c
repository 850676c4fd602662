/* See cgroup.h. */
#include "shim/base/cgroup.h"

#include <string.h>

#include "shim/base/os.h"
#include "shim/base/text.h"

#define TEXT_BYTES 4096

/* The path behind the mark: "0::" in version 2, ":memory:" and the like in version 1. False: the process is in no such
 * group. */
static bool path_behind(const char *groups, const char *mark, char *path, size_t capacity)
{
	const char *found = strstr(groups, mark);
	size_t length = 0;

	if (found != NULL)
		for (found += strlen(mark); *found != '\0' && *found != '\n' && length + 1 < capacity; found++)
			path[length++] = *found;
	path[length] = '\0';
	return found != NULL;
}

bool gsb_cgroup_find(struct gsb_cgroup *group, const char *controller)
{
	char groups[TEXT_BYTES], mark[32];
	struct gsb_text text;
	bool cpu = strcmp(controller, "cpu") == 0;

	if (gsb_os_read_file("/proc/self/cgroup", groups, sizeof(groups)) < 0)
		groups[0] = '\0';
	gsb_text_init(&text, mark, sizeof(mark));
	gsb_text_add(&text, ":%s:", cpu ? "cpu,cpuacct" : controller);
	if (path_behind(groups, mark, group->path, sizeof(group->path))) {
		group->mount = cpu ? "/sys/fs/cgroup/cpu,cpuacct" : "/sys/fs/cgroup/memory";
		return true;
	}
	group->mount = "/sys/fs/cgroup";
	path_behind(groups, "0::", group->path, sizeof(group->path));
	return false;
}

const char *gsb_cgroup_read(const struct gsb_cgroup *group, const char *name, char *text, size_t capacity)
{
	char place[1024];
	struct gsb_text path;

	gsb_text_init(&path, place, sizeof(place));
	gsb_text_add(&path, "%s%s/%s", group->mount, strcmp(group->path, "/") == 0 ? "" : group->path, name);
	return gsb_os_read_file(place, text, capacity) > 0 ? text : NULL;
}

bool gsb_cgroup_up(struct gsb_cgroup *group)
{
	char *end = strrchr(group->path, '/');

	if (end != NULL)
		*end = '\0';
	return end != NULL;
}
