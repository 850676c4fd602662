/* The SIM_* environment of the simulated driver, read once. scripts/sim-run sets it. */
#ifndef SIM_CONF_H
#define SIM_CONF_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_DEVICES_MAX 16

enum sim_policy {
	SIM_LATE,     /* nothing runs until the host waits for it or asks for it: the default */
	SIM_IN_ORDER, /* everything runs at its submission */
	SIM_RANDOM,   /* a few random ready operations run at each driver call */
	SIM_STARVE,   /* as random, but one stream in three runs only when it must */
	SIM_PRIORITY  /* as random, but of the ready operations always one of the highest stream priority */
};

struct sim_conf {
	enum sim_policy policy; /* SIM_POLICY=late|in-order|random|starve|priority */
	uint64_t seed;		/* SIM_SEED, default 1 */
	int devices;		/* SIM_DEVICES, 0..16, default 1 */
	uint64_t memory_bytes;	/* SIM_MEMORY per device, suffixes K, M, G; default 1G */
	int driver_version;	/* SIM_DRIVER_VERSION, default 13000 */
	unsigned idle_ms; /* SIM_IDLE_MS: queued work runs after that long without a driver call, so that a program
			   * that waits for it by other means goes on; 0 = never; default 1000 */
	unsigned queue;	  /* SIM_QUEUE: so many operations fit into a stream; the call that brings one more waits until
			   * the device has run one; default 1024 */
	bool all_peers;	  /* SIM_PEERS=all|pairs, default all: of pairs, devices 0 and 1 reach each other, 2 and 3, .. */
	bool shadow;	  /* SIM_SHADOW=on|off, default on: sim_shadow.h */
	bool baton;	  /* SIM_THREADS=free|baton, default free: sim_thread.h */
};

const struct sim_conf *sim_conf(void);

/* SIM_POLICY as it is written. */
const char *sim_conf_policy_name(void);

#endif
