/* The shared part of interprocess events: see sim_event_share.h. */
#include "tests/sim/cuda/sim_event_share.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_ipc.h"
#include "tests/sim/cuda/sim_pages.h"

#define EVENT_MAGIC 0x746e6576456d6973ull

struct cell {
	_Atomic uint64_t recorded;
	_Atomic uint64_t done;
};

struct sim_event_share {
	struct cell *cell;
	int fd;
	uint64_t id;
	unsigned refs;
};

static uint64_t next_id = 1;

static struct sim_event_share *share_map(int fd)
{
	struct sim_event_share *share;
	struct cell *cell = mmap(NULL, SIM_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (cell == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	share = calloc(1, sizeof(*share));
	if (!share)
		abort();
	*share = (struct sim_event_share){cell, fd, next_id++, 1};
	return share;
}

struct sim_event_share *sim_event_share_new(void)
{
	int fd = sim_pages_file(SIM_PAGE_BYTES);

	return fd < 0 ? NULL : share_map(fd);
}

struct sim_event_share *sim_event_share_get(struct sim_event_share *share)
{
	if (share)
		share->refs++;
	return share;
}

void sim_event_share_put(struct sim_event_share *share)
{
	if (!share || --share->refs)
		return;
	munmap(share->cell, SIM_PAGE_BYTES);
	close(share->fd);
	free(share);
}

CUresult sim_event_share_open(const CUipcEventHandle *handle, struct sim_event_share **ret_share)
{
	struct sim_ipc_handle given;
	CUresult result;
	int fd;

	memcpy(&given, handle, sizeof(given));
	result = sim_ipc_open(EVENT_MAGIC, &given, &fd);
	if (result == CUDA_ERROR_INVALID_CONTEXT)
		return CUDA_ERROR_MAP_FAILED;
	SIM_TRY(result);
	*ret_share = share_map(fd);
	return *ret_share ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
}

CUipcEventHandle sim_event_share_handle(const struct sim_event_share *share)
{
	struct sim_ipc_handle made = sim_ipc_handle(EVENT_MAGIC, share->id, share->fd, SIM_PAGE_BYTES);
	CUipcEventHandle handle = {{0}};

	memcpy(&handle, &made, sizeof(made));
	return handle;
}

uint64_t sim_event_share_record(struct sim_event_share *share)
{
	return atomic_fetch_add(&share->cell->recorded, 1) + 1;
}

void sim_event_share_done(struct sim_event_share *share, uint64_t number)
{
	uint64_t before = atomic_load(&share->cell->done);

	while (before < number && !atomic_compare_exchange_weak(&share->cell->done, &before, number))
		;
}

uint64_t sim_event_share_newest(const struct sim_event_share *share)
{
	return atomic_load(&share->cell->recorded);
}

bool sim_event_share_reached(const struct sim_event_share *share, uint64_t number)
{
	return atomic_load(&share->cell->done) >= number;
}

struct wait {
	struct sim_event_share *share;
	uint64_t number;
};

static bool wait_ready(const struct sim_op *op)
{
	const struct wait *wait = (const struct wait *)op->payload;

	return sim_event_share_reached(wait->share, wait->number);
}

static void wait_drop(struct sim_op *op)
{
	sim_event_share_put(((struct wait *)op->payload)->share);
}

struct sim_op *sim_event_share_wait_op(struct sim_event_share *share, uint64_t number)
{
	struct sim_op *op = sim_op_new(SIM_OP_WAIT, sizeof(struct wait));

	*(struct wait *)op->payload = (struct wait){sim_event_share_get(share), number};
	op->ready = wait_ready;
	op->drop = wait_drop;
	return op;
}
