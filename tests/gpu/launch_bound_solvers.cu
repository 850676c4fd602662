/* Programs of launch_bound that solve equations, with floats. The host does the same operations in the same order: to
 * the bit.
 *
 *	lu		LU decompositions in place: grids and arguments change from column to column
 *	gradients	conjugate gradients; the host reads the residue every few rounds, and so ends the loop
 *	multigrid	V-cycles: the same few kernels on grids of six sizes */
#include <math.h>

#include "tests/gpu/check.h"
#include "tests/gpu/launch_bound.h"

typedef std::vector<float> floats;

/* --- lu: a step is a decomposition, of a matrix that the one before has a part in; columns follow each other */

enum { MATRIX = 96, TILE_X = 16, TILE_Y = 8 };

static float *matrix;

static __host__ __device__ float element_at(float old, uint32_t seed, int i)
{
	return random_float(seed, i) + 0.25f * old + (i / MATRIX == i % MATRIX ? MATRIX : 0);
}

__global__ void renew(float *a, uint32_t seed)
{
	int i = INDEX;

	if (i < MATRIX * MATRIX)
		a[i] = element_at(a[i], seed, i);
}

__global__ void scale_column(float *a, int column)
{
	int row = column + 1 + INDEX;

	if (row < MATRIX)
		a[row * MATRIX + column] /= a[column * MATRIX + column];
}

__global__ void update_rest(float *a, int column)
{
	int x = column + 1 + INDEX, y = column + 1 + (int)(blockIdx.y * blockDim.y + threadIdx.y);

	if (x < MATRIX && y < MATRIX)
		a[y * MATRIX + x] -= a[y * MATRIX + column] * a[column * MATRIX + x];
}

static void *lu_begin(int, size_t *ret_bytes)
{
	matrix = take<float>(MATRIX * MATRIX);
	*ret_bytes = MATRIX * MATRIX * sizeof(float);
	return matrix;
}

static void lu_pass(uint32_t seed, int steps)
{
	CHECK(cudaMemsetAsync(matrix, 0, MATRIX * MATRIX * sizeof(float), stream));
	for (int step = 0; step < steps; step++) {
		renew<<<blocks(MATRIX * MATRIX), THREADS, 0, stream>>>(matrix, seed_of(seed, step));
		for (int column = 0; column < MATRIX - 1; column++) {
			unsigned rest = (unsigned)(MATRIX - 1 - column);
			dim3 tiles((rest + TILE_X - 1) / TILE_X, (rest + TILE_Y - 1) / TILE_Y);

			scale_column<<<blocks((int)rest), THREADS, 0, stream>>>(matrix, column);
			update_rest<<<tiles, dim3(TILE_X, TILE_Y), 0, stream>>>(matrix, column);
		}
	}
}

static void decompose(float (*a)[MATRIX])
{
	for (int k = 0; k < MATRIX; k++)
		for (int row = k + 1; row < MATRIX; row++) {
			a[row][k] /= a[k][k];
			for (int column = k + 1; column < MATRIX; column++)
				a[row][column] -= a[row][k] * a[k][column];
		}
}

static bool lu_right(uint32_t seed, int steps, const void *result)
{
	floats a(MATRIX * MATRIX);

	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < MATRIX * MATRIX; i++)
			a[(size_t)i] = element_at(a[(size_t)i], seed_of(seed, step), i);
		decompose((float(*)[MATRIX])a.data());
	}
	return same(a, result);
}

const struct bound_program bound_lu = {"lu", 6, lu_begin, lu_pass, lu_right};

/* --- gradients: a step solves one system; sums are made by one block, in the order of a tree */

enum { SIDE = 32, UNKNOWNS = SIDE * SIDE, LANES = 256, ROUNDS_A_LOOK = 8, ROUNDS_MOST = 400 };
enum { RESIDUE, ALPHA, BETA, SCALARS };

static const float small_enough = 1e-6f;
static float *solution, *residue, *direction, *product, *scalars,
    *seen; /* solution and residue are one piece; seen: pinned */

static __host__ __device__ float laplace_at(const float *p, int i)
{
	float sum = 4.0625f * p[i];

	sum -= i % SIDE > 0 ? p[i - 1] : 0;
	sum -= i % SIDE < SIDE - 1 ? p[i + 1] : 0;
	sum -= i >= SIDE ? p[i - SIDE] : 0;
	sum -= i < UNKNOWNS - SIDE ? p[i + SIDE] : 0;
	return sum;
}

__global__ void set_system(float *x, float *r, float *p, uint32_t seed)
{
	int i = INDEX;

	x[i] = x[i] * 0.5f; /* what the system before left has its part */
	r[i] = p[i] = random_float(seed, i) + x[i];
	x[i] = 0;
}

__global__ void apply(float *to, const float *p)
{
	to[INDEX] = laplace_at(p, INDEX);
}

/* The first RESIDUE; later the next one, and BETA; or, of p and A p, ALPHA. */
enum sum_kind { FIRST, NEXT, STEP };

static __host__ __device__ void scalars_set(float *scalars, float sum, int kind)
{
	if (kind == STEP)
		scalars[ALPHA] = scalars[RESIDUE] / sum;
	if (kind == NEXT)
		scalars[BETA] = sum / scalars[RESIDUE];
	if (kind != STEP)
		scalars[RESIDUE] = sum;
}

__global__ void dot(float *scalars, const float *a, const float *b, int kind)
{
	__shared__ float sums[LANES];
	int lane = (int)threadIdx.x;
	float sum = 0;

	for (int i = lane; i < UNKNOWNS; i += LANES)
		sum += a[i] * b[i];
	sums[lane] = sum;
	for (int half = LANES / 2; half > 0; half /= 2) {
		__syncthreads();
		if (lane < half)
			sums[lane] += sums[lane + half];
	}
	if (lane == 0)
		scalars_set(scalars, sums[0], kind);
}

__global__ void step_along(float *x, float *r, const float *p, const float *ap, const float *scalars)
{
	int i = INDEX;

	x[i] += scalars[ALPHA] * p[i];
	r[i] -= scalars[ALPHA] * ap[i];
}

__global__ void turn_direction(float *p, const float *r, const float *scalars)
{
	p[INDEX] = r[INDEX] + scalars[BETA] * p[INDEX];
}

static void *gradients_begin(int, size_t *ret_bytes)
{
	solution = take<float>(2 * UNKNOWNS);
	residue = solution + UNKNOWNS;
	direction = take<float>(UNKNOWNS);
	product = take<float>(UNKNOWNS);
	scalars = take<float>(SCALARS);
	CHECK(cudaMallocHost(&seen, sizeof(*seen)));
	*ret_bytes = 2 * UNKNOWNS * sizeof(float);
	return solution;
}

static void one_round(void)
{
	enum { BLOCKS = UNKNOWNS / THREADS };

	apply<<<BLOCKS, THREADS, 0, stream>>>(product, direction);
	dot<<<1, LANES, 0, stream>>>(scalars, direction, product, STEP);
	step_along<<<BLOCKS, THREADS, 0, stream>>>(solution, residue, direction, product, scalars);
	dot<<<1, LANES, 0, stream>>>(scalars, residue, residue, NEXT);
	turn_direction<<<BLOCKS, THREADS, 0, stream>>>(direction, residue, scalars);
}

static void gradients_pass(uint32_t seed, int steps)
{
	CHECK(cudaMemsetAsync(solution, 0, UNKNOWNS * sizeof(float), stream));
	for (int step = 0; step < steps; step++) {
		set_system<<<UNKNOWNS / THREADS, THREADS, 0, stream>>>(solution, residue, direction,
								       seed_of(seed, step));
		dot<<<1, LANES, 0, stream>>>(scalars, residue, residue, FIRST);
		for (int done = 0; done < ROUNDS_MOST; done += ROUNDS_A_LOOK) {
			for (int i = 0; i < ROUNDS_A_LOOK; i++)
				one_round();
			CHECK(cudaMemcpyAsync(seen, scalars + RESIDUE, sizeof(*seen), cudaMemcpyDeviceToHost, stream));
			CHECK(cudaStreamSynchronize(stream));
			if (*seen < small_enough)
				break;
		}
	}
}

static float dot_of(const float *a, const float *b)
{
	float sums[LANES] = {0};

	for (int i = 0; i < UNKNOWNS; i++)
		sums[i % LANES] += a[i] * b[i];
	for (int half = LANES / 2; half > 0; half /= 2)
		for (int i = 0; i < half; i++)
			sums[i] += sums[i + half];
	return sums[0];
}

static void solve(float *x, float *r, float *p, float *ap)
{
	float known[SCALARS];

	scalars_set(known, dot_of(r, r), FIRST);
	for (int done = 1; done <= ROUNDS_MOST; done++) {
		for (int i = 0; i < UNKNOWNS; i++)
			ap[i] = laplace_at(p, i);
		scalars_set(known, dot_of(p, ap), STEP);
		for (int i = 0; i < UNKNOWNS; i++) {
			x[i] += known[ALPHA] * p[i];
			r[i] -= known[ALPHA] * ap[i];
		}
		scalars_set(known, dot_of(r, r), NEXT);
		for (int i = 0; i < UNKNOWNS; i++)
			p[i] = r[i] + known[BETA] * p[i];
		if (done % ROUNDS_A_LOOK == 0 && known[RESIDUE] < small_enough)
			return;
	}
}

static bool gradients_right(uint32_t seed, int steps, const void *result)
{
	floats x(UNKNOWNS), r(UNKNOWNS), p(UNKNOWNS), ap(UNKNOWNS);
	bool solved = true;

	for (int step = 0; step < steps; step++) {
		floats right(UNKNOWNS);

		for (int i = 0; i < UNKNOWNS; i++)
			right[(size_t)i] = random_float(seed_of(seed, step), i) + x[(size_t)i] * 0.5f;
		x.assign(UNKNOWNS, 0);
		r = p = right;
		solve(x.data(), r.data(), p.data(), ap.data());
		for (int i = 0; i < UNKNOWNS; i++)
			solved = solved && fabsf(laplace_at(x.data(), i) - right[(size_t)i]) < 1e-2f;
	}
	return solved && same(x, result) && same(r, result, UNKNOWNS);
}

const struct bound_program bound_gradients = {"gradients", 4, gradients_begin, gradients_pass, gradients_right};

/* --- multigrid: a step is a V-cycle for -u'' = f in a square, with zeros around it; f changes a little with each */

enum { LEVELS = 6, FINEST = 65, ROOM = FINEST * FINEST };

struct level {
	float *u, *other, *f; /* both smoothed by turns: u holds what counts after an even number of times */
};

static struct level levels[LEVELS];

static int side_of(int level)
{
	return ((FINEST - 1) >> level) + 1;
}

static __host__ __device__ bool is_border(int i, int side)
{
	int row = i / side, column = i % side;

	return row == 0 || row == side - 1 || column == 0 || column == side - 1;
}

static __host__ __device__ float smooth_at(const float *u, const float *f, int side, int i)
{
	if (is_border(i, side))
		return 0;
	return u[i] + 0.2f * (f[i] - (4 * u[i] - u[i - 1] - u[i + 1] - u[i - side] - u[i + side]));
}

/* The coarse right side: four times what is left of the fine one. */
static __host__ __device__ float restrict_at(const float *u, const float *f, int side, int i)
{
	int fine = side * 2 - 1, k = i / side * 2 * fine + i % side * 2;

	if (is_border(i, side))
		return 0;
	return 4 * (f[k] - (4 * u[k] - u[k - 1] - u[k + 1] - u[k - fine] - u[k + fine]));
}

static __host__ __device__ float prolong_at(const float *u, const float *coarse, int side, int i)
{
	int half = side / 2 + 1, row = i / side, column = i % side;
	const float *up = coarse + row / 2 * half + column / 2, *down = up + row % 2 * half;

	return u[i] + 0.25f * (up[0] + up[column % 2] + down[0] + down[column % 2]);
}

static __host__ __device__ float stirred(float f, uint32_t seed, int i)
{
	return is_border(i, FINEST) ? 0 : 0.75f * f + random_float(seed, i);
}

__global__ void smooth(float *to, const float *u, const float *f, int side)
{
	if (INDEX < side * side)
		to[INDEX] = smooth_at(u, f, side, INDEX);
}

__global__ void restrict_residue(float *to, const float *u, const float *f, int side)
{
	if (INDEX < side * side)
		to[INDEX] = restrict_at(u, f, side, INDEX);
}

__global__ void prolong(float *u, const float *coarse, int side)
{
	if (INDEX < side * side)
		u[INDEX] = prolong_at(u, coarse, side, INDEX);
}

__global__ void stir(float *f, uint32_t seed)
{
	if (INDEX < ROOM)
		f[INDEX] = stirred(f[INDEX], seed, INDEX);
}

static void *multigrid_begin(int, size_t *ret_bytes)
{
	for (int i = 0; i < LEVELS; i++) {
		int count = side_of(i) * side_of(i);

		levels[i] = {take<float>(count), take<float>(count), take<float>(count)};
	}
	*ret_bytes = ROOM * sizeof(float);
	return levels[0].u;
}

static void smooth_twice(const struct level *level, int side)
{
	smooth<<<blocks(side * side), THREADS, 0, stream>>>(level->other, level->u, level->f, side);
	smooth<<<blocks(side * side), THREADS, 0, stream>>>(level->u, level->other, level->f, side);
}

static void descend(int level)
{
	const struct level *fine = &levels[level], *coarse = &levels[level + 1];
	int side = side_of(level), half = side_of(level + 1);
	size_t half_bytes = (size_t)(half * half) * sizeof(float);

	smooth_twice(fine, side);
	if (level == LEVELS - 1)
		return;
	restrict_residue<<<blocks(half * half), THREADS, 0, stream>>>(coarse->f, fine->u, fine->f, half);
	CHECK(cudaMemsetAsync(coarse->u, 0, half_bytes, stream));
	descend(level + 1);
	prolong<<<blocks(side * side), THREADS, 0, stream>>>(fine->u, coarse->u, side);
	smooth_twice(fine, side);
}

static void multigrid_pass(uint32_t seed, int steps)
{
	CHECK(cudaMemsetAsync(levels[0].u, 0, ROOM * sizeof(float), stream));
	CHECK(cudaMemsetAsync(levels[0].f, 0, ROOM * sizeof(float), stream));
	for (int step = 0; step < steps; step++) {
		stir<<<blocks(ROOM), THREADS, 0, stream>>>(levels[0].f, seed_of(seed, step));
		descend(0);
	}
}

static void relax(floats *u, const floats &f, int side)
{
	for (int time = 0; time < 2; time++) {
		floats old = *u;

		for (int i = 0; i < side * side; i++)
			(*u)[(size_t)i] = smooth_at(old.data(), f.data(), side, i);
	}
}

static void cycle(floats *u, const floats &f, int side)
{
	int half = side / 2 + 1;

	relax(u, f, side);
	if (side == 3)
		return;
	floats coarse((size_t)(half * half)), left = coarse;
	for (int i = 0; i < half * half; i++)
		left[(size_t)i] = restrict_at(u->data(), f.data(), half, i);
	cycle(&coarse, left, half);
	for (int i = 0; i < side * side; i++)
		(*u)[(size_t)i] = prolong_at(u->data(), coarse.data(), side, i);
	relax(u, f, side);
}

static bool multigrid_right(uint32_t seed, int steps, const void *result)
{
	floats u(ROOM), f(ROOM);

	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < ROOM; i++)
			f[(size_t)i] = stirred(f[(size_t)i], seed_of(seed, step), i);
		cycle(&u, f, FINEST);
	}
	return same(u, result);
}

const struct bound_program bound_multigrid = {"multigrid", 36, multigrid_begin, multigrid_pass, multigrid_right};
