/* Programs of launch_bound that compute with integers.
 *
 *	wavefront	alignment of two sequences (Smith-Waterman) by anti-diagonals: grids grow and shrink
 *	sort		a bitonic network
 *	reduction	trees that halve, grids with them; each result to a place of its own
 *	automaton	Life of the second order, two buffers by turns, nothing else changes
 *	transform	a number-theoretic transform there and back: convolution of a sequence with itself
 *	paths		shortest paths (Floyd-Warshall): one argument changes with each launch */
#include <algorithm>

#include "tests/gpu/check.h"
#include "tests/gpu/launch_bound.h"

typedef std::vector<uint32_t> words;

/* --- wavefront: a step aligns one pair; trails[i] is made of all scores at letter i of the first, in the order of the
 * second's letters; then come three diagonals by turns, whose places are those of the first sequence */

enum { LETTERS = 256, ROWS = 3, HIT = 2, MISS = 1, GAP = 1 };

static uint32_t *trails, *letters; /* letters: the pair */
static uint32_t *diagonals[ROWS];

static __host__ __device__ int score_of(int corner, int above, int left, bool hit)
{
	int score = hit ? corner + HIT : corner - MISS;

	score = above - GAP > score ? above - GAP : score;
	score = left - GAP > score ? left - GAP : score;
	return score > 0 ? score : 0;
}

static __host__ __device__ uint32_t trail_with(uint32_t trail, int score)
{
	return trail * 31 + (uint32_t)score;
}

/* Of letter i of the first and letter number - i of the second one. */
__global__ void align(uint32_t *to, const uint32_t *last, const uint32_t *before_last, uint32_t *trails,
		      const uint32_t *letters, int number, int first, int count)
{
	int i = first + INDEX, k = number - i;
	int corner, above, left, score;

	if (i >= first + count)
		return;
	corner = i > 0 && k > 0 ? (int)before_last[i - 1] : 0;
	above = i > 0 ? (int)last[i - 1] : 0;
	left = k > 0 ? (int)last[i] : 0;
	score = score_of(corner, above, left, letters[i] % 4 == letters[LETTERS + k] % 4);
	to[i] = (uint32_t)score;
	trails[i] = trail_with(trails[i], score);
}

static void *wavefront_begin(int, size_t *ret_bytes)
{
	trails = take<uint32_t>((1 + ROWS) * LETTERS);
	letters = take<uint32_t>(2 * LETTERS);
	for (int i = 0; i < ROWS; i++)
		diagonals[i] = trails + (1 + i) * LETTERS;
	*ret_bytes = LETTERS * sizeof(uint32_t);
	return trails;
}

static void wavefront_pass(uint32_t seed, int steps)
{
	CHECK(cudaMemsetAsync(trails, 0, (1 + ROWS) * LETTERS * sizeof(uint32_t), stream));
	for (int step = 0; step < steps; step++) {
		fill<uint32_t><<<blocks(2 * LETTERS), THREADS, 0, stream>>>(letters, seed_of(seed, step), 2 * LETTERS);
		for (int number = 0; number < 2 * LETTERS - 1; number++) {
			int first = number < LETTERS ? 0 : number - LETTERS + 1;
			int count = std::min(number, LETTERS - 1) - first + 1;

			align<<<blocks(count), THREADS, 0, stream>>>(
			    diagonals[number % ROWS], diagonals[(number + 2) % ROWS], diagonals[(number + 1) % ROWS],
			    trails, letters, number, first, count);
		}
	}
}

/* The whole table, row by row. */
static void align_pair(words *ours, const words &pair)
{
	static int table[LETTERS + 1][LETTERS + 1];

	for (int i = 1; i <= LETTERS; i++)
		for (int k = 1; k <= LETTERS; k++) {
			bool hit = pair[(size_t)i - 1] % 4 == pair[(size_t)(LETTERS + k) - 1] % 4;
			uint32_t *trail = &(*ours)[(size_t)i - 1];

			table[i][k] = score_of(table[i - 1][k - 1], table[i - 1][k], table[i][k - 1], hit);
			*trail = trail_with(*trail, table[i][k]);
		}
}

static bool wavefront_right(uint32_t seed, int steps, const void *result)
{
	words ours(LETTERS);

	for (int step = 0; step < steps; step++)
		align_pair(&ours, filled<uint32_t>(seed_of(seed, step), 2 * LETTERS));
	return same(ours, result);
}

const struct bound_program bound_wavefront = {"wavefront", 3, wavefront_begin, wavefront_pass, wavefront_right};

/* --- sort: a step makes new keys of the sorted ones and sorts them */

enum { KEYS = 4096 };

static uint32_t *keys;

static __host__ __device__ uint32_t next_key(uint32_t key, uint32_t step, int place)
{
	return random_word(key ^ step, (uint32_t)place);
}

__global__ void renew_keys(uint32_t *keys, uint32_t step)
{
	keys[INDEX] = next_key(keys[INDEX], step, INDEX);
}

__global__ void compare(uint32_t *keys, int size, int distance)
{
	int i = INDEX, other = i ^ distance;
	uint32_t a = keys[i], b = keys[other];

	if (other > i && (a > b) == ((i & size) == 0)) {
		keys[i] = b;
		keys[other] = a;
	}
}

static void *sort_begin(int, size_t *ret_bytes)
{
	keys = take<uint32_t>(KEYS);
	*ret_bytes = KEYS * sizeof(uint32_t);
	return keys;
}

static void sort_pass(uint32_t seed, int steps)
{
	fill<uint32_t><<<blocks(KEYS), THREADS, 0, stream>>>(keys, seed, KEYS);
	for (int step = 0; step < steps; step++) {
		renew_keys<<<KEYS / THREADS, THREADS, 0, stream>>>(keys, (uint32_t)step);
		for (int size = 2; size <= KEYS; size *= 2)
			for (int distance = size / 2; distance > 0; distance /= 2)
				compare<<<KEYS / THREADS, THREADS, 0, stream>>>(keys, size, distance);
	}
}

static bool sort_right(uint32_t seed, int steps, const void *result)
{
	words ours = filled<uint32_t>(seed, KEYS);

	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < KEYS; i++)
			ours[(size_t)i] = next_key(ours[(size_t)i], (uint32_t)step, i);
		std::sort(ours.begin(), ours.end());
	}
	return same(ours, result);
}

const struct bound_program bound_sort = {"sort", 15, sort_begin, sort_pass, sort_right};

/* --- reduction: a step is a tree, whose result goes to the step's place; the order of the leaves matters */

enum { LEAVES = 1 << 14 };

static uint32_t *trees[2], *roots;

__global__ void join(uint32_t *to, const uint32_t *from, int count)
{
	int i = INDEX;

	if (i < count)
		to[i] = from[2 * i] * 31 + from[2 * i + 1];
}

static void *reduction_begin(int steps, size_t *ret_bytes)
{
	trees[0] = take<uint32_t>(LEAVES);
	trees[1] = take<uint32_t>(LEAVES);
	roots = take<uint32_t>(steps);
	*ret_bytes = (size_t)steps * sizeof(uint32_t);
	return roots;
}

static void reduction_pass(uint32_t seed, int steps)
{
	for (int step = 0; step < steps; step++) {
		int turn = 0;

		fill<uint32_t><<<blocks(LEAVES), THREADS, 0, stream>>>(trees[0], seed_of(seed, step), LEAVES);
		for (int count = LEAVES / 2; count > 0; count /= 2, turn = 1 - turn)
			join<<<blocks(count), THREADS, 0, stream>>>(count > 1 ? trees[1 - turn] : roots + step,
								    trees[turn], count);
	}
}

static uint32_t root_of(const uint32_t *leaves, int count)
{
	return count == 1 ? *leaves : root_of(leaves, count / 2) * 31 + root_of(leaves + count / 2, count / 2);
}

static bool reduction_right(uint32_t seed, int steps, const void *result)
{
	words ours((size_t)steps);

	for (int step = 0; step < steps; step++)
		ours[(size_t)step] = root_of(filled<uint32_t>(seed_of(seed, step), LEAVES).data(), LEAVES);
	return same(ours, result);
}

const struct bound_program bound_reduction = {"reduction", 80, reduction_begin, reduction_pass, reduction_right};

/* --- automaton: what Life makes of one field, XOR the field before it, which it takes the place of: nothing is ever
 * lost, so the result knows of each step. A row is a word of 32 cells, and the last cell's neighbour is the first one.
 */

enum { FIELD_ROWS = 512 };

static uint32_t *fields[2];

static __host__ __device__ uint32_t turned(uint32_t row, int by)
{
	return row << by | row >> (32 - by);
}

/* Bit by bit: is the number of neighbours 3, or 2 of a living cell? */
static __host__ __device__ uint32_t life_at(const uint32_t *field, int row)
{
	uint32_t up = field[(row + FIELD_ROWS - 1) % FIELD_ROWS], here = field[row],
		 down = field[(row + 1) % FIELD_ROWS];
	uint32_t neighbours[8] = {up,	turned(up, 1),	 turned(up, 31),  turned(here, 1), turned(here, 31),
				  down, turned(down, 1), turned(down, 31)};
	uint32_t ones = 0, twos = 0, fours = 0;

	for (int i = 0; i < 8; i++) {
		uint32_t carry = ones & neighbours[i];

		ones ^= neighbours[i];
		fours |= twos & carry;
		twos ^= carry;
	}
	return twos & ~fours & (ones | here);
}

__global__ void live(uint32_t *to, const uint32_t *field)
{
	int row = INDEX;

	if (row < FIELD_ROWS)
		to[row] ^= life_at(field, row);
}

static void *automaton_begin(int, size_t *ret_bytes)
{
	fields[0] = take<uint32_t>(2 * FIELD_ROWS);
	fields[1] = fields[0] + FIELD_ROWS;
	*ret_bytes = 2 * FIELD_ROWS * sizeof(uint32_t);
	return fields[0];
}

static void automaton_pass(uint32_t seed, int steps)
{
	fill<uint32_t><<<blocks(2 * FIELD_ROWS), THREADS, 0, stream>>>(fields[0], seed, 2 * FIELD_ROWS);
	for (int step = 0; step < steps; step++)
		live<<<blocks(FIELD_ROWS), THREADS, 0, stream>>>(fields[step % 2], fields[(step + 1) % 2]);
}

static bool automaton_right(uint32_t seed, int steps, const void *result)
{
	words both = filled<uint32_t>(seed, 2 * FIELD_ROWS);

	for (int step = 0; step < steps; step++) {
		uint32_t *to = both.data() + step % 2 * FIELD_ROWS, *field = both.data() + (step + 1) % 2 * FIELD_ROWS;

		for (int row = 0; row < FIELD_ROWS; row++)
			to[row] ^= life_at(field, row);
	}
	return same(both, result);
}

const struct bound_program bound_automaton = {"automaton", 1200, automaton_begin, automaton_pass, automaton_right};

/* --- transform: modulo a prime; the host multiplies each element with each */

enum { LENGTH = 256 };
static const uint32_t prime = 998244353, primitive_root = 3;

static uint32_t *sequence, *root_powers;

static __host__ __device__ uint32_t product(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b % prime);
}

static __host__ __device__ uint32_t sum(uint32_t a, uint32_t b)
{
	return (uint32_t)(((uint64_t)a + b) % prime);
}

static uint32_t power(uint32_t base, uint32_t exponent)
{
	return exponent == 0 ? 1 : product(exponent % 2 ? base : 1, power(product(base, base), exponent / 2));
}

__global__ void forward(uint32_t *a, const uint32_t *powers, int half)
{
	int k = INDEX % half, i = INDEX / half * 2 * half + k;
	uint32_t u = a[i], v = a[i + half];

	a[i] = sum(u, v);
	a[i + half] = product(sum(u, prime - v), powers[k * (LENGTH / 2 / half)]);
}

__global__ void backward(uint32_t *a, const uint32_t *powers, int half)
{
	int k = INDEX % half, i = INDEX / half * 2 * half + k;
	uint32_t u = a[i], v = product(a[i + half], powers[(LENGTH - k * (LENGTH / 2 / half)) % LENGTH]);

	a[i] = sum(u, v);
	a[i + half] = sum(u, prime - v);
}

__global__ void square(uint32_t *a, uint32_t scale)
{
	a[INDEX] = product(product(a[INDEX], a[INDEX]), scale);
}

__global__ void reduce(uint32_t *a)
{
	a[INDEX] %= prime;
}

static void *transform_begin(int, size_t *ret_bytes)
{
	uint32_t root = power(primitive_root, (prime - 1) / LENGTH), powers[LENGTH] = {1};

	for (int i = 1; i < LENGTH; i++)
		powers[i] = product(powers[i - 1], root);
	sequence = take<uint32_t>(LENGTH);
	root_powers = take<uint32_t>(LENGTH);
	CHECK(cudaMemcpy(root_powers, powers, sizeof(powers), cudaMemcpyHostToDevice));
	*ret_bytes = LENGTH * sizeof(uint32_t);
	return sequence;
}

static void transform_pass(uint32_t seed, int steps)
{
	uint32_t scale = power(LENGTH, prime - 2);

	fill<uint32_t><<<blocks(LENGTH), THREADS, 0, stream>>>(sequence, seed, LENGTH);
	reduce<<<LENGTH / THREADS, THREADS, 0, stream>>>(sequence);
	for (int step = 0; step < steps; step++) {
		for (int half = LENGTH / 2; half > 0; half /= 2)
			forward<<<LENGTH / 2 / THREADS, THREADS, 0, stream>>>(sequence, root_powers, half);
		square<<<LENGTH / THREADS, THREADS, 0, stream>>>(sequence, scale);
		for (int half = 1; half < LENGTH; half *= 2)
			backward<<<LENGTH / 2 / THREADS, THREADS, 0, stream>>>(sequence, root_powers, half);
	}
}

static bool transform_right(uint32_t seed, int steps, const void *result)
{
	words a = filled<uint32_t>(seed, LENGTH);

	for (uint32_t &word : a)
		word %= prime;
	for (int step = 0; step < steps; step++) {
		words next(LENGTH);

		for (size_t i = 0; i < LENGTH; i++)
			for (size_t k = 0; k < LENGTH; k++)
				next[(i + k) % LENGTH] = sum(next[(i + k) % LENGTH], product(a[i], a[k]));
		a.swap(next);
	}
	return same(a, result);
}

const struct bound_program bound_transform = {"transform", 70, transform_begin, transform_pass, transform_right};

/* --- paths: a step makes new distances of the shortest ones and shortens them again; behind them lies a number made of
 * the nodes in the order they came, because a node on no shortest path leaves no other trace */

enum { NODES = 96 };

static uint32_t *distances;

static __host__ __device__ uint32_t next_distance(uint32_t old, uint32_t seed, int i)
{
	return i / NODES == i % NODES ? 0 : 1 + old % 64 + random_word(seed, (uint32_t)i) % 4096;
}

__global__ void renew_distances(uint32_t *d, uint32_t seed)
{
	if (INDEX < NODES * NODES)
		d[INDEX] = next_distance(d[INDEX], seed, INDEX);
}

__global__ void shorten(uint32_t *d, int by)
{
	int i = INDEX;
	uint32_t way;

	if (i == NODES * NODES)
		d[i] = trail_with(d[i], by);
	if (i >= NODES * NODES)
		return;
	way = d[i / NODES * NODES + by] + d[by * NODES + i % NODES];
	if (way < d[i]) /* row and column `by` stay as they are: who reads them need not wait */
		d[i] = way;
}

static void *paths_begin(int, size_t *ret_bytes)
{
	distances = take<uint32_t>(NODES * NODES + 1);
	*ret_bytes = (NODES * NODES + 1) * sizeof(uint32_t);
	return distances;
}

static void paths_pass(uint32_t seed, int steps)
{
	CHECK(cudaMemsetAsync(distances, 0, (NODES * NODES + 1) * sizeof(uint32_t), stream));
	for (int step = 0; step < steps; step++) {
		renew_distances<<<blocks(NODES * NODES), THREADS, 0, stream>>>(distances, seed_of(seed, step));
		for (int by = 0; by < NODES; by++)
			shorten<<<blocks(NODES * NODES + 1), THREADS, 0, stream>>>(distances, by);
	}
}

static bool paths_right(uint32_t seed, int steps, const void *result)
{
	words d(NODES * NODES + 1);

	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < NODES * NODES; i++)
			d[(size_t)i] = next_distance(d[(size_t)i], seed_of(seed, step), i);
		for (size_t by = 0; by < NODES; by++) {
			d.back() = trail_with(d.back(), (int)by);
			for (size_t i = 0; i < NODES; i++)
				for (size_t k = 0; k < NODES; k++)
					d[i * NODES + k] =
					    std::min(d[i * NODES + k], d[i * NODES + by] + d[by * NODES + k]);
		}
	}
	return same(d, result);
}

const struct bound_program bound_paths = {"paths", 10, paths_begin, paths_pass, paths_right};
