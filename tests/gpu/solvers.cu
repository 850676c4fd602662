/* Small programs as people write them, all bound by their launches: what a graph of repeated launches has to get right.
 *
 *	stencil		heat in a plate, between two buffers, with a source that changes
 *	runge-kutta	the Lorenz equations by fourth-order steps: five kernels each
 *	lu		LU decomposition in place: grids and arguments change from column to column
 *	wavefront	edit distance by anti-diagonals
 *	n-body		forces, then positions
 *	sort		a bitonic network
 *	gradients	conjugate gradients; the host looks at the residue every few rounds and so ends the loop
 *
 * Nothing depends on what threads of a kernel do first, so the digest of all results is the same each time. Each also checks what
 * can be known of its result. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#include "tests/gpu/check.h"
#include "tests/gpu/load.h"
#include "tests/gpu/turns.h"

enum {
	PLATE = 64,
	PLATE_STEPS = 600,
	SYSTEMS = 256,
	TIME_STEPS = 150,
	MATRIX = 128,
	TEXT = 400,
	BODIES = 256,
	MOVES = 300,
	KEYS_LOG = 13,
	KEYS = 1 << KEYS_LOG,
	GRID = 32,
	UNKNOWNS = GRID * GRID,
	LANES = 32,
	ROUNDS_A_LOOK = 8,
	ROUNDS_LIMIT = 400,
	THREADS = 128,
	PLACES = 1 << 18, /* of 4 bytes, that the programs share */
};

static cudaStream_t stream;
static float *memory; /* PLACES */
static int number;    /* of the step */

static int blocks(int threads)
{
	return (threads + THREADS - 1) / THREADS;
}

/* The thread's number among those of a line of blocks. */
#define INDEX ((int)(blockIdx.x * blockDim.x + threadIdx.x))

__global__ void fill(float *to, uint32_t seed, int count)
{
	int i = INDEX;

	if (i < count)
		to[i] = (float)((i * 2654435761u ^ seed * 40503u) >> 16 & 0xfff) / 4096;
}

/* --- stencil ------------------------------------------------------------------------------------------------------- */

__global__ void heat(float *to, const float *from, float share, float source)
{
	int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), y = (int)(blockIdx.y * blockDim.y + threadIdx.y), i = y * PLATE + x;

	if (x == 0 || y == 0 || x == PLATE - 1 || y == PLATE - 1)
		to[i] = from[i];
	else
		to[i] = from[i] + share * (from[i - 1] + from[i + 1] + from[i - PLATE] + from[i + PLATE] - 4 * from[i]) +
			(x == y ? source : 0);
}

static void stencil(void)
{
	dim3 grid(PLATE / 16, PLATE / 16), block(16, 16);
	float *plates[] = {memory, memory + PLATE * PLATE};

	for (int i = 0; i < PLATE_STEPS; i++)
		heat<<<grid, block, 0, stream>>>(plates[(i + 1) % 2], plates[i % 2], 0.2f, 0.001f * (float)(i % 50 - 25));
	CHECK(cudaStreamSynchronize(stream));
}

/* --- runge-kutta --------------------------------------------------------------------------------------------------- */

/* slope = f(state + step * before); three rows of SYSTEMS each. */
__global__ void lorenz(float *slope, const float *state, const float *before, float step)
{
	int i = INDEX;

	if (i >= SYSTEMS)
		return;
	float x = state[i] + step * before[i];
	float y = state[i + SYSTEMS] + step * before[i + SYSTEMS];
	float z = state[i + 2 * SYSTEMS] + step * before[i + 2 * SYSTEMS];
	slope[i] = 10 * (y - x);
	slope[i + SYSTEMS] = x * (28 - z) - y;
	slope[i + 2 * SYSTEMS] = x * y - 8.0f / 3 * z;
}

__global__ void advance(float *state, const float *a, const float *b, const float *c, const float *d, float step)
{
	int i = INDEX;

	if (i < 3 * SYSTEMS)
		state[i] += step / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
}

static void runge_kutta(void)
{
	const float step = 0.005f;
	float *slopes[4], *state = memory;

	for (int i = 0; i < 4; i++)
		slopes[i] = memory + 3 * SYSTEMS * (i + 1);
	for (int i = 0; i < TIME_STEPS; i++) {
		lorenz<<<blocks(SYSTEMS), THREADS, 0, stream>>>(slopes[0], state, state, 0);
		lorenz<<<blocks(SYSTEMS), THREADS, 0, stream>>>(slopes[1], state, slopes[0], step / 2);
		lorenz<<<blocks(SYSTEMS), THREADS, 0, stream>>>(slopes[2], state, slopes[1], step / 2);
		lorenz<<<blocks(SYSTEMS), THREADS, 0, stream>>>(slopes[3], state, slopes[2], step);
		advance<<<blocks(3 * SYSTEMS), THREADS, 0, stream>>>(state, slopes[0], slopes[1], slopes[2], slopes[3], step);
	}
	CHECK(cudaStreamSynchronize(stream));
}

/* --- lu ------------------------------------------------------------------------------------------------------------ */

__global__ void weigh(float *matrix, uint32_t seed)
{
	int i = INDEX;

	if (i < MATRIX * MATRIX)
		matrix[i] = (i / MATRIX == i % MATRIX ? MATRIX : 0) + (float)((i * 2246822519u + seed) >> 20 & 0xff) / 256;
}

__global__ void divide(float *matrix, int column)
{
	int row = column + 1 + INDEX;

	if (row < MATRIX)
		matrix[row * MATRIX + column] /= matrix[column * MATRIX + column];
}

__global__ void eliminate(float *matrix, int column)
{
	int row = column + 1 + (int)(blockIdx.y * blockDim.y + threadIdx.y);
	int other = column + 1 + (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (row < MATRIX && other < MATRIX)
		matrix[row * MATRIX + other] -= matrix[row * MATRIX + column] * matrix[column * MATRIX + other];
}

static void lu(void)
{
	weigh<<<blocks(MATRIX * MATRIX), THREADS, 0, stream>>>(memory, number * 977u);
	for (int column = 0; column < MATRIX - 1; column++) {
		int left = MATRIX - column - 1;
		dim3 grid((left + 15) / 16, (left + 15) / 16), block(16, 16);

		divide<<<blocks(left), THREADS, 0, stream>>>(memory, column);
		eliminate<<<grid, block, 0, stream>>>(memory, column);
	}
	CHECK(cudaStreamSynchronize(stream));
}

/* --- wavefront ----------------------------------------------------------------------------------------------------- */

/* The table has a border: distances to the empty text. */
__global__ void diagonal(int *table, int sum, int first, int count, uint32_t seed)
{
	int i = INDEX;

	if (i >= count)
		return;
	int y = first + i, x = sum - y, *at = table + y * (TEXT + 1) + x;
	bool same = (y * 2654435761u >> 28) == ((x * 2246822519u ^ seed) >> 28);
	int replaced = at[-TEXT - 2] + !same, dropped = min(at[-1], at[-TEXT - 1]) + 1;
	*at = min(replaced, dropped);
}

__global__ void border(int *table)
{
	int i = INDEX;

	if (i <= TEXT)
		table[i] = table[i * (TEXT + 1)] = i;
}

static void wavefront(void)
{
	int *table = (int *)memory, last = 0;

	border<<<blocks(TEXT + 1), THREADS, 0, stream>>>(table);
	for (int sum = 2; sum <= 2 * TEXT; sum++) {
		int first = sum > TEXT + 1 ? sum - TEXT : 1, count = sum - first < TEXT ? sum - first : TEXT - first + 1;

		diagonal<<<blocks(count), THREADS, 0, stream>>>(table, sum, first, count, (uint32_t)number << 20);
	}
	CHECK(cudaMemcpyAsync(&last, table + (TEXT + 1) * (TEXT + 1) - 1, sizeof(last), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	EXPECT(last > 0 && last <= TEXT);
}

/* --- n-body -------------------------------------------------------------------------------------------------------- */

/* Rows of BODIES: three of places, three of speeds, three of forces. */
__global__ void attract(float *bodies, float softening)
{
	int i = INDEX;
	float force[3] = {0, 0, 0};

	for (int k = 0; k < BODIES; k++) {
		float way[3], square = softening;

		for (int axis = 0; axis < 3; axis++) {
			way[axis] = bodies[axis * BODIES + k] - bodies[axis * BODIES + i];
			square += way[axis] * way[axis];
		}
		for (int axis = 0; axis < 3; axis++)
			force[axis] += way[axis] / (square * sqrtf(square));
	}
	for (int axis = 0; axis < 3; axis++)
		bodies[(6 + axis) * BODIES + i] = force[axis];
}

__global__ void move(float *bodies, float step)
{
	int i = INDEX;

	if (i >= 3 * BODIES)
		return;
	bodies[3 * BODIES + i] += step * bodies[6 * BODIES + i];
	bodies[i] += step * bodies[3 * BODIES + i];
}

static void n_body(void)
{
	for (int i = 0; i < MOVES; i++) {
		attract<<<BODIES / THREADS, THREADS, 0, stream>>>(memory, 0.01f);
		move<<<blocks(3 * BODIES), THREADS, 0, stream>>>(memory, 1e-5f * (float)(1 + i % 3));
	}
	CHECK(cudaStreamSynchronize(stream));
}

/* --- sort ---------------------------------------------------------------------------------------------------------- */

__global__ void shuffle(uint32_t *keys, uint32_t seed)
{
	int i = INDEX;

	keys[i] = (i ^ seed) * 2654435761u ^ keys[i] >> 3;
}

__global__ void exchange(uint32_t *keys, int length, int distance)
{
	int i = INDEX, other = i ^ distance;

	if (other > i && (keys[i] > keys[other]) == !(i & length)) {
		uint32_t key = keys[i];

		keys[i] = keys[other];
		keys[other] = key;
	}
}

static void sort(void)
{
	static uint32_t host[KEYS];
	uint32_t *keys = (uint32_t *)memory;

	for (int turn = 0; turn < 4; turn++) {
		shuffle<<<KEYS / THREADS, THREADS, 0, stream>>>(keys, number * 4 + turn);
		for (int length = 2; length <= KEYS; length *= 2)
			for (int distance = length / 2; distance > 0; distance /= 2)
				exchange<<<KEYS / THREADS, THREADS, 0, stream>>>(keys, length, distance);
	}
	CHECK(cudaMemcpyAsync(host, keys, sizeof(host), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 1; i < KEYS; i++)
		EXPECT(host[i - 1] <= host[i]);
}

/* --- gradients ----------------------------------------------------------------------------------------------------- */

struct scalars {
	float residue, alpha, beta, lanes[LANES];
};

/* The five-point Laplacian. */
__global__ void product(float *to, const float *from)
{
	int i = INDEX, x = i % GRID, y = i / GRID;

	if (i >= UNKNOWNS)
		return;
	to[i] = 4 * from[i] - (x > 0 ? from[i - 1] : 0) - (x < GRID - 1 ? from[i + 1] : 0) - (y > 0 ? from[i - GRID] : 0) -
		(y < GRID - 1 ? from[i + GRID] : 0);
}

__global__ void dot(struct scalars *scalars, const float *a, const float *b)
{
	float sum = 0;

	for (int i = (int)threadIdx.x; i < UNKNOWNS; i += LANES)
		sum += a[i] * b[i];
	scalars->lanes[threadIdx.x] = sum;
}

/* first: there is no direction yet. */
__global__ void scale(struct scalars *scalars, bool residue, bool first)
{
	float sum = 0;

	for (int i = 0; i < LANES; i++)
		sum += scalars->lanes[i];
	if (!residue) {
		scalars->alpha = sum > 0 ? scalars->residue / sum : 0;
		return;
	}
	scalars->beta = !first && scalars->residue > 0 ? sum / scalars->residue : 0;
	scalars->residue = sum;
}

__global__ void approach(const struct scalars *scalars, float *x, float *rest, const float *direction, const float *image)
{
	int i = INDEX;

	if (i >= UNKNOWNS)
		return;
	x[i] += scalars->alpha * direction[i];
	rest[i] -= scalars->alpha * image[i];
}

__global__ void redirect(const struct scalars *scalars, float *direction, const float *rest)
{
	int i = INDEX;

	if (i < UNKNOWNS)
		direction[i] = rest[i] + scalars->beta * direction[i];
}

static void gradients(void)
{
	static float *residue; /* pinned */
	float *x = memory, *rest = x + UNKNOWNS, *direction = rest + UNKNOWNS, *image = direction + UNKNOWNS;
	struct scalars *scalars = (struct scalars *)(image + UNKNOWNS);
	const int grid = blocks(UNKNOWNS);
	int round = 0;

	if (!residue)
		CHECK(cudaHostAlloc(&residue, sizeof(*residue), cudaHostAllocDefault));
	CHECK(cudaMemsetAsync(x, 0, UNKNOWNS * sizeof(*x), stream));
	CHECK(cudaMemsetAsync(direction, 0, UNKNOWNS * sizeof(*x), stream));
	fill<<<grid, THREADS, 0, stream>>>(rest, (uint32_t)number, UNKNOWNS);
	dot<<<1, LANES, 0, stream>>>(scalars, rest, rest);
	scale<<<1, 1, 0, stream>>>(scalars, true, true);
	redirect<<<grid, THREADS, 0, stream>>>(scalars, direction, rest);
	do {
		product<<<grid, THREADS, 0, stream>>>(image, direction);
		dot<<<1, LANES, 0, stream>>>(scalars, direction, image);
		scale<<<1, 1, 0, stream>>>(scalars, false, false);
		approach<<<grid, THREADS, 0, stream>>>(scalars, x, rest, direction, image);
		dot<<<1, LANES, 0, stream>>>(scalars, rest, rest);
		scale<<<1, 1, 0, stream>>>(scalars, true, false);
		redirect<<<grid, THREADS, 0, stream>>>(scalars, direction, rest);
		if (++round % ROUNDS_A_LOOK == 0) {
			CHECK(cudaMemcpyAsync(residue, &scalars->residue, sizeof(*residue), cudaMemcpyDeviceToHost, stream));
			CHECK(cudaStreamSynchronize(stream));
		}
	} while (round % ROUNDS_A_LOOK != 0 || (*residue > 1e-6f && round < ROUNDS_LIMIT));
	EXPECT(*residue <= 1e-6f);
}

/* ------------------------------------------------------------------------------------------------------------------- */

static const struct turns_program *program;

static void step(void)
{
	program->step();
	number++;
}

static const struct turns_program programs[] = {
	{"stencil", stencil, PLATE_STEPS},
	{"runge-kutta", runge_kutta, 5 * TIME_STEPS},
	{"lu", lu, 2 * MATRIX - 1},
	{"wavefront", wavefront, 2 * TEXT},
	{"n-body", n_body, 2 * MOVES},
	{"sort", sort, 4 * (1 + KEYS_LOG * (KEYS_LOG + 1) / 2)},
	{"gradients", gradients, 0},
};

int main(int argc, char **argv)
{
	static float host[PLACES];
	struct turns_program counted;

	static_assert((TEXT + 1) * (TEXT + 1) <= PLACES, "the largest of the tables");
	program = turns_find(programs, sizeof(programs) / sizeof(*programs), argc, argv);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&memory, sizeof(host)));
	fill<<<blocks(PLACES), THREADS, 0, stream>>>(memory, 1, PLACES);
	counted = {program->name, step, program->launches};
	turns_run(&counted, argc, argv);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(host, memory, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < PLACES; i++)
		EXPECT(program->step == sort || program->step == wavefront || isfinite(host[i]));
	printf("ok solvers %s %016llx\n", program->name, (unsigned long long)digest(host, sizeof(host)));
	return 0;
}
