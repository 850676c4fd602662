/* See sim_share.h. A slot a process; the slot of one that has ended counts no more. Two that ask at the same moment may
 * both be given the last memory. */
#include "tests/sim/cuda/sim_share.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_conf.h"

#define SLOTS 32

struct slot {
	_Atomic int pid;
	_Atomic uint64_t used_bytes[SIM_DEVICES_MAX];
};

static struct slot *slots, *own;

uint32_t sim_share_machine(void)
{
	const char *path = getenv("SIM_SHARED");
	struct stat info;

	if (!path)
		return (uint32_t)getpgrp();
	/* Made when the first memory is taken, which may be later. */
	close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	return stat(path, &info) == 0 ? (uint32_t)info.st_ino : 0;
}

/* False: nothing is shared. */
static int ready(void)
{
	const char *path = getenv("SIM_SHARED");
	int fd;

	if (slots || !path)
		return slots != NULL;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, SLOTS * sizeof(struct slot)) != 0)
		abort();
	slots = mmap(NULL, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (slots == MAP_FAILED)
		abort();
	for (int i = 0; i < SLOTS && !own; i++) {
		int nobody = 0;

		if (atomic_compare_exchange_strong(&slots[i].pid, &nobody, getpid()))
			own = &slots[i];
	}
	if (!own)
		abort();
	return 1;
}

void sim_share_set(int ordinal, uint64_t used_bytes)
{
	if (ready())
		atomic_store(&own->used_bytes[ordinal], used_bytes);
}

uint64_t sim_share_others(int ordinal)
{
	uint64_t bytes = 0;

	if (!ready())
		return 0;
	for (int i = 0; i < SLOTS; i++) {
		int pid = atomic_load(&slots[i].pid);

		if (pid != 0 && &slots[i] != own && kill(pid, 0) == 0)
			bytes += atomic_load(&slots[i].used_bytes[ordinal]);
	}
	return bytes;
}
