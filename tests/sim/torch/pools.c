/* Private pools: while one is begun on a stream, what is allocated there comes from the pool and goes back to it; its
 * segments stay until the pool was released as often as it was begun. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/torch/cache.h"

enum { POOLS_MAX = 16 };

static struct {
	unsigned id;
	unsigned users;
	int device;
	cudaStream_t stream; /* while begun */
	bool begun;
} pools[POOLS_MAX];
static unsigned pool_count;

static unsigned pool_index(unsigned id)
{
	for (unsigned i = 0; i < pool_count; i++)
		if (pools[i].id == id)
			return i;
	if (pool_count == POOLS_MAX) {
		fprintf(stderr, "torch: too many private pools\n");
		exit(9);
	}
	pools[pool_count].id = id;
	return pool_count++;
}

void torch_pool_begin(unsigned pool, cudaStream_t stream)
{
	unsigned at;

	cache_enter();
	at = pool_index(pool);
	cache_need(cudaGetDevice(&pools[at].device), "cudaGetDevice");
	pools[at].users++;
	pools[at].stream = stream;
	pools[at].begun = true;
	cache_leave();
}

void torch_pool_end(unsigned pool)
{
	cache_enter();
	pools[pool_index(pool)].begun = false;
	cache_leave();
}

void torch_pool_release(unsigned pool)
{
	cache_enter();
	pools[pool_index(pool)].users--;
	cache_leave();
}

unsigned pools_choose(int device, cudaStream_t stream)
{
	for (unsigned i = 0; i < pool_count; i++)
		if (pools[i].begun && pools[i].device == device && pools[i].stream == stream)
			return pools[i].id;
	return 0;
}

bool pools_capturing(void)
{
	for (unsigned i = 0; i < pool_count; i++)
		if (pools[i].begun)
			return true;
	return false;
}

bool pools_may_release(unsigned pool)
{
	return pool == 0 || pools[pool_index(pool)].users == 0;
}
