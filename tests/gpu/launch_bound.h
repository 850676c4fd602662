/* What the programs of launch_bound share: how one is described, where its memory comes from, and numbers that look
 * random.
 *
 * A pass begins with memory that it fills itself, from a seed that is another one in each pass, and works `steps`
 * steps; what it leaves in the result is a matter of the seed and the steps alone. Floating arithmetic is done in an
 * order that the source fixes, and nvcc is told to fuse nothing: the host comes to the same bits. */
#ifndef GPU_LAUNCH_BOUND_H
#define GPU_LAUNCH_BOUND_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <vector>

struct bound_program {
	const char *name;
	int steps; /* of a pass, where the command line has none */

	/* Takes memory and what else it needs, once; the result is as large as *ret_bytes says. */
	void *(*begin)(int steps, size_t *ret_bytes);

	/* Queues the work of one pass; may wait, and may leave work that runs. */
	void (*pass)(uint32_t seed, int steps);

	/* Is this what that pass should have left? */
	bool (*right)(uint32_t seed, int steps, const void *result);
};

extern const struct bound_program bound_stencil, bound_runge_kutta, bound_lu, bound_n_body, bound_gradients,
    bound_multigrid;
extern const struct bound_program bound_wavefront, bound_sort, bound_reduction, bound_automaton, bound_histogram,
    bound_transfers, bound_temporaries, bound_transform, bound_paths;
extern const struct bound_program bound_language;

/* Of all work but that of a program's second one. */
extern cudaStream_t stream;

/* Device memory, given back at the end. */
void *bound_take(size_t size_bytes);

template <typename T> static T *take(int count)
{
	return (T *)bound_take((size_t)count * sizeof(T));
}

enum { THREADS = 128 };

static inline int blocks(int count)
{
	return (count + THREADS - 1) / THREADS;
}

/* The thread's number among those of a line of blocks. */
#define INDEX ((int)(blockIdx.x * blockDim.x + threadIdx.x))

static inline __host__ __device__ uint32_t random_word(uint32_t seed, uint32_t number)
{
	uint32_t word = (seed + 1) * 2654435761u ^ number * 2246822519u;

	word = (word ^ word >> 15) * 2654435769u;
	return word ^ word >> 13;
}

/* In [0, 1), exact. */
static inline __host__ __device__ float random_float(uint32_t seed, int number)
{
	return (float)(random_word(seed, (uint32_t)number) >> 8) / (1 << 24);
}

static inline __host__ __device__ void random_number(uint32_t *ret_word, uint32_t seed, int number)
{
	*ret_word = random_word(seed, (uint32_t)number);
}

static inline __host__ __device__ void random_number(float *ret_float, uint32_t seed, int number)
{
	*ret_float = random_float(seed, number);
}

/* Another seed for each step of each pass. */
static inline uint32_t seed_of(uint32_t seed, int step)
{
	return seed * 65536 + (uint32_t)step + 1;
}

template <typename T> static __global__ void fill(T *to, uint32_t seed, int count)
{
	int i = INDEX;

	if (i < count)
		random_number(&to[i], seed, i);
}

/* What fill leaves, on the host. */
template <typename T> static std::vector<T> filled(uint32_t seed, int count)
{
	std::vector<T> values((size_t)count);

	for (int i = 0; i < count; i++)
		random_number(&values[(size_t)i], seed, i);
	return values;
}

template <typename T> static bool same(const std::vector<T> &ours, const void *result, size_t offset = 0)
{
	return memcmp(ours.data(), (const T *)result + offset, ours.size() * sizeof(T)) == 0;
}

#endif
