/* See processors.h. */
#include "shim/base/processors.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/cgroup.h"

#define TEXT_BYTES 128

/* The number that the text begins with, and where it ends; 0 if it is none ("max", "-1"). */
static unsigned long long number(const char *text, const char **ret_end)
{
	unsigned long long value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (unsigned long long)(*text - '0');
	*ret_end = text;
	return value;
}

static unsigned limit(unsigned count, const char *quota, const char *period)
{
	const char *end;
	unsigned long long quota_us = number(quota, &end), period_us = number(period, &end);

	if (quota_us == 0 || period_us == 0 || quota_us / period_us >= count)
		return count;
	return quota_us / period_us > 0 ? (unsigned)(quota_us / period_us) : 1;
}

unsigned gsb_processors_judge(unsigned masked, const char *max, const char *quota, const char *period)
{
	const char *space = max != NULL ? strchr(max, ' ') : NULL;

	if (space != NULL)
		masked = limit(masked, max, space + 1);
	if (quota != NULL && period != NULL)
		masked = limit(masked, quota, period);
	return masked > 0 ? masked : 1;
}

static unsigned masked(void)
{
	cpu_set_t mask;
	int saved_errno = errno, count;

	CPU_ZERO(&mask);
	/* More processors than the set has room for are surely enough. */
	count = sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : CPU_SETSIZE;
	errno = saved_errno;
	return (unsigned)count;
}

unsigned gsb_processors(void)
{
	char max[TEXT_BYTES], quota[TEXT_BYTES], period[TEXT_BYTES];
	unsigned count = masked();
	struct gsb_cgroup group;
	bool first = gsb_cgroup_find(&group, "cpu");

	do {
		if (first)
			count = gsb_processors_judge(count, NULL,
						     gsb_cgroup_read(&group, "cpu.cfs_quota_us", quota, sizeof(quota)),
						     gsb_cgroup_read(&group, "cpu.cfs_period_us", period, sizeof(period)));
		else
			count = gsb_processors_judge(count, gsb_cgroup_read(&group, "cpu.max", max, sizeof(max)), NULL, NULL);
	} while (gsb_cgroup_up(&group));
	return count;
}
