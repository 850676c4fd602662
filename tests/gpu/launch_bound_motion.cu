/* Programs of launch_bound that follow something through time, with floats. The host does the same operations in the
 * same order: to the bit.
 *
 *	stencil		heat in a plate, between two buffers, with a source that changes
 *	runge-kutta	a ring of coupled equations (Lorenz 1996) by steps of fourth order, arguments in a struct
 *	n-body		forces, then positions, in many small steps */
#include <math.h>

#include "tests/gpu/check.h"
#include "tests/gpu/launch_bound.h"

typedef std::vector<float> floats;

/* --- stencil: the plate is in one of two buffers after an even number of steps, and in the other after an odd one */

enum { PLATE = 64, CELLS = PLATE * PLATE };

static float *plates[2];

static __host__ __device__ float heat_at(const float *plate, int i, float warm)
{
	int row = i / PLATE, column = i % PLATE;

	if (row == 0 || row == PLATE - 1 || column == 0 || column == PLATE - 1)
		return plate[i];
	return plate[i] + 0.2f * (plate[i - 1] + plate[i + 1] + plate[i - PLATE] + plate[i + PLATE] - 4 * plate[i]) +
	       (i == CELLS / 2 + PLATE / 2 ? warm : 0);
}

__global__ void heat(float *to, const float *from, float warm)
{
	int i = INDEX;

	if (i < CELLS)
		to[i] = heat_at(from, i, warm);
}

static float warmth(int step)
{
	return (float)(step % 10) * 0.125f;
}

static void *stencil_begin(int steps, size_t *ret_bytes)
{
	plates[0] = take<float>(CELLS);
	plates[1] = take<float>(CELLS);
	*ret_bytes = CELLS * sizeof(float);
	return plates[steps % 2];
}

static void stencil_pass(uint32_t seed, int steps)
{
	fill<float><<<blocks(CELLS), THREADS, 0, stream>>>(plates[0], seed, CELLS);
	for (int step = 0; step < steps; step++)
		heat<<<blocks(CELLS), THREADS, 0, stream>>>(plates[(step + 1) % 2], plates[step % 2], warmth(step));
}

static bool stencil_right(uint32_t seed, int steps, const void *result)
{
	floats plate = filled<float>(seed, CELLS), next = plate;

	for (int step = 0; step < steps; step++, plate.swap(next))
		for (int i = 0; i < CELLS; i++)
			next[(size_t)i] = heat_at(plate.data(), i, warmth(step));
	return same(plate, result);
}

const struct bound_program bound_stencil = {"stencil", 1200, stencil_begin, stencil_pass, stencil_right};

/* --- runge-kutta */

enum { RING = 256, STAGES = 4 };

struct stage {
	const float *x, *before; /* the state, and the slopes of the stage before this one */
	float *slopes;
	float part; /* of those, that is added to the state */
};

static float *ring, *slopes[STAGES];
static const float step_size = 0.0078125f;
static const float stage_parts[STAGES] = {0, step_size / 2, step_size / 2, step_size};

static __host__ __device__ float state_at(const struct stage *stage, int i)
{
	return stage->x[(i + RING) % RING] + stage->part * stage->before[(i + RING) % RING];
}

static __host__ __device__ float slope_at(const struct stage *stage, int i)
{
	return (state_at(stage, i + 1) - state_at(stage, i - 2)) * state_at(stage, i - 1) - state_at(stage, i) + 8;
}

static __host__ __device__ float sum_of_stages(float x, float k0, float k1, float k2, float k3)
{
	return x + step_size / 6 * (k0 + 2 * k1 + 2 * k2 + k3);
}

__global__ void find_slopes(struct stage stage)
{
	int i = INDEX;

	if (i < RING)
		stage.slopes[i] = slope_at(&stage, i);
}

__global__ void advance(float *x, const float *k0, const float *k1, const float *k2, const float *k3)
{
	int i = INDEX;

	if (i < RING)
		x[i] = sum_of_stages(x[i], k0[i], k1[i], k2[i], k3[i]);
}

/* The first stage adds nothing of the last one's slopes: any finite ones will do. */
static struct stage stage_of(const float *x, float *const *k, int number)
{
	return {x, k[(number + STAGES - 1) % STAGES], k[number], stage_parts[number]};
}

static void *runge_kutta_begin(int, size_t *ret_bytes)
{
	ring = take<float>(RING);
	for (int i = 0; i < STAGES; i++)
		slopes[i] = take<float>(RING);
	*ret_bytes = RING * sizeof(float);
	return ring;
}

static void runge_kutta_pass(uint32_t seed, int steps)
{
	fill<float><<<blocks(RING), THREADS, 0, stream>>>(ring, seed, RING);
	CHECK(cudaMemsetAsync(slopes[STAGES - 1], 0, RING * sizeof(float), stream));
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < STAGES; i++)
			find_slopes<<<blocks(RING), THREADS, 0, stream>>>(stage_of(ring, slopes, i));
		advance<<<blocks(RING), THREADS, 0, stream>>>(ring, slopes[0], slopes[1], slopes[2], slopes[3]);
	}
}

static bool runge_kutta_right(uint32_t seed, int steps, const void *result)
{
	floats x = filled<float>(seed, RING), memory(STAGES * RING);
	float *k[STAGES];

	for (int i = 0; i < STAGES; i++)
		k[i] = memory.data() + i * RING;
	for (int step = 0; step < steps; step++) {
		for (int number = 0; number < STAGES; number++) {
			struct stage stage = stage_of(x.data(), k, number);

			for (int i = 0; i < RING; i++)
				stage.slopes[i] = slope_at(&stage, i);
		}
		for (size_t i = 0; i < RING; i++)
			x[i] = sum_of_stages(x[i], k[0][i], k[1][i], k[2][i], k[3][i]);
	}
	return same(x, result);
}

const struct bound_program bound_runge_kutta = {"runge-kutta", 240, runge_kutta_begin, runge_kutta_pass,
						runge_kutta_right};

/* --- n-body: places, then speeds, as x, y, z and one number that a place does not use */

enum { BODIES = 64, BODY_FLOATS = 4 };

static float *bodies, *pulls;

/* In direction `axis`, of all bodies on body i. */
static __host__ __device__ float pull_at(const float *places, int i, int axis)
{
	float sum = 0;

	for (int k = 0; k < BODIES; k++) {
		const float *a = places + i * BODY_FLOATS, *b = places + k * BODY_FLOATS;
		float x = b[0] - a[0], y = b[1] - a[1], z = b[2] - a[2], square = x * x + y * y + z * z + 0.0625f;

		sum += (b[axis] - a[axis]) / (square * sqrtf(square));
	}
	return sum;
}

static __host__ __device__ float moved(float *speed, float place, float pull)
{
	*speed += 0.0009765625f * pull;
	return place + 0.0009765625f * *speed;
}

__global__ void pull(float *pulls, const float *places)
{
	int i = INDEX;

	if (i < BODIES * BODY_FLOATS)
		pulls[i] = pull_at(places, i / BODY_FLOATS, i % BODY_FLOATS);
}

__global__ void move(float *places, float *speeds, const float *pulls)
{
	int i = INDEX;

	if (i < BODIES * BODY_FLOATS)
		places[i] = moved(&speeds[i], places[i], pulls[i]);
}

static void *n_body_begin(int, size_t *ret_bytes)
{
	bodies = take<float>(2 * BODIES * BODY_FLOATS);
	pulls = take<float>(BODIES * BODY_FLOATS);
	*ret_bytes = 2 * BODIES * BODY_FLOATS * sizeof(float);
	return bodies;
}

static void n_body_pass(uint32_t seed, int steps)
{
	float *speeds = bodies + BODIES * BODY_FLOATS;

	fill<float><<<blocks(2 * BODIES * BODY_FLOATS), THREADS, 0, stream>>>(bodies, seed, 2 * BODIES * BODY_FLOATS);
	for (int step = 0; step < steps; step++) {
		pull<<<blocks(BODIES * BODY_FLOATS), THREADS, 0, stream>>>(pulls, bodies);
		move<<<blocks(BODIES * BODY_FLOATS), THREADS, 0, stream>>>(bodies, speeds, pulls);
	}
}

static bool n_body_right(uint32_t seed, int steps, const void *result)
{
	floats all = filled<float>(seed, 2 * BODIES * BODY_FLOATS), force(BODIES * BODY_FLOATS);
	float *places = all.data(), *speeds = places + BODIES * BODY_FLOATS;

	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < BODIES * BODY_FLOATS; i++)
			force[(size_t)i] = pull_at(places, i / BODY_FLOATS, i % BODY_FLOATS);
		for (int i = 0; i < BODIES * BODY_FLOATS; i++)
			places[i] = moved(&speeds[i], places[i], force[(size_t)i]);
	}
	return same(all, result);
}

const struct bound_program bound_n_body = {"n-body", 500, n_body_begin, n_body_pass, n_body_right};
