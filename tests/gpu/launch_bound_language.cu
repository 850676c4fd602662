/* The program `language` of launch_bound: a decoder of tokens in C, with random weights, makes one token at a time.
 * Products of matrices are made by cuBLAS, the rest by kernels; the token is chosen on the device, and the next one
 * begins with it. A step is a token. The result is every token with its logit; the host makes the same way with double
 * precision, and asks whether each choice was right. */
#include <cublas_v2.h>
#include <math.h>

#include "tests/gpu/check.h"
#include "tests/gpu/launch_bound.h"
#include "tests/gpu/load.h"

enum { WIDTH = 128, HEADS = 4, HEAD = WIDTH / HEADS, INNER = 4 * WIDTH, LAYERS = 4, VOCABULARY = 512, WINDOW = 64 };

struct layer {
	float *qkv, *out, *up, *down; /* weights: a row for each output */
	float *keys, *values;	      /* of the last WINDOW tokens */
};

struct choice {
	uint32_t token;
	float logit;
};

static struct layer layers[LAYERS];
static float *token_rows, *place_rows, *head; /* weights */
static float *x, *normal, *qkv, *heard, *inner, *logits;
static struct choice *choices; /* the first one is given; then those of the steps */
static cublasHandle_t handle;
static decltype(&cublasSgemm_v2) gemm;

static __host__ __device__ float weight_at(uint32_t seed, int i, float scale)
{
	return (random_float(seed, i) - 0.5f) * scale;
}

/* So that outputs are about as large as inputs. */
static float scale_of(int inputs)
{
	return sqrtf(12.0f / (float)inputs);
}

__global__ void set_weights(float *to, uint32_t seed, float scale, int count)
{
	if (INDEX < count)
		to[INDEX] = weight_at(seed, INDEX, scale);
}

__global__ void begin_text(struct choice *choices, uint32_t seed)
{
	choices[0] = {random_word(seed, 0) % VOCABULARY, 0};
}

__global__ void embed(float *x, const float *tokens, const float *places, const struct choice *choice, int place)
{
	x[INDEX] = tokens[choice->token * WIDTH + (uint32_t)INDEX] + places[place * WIDTH + INDEX];
}

/* One block of WIDTH. */
__global__ void normalize(float *to, const float *x)
{
	__shared__ float sums[WIDTH];
	int lane = (int)threadIdx.x;

	sums[lane] = x[lane] * x[lane];
	for (int half = WIDTH / 2; half > 0; half /= 2) {
		__syncthreads();
		if (lane < half)
			sums[lane] += sums[lane + half];
	}
	__syncthreads();
	to[lane] = x[lane] / sqrtf(sums[0] / WIDTH + 1e-5f);
}

__global__ void remember(float *keys, float *values, const float *qkv, int place)
{
	keys[place * WIDTH + INDEX] = qkv[WIDTH + INDEX];
	values[place * WIDTH + INDEX] = qkv[2 * WIDTH + INDEX];
}

/* A block of HEAD for each head. */
__global__ void attend(float *heard, const float *qkv, const float *keys, const float *values, int count)
{
	__shared__ float scores[WINDOW];
	const float *query = qkv + blockIdx.x * HEAD;
	float most = -1e30f, sum = 0, out = 0;

	for (int i = (int)threadIdx.x; i < count; i += HEAD) {
		scores[i] = 0;
		for (int k = 0; k < HEAD; k++)
			scores[i] += query[k] * keys[i * WIDTH + (int)blockIdx.x * HEAD + k];
		scores[i] /= sqrtf(HEAD);
	}
	__syncthreads();
	for (int i = 0; i < count; i++)
		most = fmaxf(most, scores[i]);
	for (int i = 0; i < count; i++) {
		float weight = expf(scores[i] - most);

		sum += weight;
		out += weight * values[i * WIDTH + INDEX];
	}
	heard[INDEX] = out / sum;
}

__global__ void rectify(float *inner)
{
	inner[INDEX] = fmaxf(inner[INDEX], 0);
}

/* One block of THREADS; of equal logits the first. */
__global__ void choose(struct choice *to, const float *logits)
{
	__shared__ struct choice best[THREADS];
	int lane = (int)threadIdx.x;

	best[lane] = {(uint32_t)lane, logits[lane]};
	for (int i = lane + THREADS; i < VOCABULARY; i += THREADS)
		if (logits[i] > best[lane].logit)
			best[lane] = {(uint32_t)i, logits[i]};
	for (int half = THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (lane < half) {
			struct choice other = best[lane + half], mine = best[lane];

			if (other.logit > mine.logit || (other.logit == mine.logit && other.token < mine.token))
				best[lane] = other;
		}
	}
	if (lane == 0)
		*to = best[0];
}

static float *take_weights(int inputs, int outputs, uint32_t seed)
{
	float *weights = take<float>(inputs * outputs);

	set_weights<<<blocks(inputs * outputs), THREADS, 0, stream>>>(weights, seed, scale_of(inputs),
								      inputs * outputs);
	return weights;
}

/* Weights by their seeds, which the host uses, too. */
enum { TOKEN_SEED = 1001, PLACE_SEED, HEAD_SEED, LAYER_SEED = 2000, SEEDS_A_LAYER = 4 };

static void *language_begin(int steps, size_t *ret_bytes)
{
	void *library = load_library("libcublas.so.13", "cublas");
	auto create = LOAD(library, cublasCreate_v2);
	auto set_stream = LOAD(library, cublasSetStream_v2);

	gemm = LOAD(library, cublasSgemm_v2);
	CHECK(create(&handle));
	CHECK(set_stream(handle, stream));
	token_rows = take_weights(WIDTH, VOCABULARY, TOKEN_SEED);
	place_rows = take_weights(WIDTH, WINDOW, PLACE_SEED);
	head = take_weights(WIDTH, VOCABULARY, HEAD_SEED);
	for (uint32_t i = 0; i < LAYERS; i++) {
		uint32_t seed = LAYER_SEED + i * SEEDS_A_LAYER;

		layers[i] = {take_weights(WIDTH, 3 * WIDTH, seed), take_weights(WIDTH, WIDTH, seed + 1),
			     take_weights(WIDTH, INNER, seed + 2), take_weights(INNER, WIDTH, seed + 3),
			     take<float>(WINDOW * WIDTH),	   take<float>(WINDOW * WIDTH)};
	}
	x = take<float>(WIDTH);
	normal = take<float>(WIDTH);
	qkv = take<float>(3 * WIDTH);
	heard = take<float>(WIDTH);
	inner = take<float>(INNER);
	logits = take<float>(VOCABULARY);
	choices = take<struct choice>(1 + steps);
	*ret_bytes = (size_t)(1 + steps) * sizeof(*choices);
	return choices;
}

/* to = weights * from, added to what is there where `more` is 1. */
static void multiply(float *to, const float *weights, const float *from, int inputs, int outputs, float more)
{
	const float one = 1;

	CHECK(gemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, outputs, 1, inputs, &one, weights, inputs, from, inputs, &more, to,
		   outputs));
}

static void pass_layer(const struct layer *layer, int place, int count)
{
	normalize<<<1, WIDTH, 0, stream>>>(normal, x);
	multiply(qkv, layer->qkv, normal, WIDTH, 3 * WIDTH, 0);
	remember<<<1, WIDTH, 0, stream>>>(layer->keys, layer->values, qkv, place);
	attend<<<HEADS, HEAD, 0, stream>>>(heard, qkv, layer->keys, layer->values, count);
	multiply(x, layer->out, heard, WIDTH, WIDTH, 1);
	normalize<<<1, WIDTH, 0, stream>>>(normal, x);
	multiply(inner, layer->up, normal, WIDTH, INNER, 0);
	rectify<<<INNER / THREADS, THREADS, 0, stream>>>(inner);
	multiply(x, layer->down, inner, INNER, WIDTH, 1);
}

static void language_pass(uint32_t seed, int steps)
{
	begin_text<<<1, 1, 0, stream>>>(choices, seed);
	for (int step = 0; step < steps; step++) {
		int place = step % WINDOW, count = step < WINDOW ? step + 1 : WINDOW;

		embed<<<1, WIDTH, 0, stream>>>(x, token_rows, place_rows, choices + step, place);
		for (const struct layer &layer : layers)
			pass_layer(&layer, place, count);
		normalize<<<1, WIDTH, 0, stream>>>(normal, x);
		multiply(logits, head, normal, WIDTH, VOCABULARY, 0);
		choose<<<1, THREADS, 0, stream>>>(choices + step + 1, logits);
	}
}

/* --- on the host */

typedef std::vector<double> doubles;

struct host_model {
	doubles tokens, places, head;
	doubles weights[LAYERS][SEEDS_A_LAYER];
	doubles keys[LAYERS], values[LAYERS];
};

static doubles weights_of(int inputs, int outputs, uint32_t seed)
{
	doubles weights((size_t)(inputs * outputs));

	for (int i = 0; i < inputs * outputs; i++)
		weights[(size_t)i] = weight_at(seed, i, scale_of(inputs));
	return weights;
}

static struct host_model *model_of_host(void)
{
	static const int inputs[] = {WIDTH, WIDTH, WIDTH, INNER}, outputs[] = {3 * WIDTH, WIDTH, INNER, WIDTH};
	static struct host_model model;

	if (!model.tokens.empty())
		return &model;
	model.tokens = weights_of(WIDTH, VOCABULARY, TOKEN_SEED);
	model.places = weights_of(WIDTH, WINDOW, PLACE_SEED);
	model.head = weights_of(WIDTH, VOCABULARY, HEAD_SEED);
	for (uint32_t i = 0; i < LAYERS; i++) {
		for (uint32_t k = 0; k < SEEDS_A_LAYER; k++)
			model.weights[i][k] = weights_of(inputs[k], outputs[k], LAYER_SEED + i * SEEDS_A_LAYER + k);
		model.keys[i].resize(WINDOW * WIDTH);
		model.values[i].resize(WINDOW * WIDTH);
	}
	return &model;
}

static doubles product_of(const doubles &weights, const doubles &from)
{
	size_t inputs = from.size();
	doubles to(weights.size() / inputs);

	for (size_t i = 0; i < to.size(); i++)
		for (size_t k = 0; k < inputs; k++)
			to[i] += weights[i * inputs + k] * from[k];
	return to;
}

static doubles normal_of(const doubles &x)
{
	doubles to = x;
	double sum = 0;

	for (double value : x)
		sum += value * value;
	for (double &value : to)
		value /= sqrt(sum / WIDTH + 1e-5);
	return to;
}

static doubles heard_of(const doubles &qkv, const doubles &keys, const doubles &values, size_t count)
{
	doubles heard(WIDTH);

	for (size_t first = 0; first < WIDTH; first += HEAD) {
		doubles weights(count);
		double sum = 0;

		for (size_t i = 0; i < count; i++) {
			for (size_t k = first; k < first + HEAD; k++)
				weights[i] += qkv[k] * keys[i * WIDTH + k];
			weights[i] = exp(weights[i] / sqrt((double)HEAD));
			sum += weights[i];
		}
		for (size_t i = 0; i < count; i++)
			for (size_t k = first; k < first + HEAD; k++)
				heard[k] += weights[i] / sum * values[i * WIDTH + k];
	}
	return heard;
}

static void add(doubles *to, const doubles &more)
{
	for (size_t i = 0; i < more.size(); i++)
		(*to)[i] += more[i];
}

static doubles logits_after(struct host_model *model, uint32_t token, size_t place, size_t count)
{
	doubles now(WIDTH);

	for (size_t i = 0; i < WIDTH; i++)
		now[i] = model->tokens[token * WIDTH + i] + model->places[place * WIDTH + i];
	for (size_t layer = 0; layer < LAYERS; layer++) {
		const doubles *weights = model->weights[layer];
		doubles all = product_of(weights[0], normal_of(now)), wide;

		std::copy(&all[WIDTH], &all[2 * WIDTH], &model->keys[layer][place * WIDTH]);
		std::copy(&all[2 * WIDTH], all.data() + 3 * WIDTH, &model->values[layer][place * WIDTH]);
		add(&now, product_of(weights[1], heard_of(all, model->keys[layer], model->values[layer], count)));
		wide = product_of(weights[2], normal_of(now));
		for (double &value : wide)
			value = fmax(value, 0);
		add(&now, product_of(weights[3], wide));
	}
	return product_of(model->head, normal_of(now));
}

static bool language_right(uint32_t seed, int steps, const void *result)
{
	const struct choice *made = (const struct choice *)result;
	const double tolerance = 1e-3;

	if (made[0].token != random_word(seed, 0) % VOCABULARY)
		return false;
	for (int step = 0; step < steps; step++) {
		size_t place = (size_t)step % WINDOW, count = step < WINDOW ? (size_t)step + 1 : WINDOW;
		uint32_t next = made[step + 1].token;
		doubles ours = logits_after(model_of_host(), made[step].token, place, count);

		if (next >= VOCABULARY || fabs(ours[next] - (double)made[step + 1].logit) > tolerance)
			return false;
		for (double logit : ours)
			if (logit > ours[next] + tolerance)
				return false;
	}
	return true;
}

const struct bound_program bound_language = {"language", 48, language_begin, language_pass, language_right};
