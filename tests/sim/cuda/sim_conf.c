/* Reading SIM_*: see sim_conf.h. A value that makes no sense ends the process: a test must not run on other settings
 * than those it asked for. */
#include "tests/sim/cuda/sim_conf.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sim_conf conf = {
    .policy = SIM_LATE,
    .seed = 1,
    .devices = 1,
    .memory_bytes = 1ull << 30,
    .driver_version = 13000,
    .idle_ms = 1000,
    .queue = 1024,
    .shadow = true,
    .all_peers = true,
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const policies[] = {
    [SIM_LATE] = "late",     [SIM_IN_ORDER] = "in-order", [SIM_RANDOM] = "random",
    [SIM_STARVE] = "starve", [SIM_PRIORITY] = "priority",
};

static void conf_refuse(const char *key, const char *value, const char *wanted)
{
	fprintf(stderr, "gpushim-sim: %s=%s: wanted %s\n", key, value, wanted);
	/* Destructors ask for settings too, and a sanitizer that sees the end would find a call under way. */
	syscall(SYS_exit_group, 2);
	__builtin_unreachable();
}

/* A whole number from the environment, with a suffix K, M or G where allowed. */
static uint64_t conf_number(const char *key, uint64_t fallback, uint64_t max, bool suffix)
{
	static const char suffixes[] = "KMGT";
	const char *value = getenv(key);
	unsigned long long number;
	unsigned shift = 0;
	char *end;

	if (!value || !*value)
		return fallback;
	number = strtoull(value, &end, 0);
	if (suffix && *end && strchr(suffixes, *end & ~0x20)) {
		shift = 10 * (unsigned)(strchr(suffixes, *end & ~0x20) - suffixes + 1);
		end += 1 + (end[1] == 'B' || end[1] == 'b');
	}
	if (end == value || *end || (number << shift) >> shift != number || number << shift > max)
		conf_refuse(key, value, suffix ? "a size such as 512M" : "a number in range");
	return number << shift;
}

/* 0 or 1, whichever of two words is in the environment; 1 when none is. */
static int conf_choice(const char *key, const char *zero, const char *one)
{
	const char *value = getenv(key);
	char wanted[40];

	if (!value || !*value || strcmp(value, one) == 0)
		return 1;
	if (strcmp(value, zero) == 0)
		return 0;
	snprintf(wanted, sizeof(wanted), "%s or %s", one, zero);
	conf_refuse(key, value, wanted);
	return 1;
}

static void conf_read(void)
{
	const char *policy = getenv("SIM_POLICY");

	conf.seed = conf_number("SIM_SEED", conf.seed, UINT64_MAX, false);
	conf.devices = (int)conf_number("SIM_DEVICES", 1, SIM_DEVICES_MAX, false);
	conf.memory_bytes = conf_number("SIM_MEMORY", conf.memory_bytes, 1ull << 46, true);
	conf.driver_version = (int)conf_number("SIM_DRIVER_VERSION", 13000, 99999, false);
	conf.idle_ms = (unsigned)conf_number("SIM_IDLE_MS", 1000, 3600000, false);
	conf.all_peers = conf_choice("SIM_PEERS", "pairs", "all") != 0;
	conf.shadow = conf_choice("SIM_SHADOW", "off", "on") != 0;
	conf.baton = conf_choice("SIM_THREADS", "baton", "free") == 0;
	conf.queue = (unsigned)conf_number("SIM_QUEUE", conf.queue, UINT32_MAX, false);
	if (conf.queue == 0)
		conf_refuse("SIM_QUEUE", "0", "at least 1");
	if (conf.baton && !dlsym(RTLD_DEFAULT, "sim_threads_wrapped"))
		conf_refuse("SIM_THREADS", "baton",
			    "libsimthreads.so to be preloaded; use scripts/sim-run --threads baton");
	if (policy && *policy) {
		size_t i = 0;

		while (i < sizeof(policies) / sizeof(policies[0]) && strcmp(policies[i], policy) != 0)
			i++;
		if (i == sizeof(policies) / sizeof(policies[0]))
			conf_refuse("SIM_POLICY", policy, "late, in-order, random, starve or priority");
		conf.policy = (enum sim_policy)i;
	}
}

const struct sim_conf *sim_conf(void)
{
	pthread_once(&once, conf_read);
	return &conf;
}

const char *sim_conf_policy_name(void)
{
	return policies[sim_conf()->policy];
}
