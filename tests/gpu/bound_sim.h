/* Lets the programs of launch_bound run on the simulated device: a kernel is a C++ function that the host calls for
 * each thread, when the simulated stream gets to it. bound_sim.py has written the launches as calls of bound_launch.
 *
 * The threads of a block take turns. In every second launch the last one begins, so that what depends on their order
 * comes out wrong. Kernels with a barrier run as coroutines; nothing but __shared__ is shared, and blocks follow each
 * other. */
#ifndef GPU_BOUND_SIM_H
#define GPU_BOUND_SIM_H

#include <cuda_runtime.h>
#include <functional>
#include <math.h>
#include <tuple>
#include <utility>

#include "tests/sim/sim.h"

#undef __global__
#undef __host__
#undef __device__
#undef __shared__
#define __global__
#define __host__
#define __device__
#define __shared__ static

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

void bound_barrier(void);
#define __syncthreads bound_barrier

static inline uint32_t atomicAdd(uint32_t *word, uint32_t more)
{
	*word += more;
	return *word - more;
}

/* Runs all threads of a launch. */
void bound_run(const struct sim_launch *launch, bool waits, const std::function<void()> &thread);

/* Makes a kernel known to the simulated driver and runtime; returns what cudaLaunchKernel wants. */
const void *bound_known(const char *name, sim_kernel_fn function, unsigned count, const size_t *sizes);

template <auto KERNEL, bool WAITS, typename... P, size_t... I>
static void bound_unpack(const struct sim_launch *launch, void (*)(P...), std::index_sequence<I...>)
{
	bound_run(launch, WAITS, [launch] { KERNEL(*(P *)launch->params[I]...); });
}

template <auto KERNEL, bool WAITS, typename... P>
static void bound_enter_as(const struct sim_launch *launch, void (*kernel)(P...))
{
	bound_unpack<KERNEL, WAITS>(launch, kernel, std::index_sequence_for<P...>());
}

template <auto KERNEL, bool WAITS> static void bound_enter(const struct sim_launch *launch)
{
	bound_enter_as<KERNEL, WAITS>(launch, KERNEL);
}

template <auto KERNEL, bool WAITS> struct bound_launch {
	const char *name;
	dim3 grid, block;
	cudaStream_t stream;

	template <typename... A> void operator()(A... arguments) const
	{
		launch_as(KERNEL, arguments...);
	}

	template <typename... P, typename... A> void launch_as(void (*)(P...), A... arguments) const
	{
		static const size_t sizes[] = {sizeof(P)...};
		static const void *known = bound_known(name, bound_enter<KERNEL, WAITS>, sizeof...(P), sizes);
		std::tuple<P...> values((P)arguments...);

		std::apply(
		    [this](auto &...each) {
			    void *places[] = {&each...};

			    cudaLaunchKernel(known, grid, block, places, 0, stream);
		    },
		    values);
	}
};

#endif
