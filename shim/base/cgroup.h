/* The control group that the process is in, of both versions, and those above it: inside a container its own group is the
 * root of what is mounted. */
#ifndef GSB_CGROUP_H
#define GSB_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

struct gsb_cgroup {
	const char *mount; /* folder of the hierarchy */
	char path[512];	   /* of the group below it; shortened by gsb_cgroup_up */
};

/* The group of the controller ("memory", "cpu") in its own hierarchy (version 1) if there is one. Returns whether it is;
 * else the group of version 2. Reads a file. */
bool gsb_cgroup_find(struct gsb_cgroup *group, const char *controller);

/* Reads a file of the group as text. Returns text, or NULL if there is none. */
const char *gsb_cgroup_read(const struct gsb_cgroup *group, const char *name, char *text, size_t capacity);

/* Goes to the group above; false: there is none. */
bool gsb_cgroup_up(struct gsb_cgroup *group);

#endif
