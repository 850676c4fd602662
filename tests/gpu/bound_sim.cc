/* See bound_sim.h. */
#include "tests/gpu/bound_sim.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { LANES_MOST = 256, STACK_BYTES = 32768 };

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

/* Coroutines, made once; later they are entered by longjmp, which asks nothing of the kernel. */
static struct {
	ucontext_t first;
	jmp_buf place;
	bool begun, ended;
	char stack[STACK_BYTES];
} lanes[LANES_MOST];

static jmp_buf between; /* in what lets them run by turns */
static unsigned lane;	/* that runs */
static bool may_wait;
static const std::function<void()> *body;
static unsigned launches;

static void set_lane(unsigned number)
{
	lane = number;
	threadIdx.x = number % blockDim.x;
	threadIdx.y = number / blockDim.x;
}

static void leave(void)
{
	if (_setjmp(lanes[lane].place) == 0)
		_longjmp(between, 1);
}

void bound_barrier(void)
{
	if (!may_wait)
		abort();
	leave();
}

/* The whole life of a lane: from launch to launch. */
static void work(void)
{
	for (;;) {
		(*body)();
		lanes[lane].ended = true;
		leave();
	}
}

/* Until the lane leaves. */
static __attribute__((noinline)) void enter(void)
{
	if (_setjmp(between) != 0)
		return;
	if (lanes[lane].begun)
		_longjmp(lanes[lane].place, 1);
	lanes[lane].begun = true;
	getcontext(&lanes[lane].first);
	lanes[lane].first.uc_stack.ss_sp = lanes[lane].stack;
	lanes[lane].first.uc_stack.ss_size = STACK_BYTES;
	makecontext(&lanes[lane].first, work, 0);
	setcontext(&lanes[lane].first);
}

static unsigned turn_of(unsigned i, unsigned count)
{
	return launches % 2 == 0 ? i : count - 1 - i;
}

static void run_by_turns(unsigned count)
{
	unsigned left = count;

	if (count > LANES_MOST)
		abort();
	for (unsigned i = 0; i < count; i++)
		lanes[i].ended = false;
	while (left > 0)
		for (unsigned i = 0; i < count; i++) {
			set_lane(turn_of(i, count));
			if (lanes[lane].ended)
				continue;
			enter();
			left -= lanes[lane].ended;
		}
}

void bound_run(const struct sim_launch *launch, bool waits, const std::function<void()> &thread)
{
	unsigned count = launch->block[0] * launch->block[1], blocks = launch->grid[0] * launch->grid[1];

	gridDim = dim3(launch->grid[0], launch->grid[1]);
	blockDim = dim3(launch->block[0], launch->block[1]);
	body = &thread;
	may_wait = waits;
	launches++;
	for (unsigned block = 0; block < blocks; block++) {
		blockIdx.x = block % gridDim.x;
		blockIdx.y = block / gridDim.x;
		if (waits)
			run_by_turns(count);
		for (unsigned i = 0; i < count && !waits; i++) {
			set_lane(turn_of(i, count));
			thread();
		}
	}
}

const void *bound_known(const char *name, sim_kernel_fn function, unsigned count, const size_t *sizes)
{
	sim_kernel_register_fn *driver = (sim_kernel_register_fn *)sim_find("sim_kernel_register");
	sim_cudart_register_fn *runtime = (sim_cudart_register_fn *)sim_find("sim_cudart_register");

	if (!driver || !runtime) {
		fprintf(stderr, "this program runs on the simulated device alone\n");
		exit(1);
	}
	driver(name, function, count, sizes);
	runtime((const void *)function, name);
	return (const void *)function;
}
