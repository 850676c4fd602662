/* Plays a PyTorch program on the stand-in for its memory: rt_torch LIBC10_CUDA PHASE..
 *
 * Tensors are filled when they are made and verified when they go. The program keeps books of its own: at each phase
 * "books", where the shim is asked for a snapshot too, it writes the bytes of the segments to segments.1,
 * segments.2, ... and a line "address bytes" for each tensor that is alive to books.1, books.2, ... Prints what the
 * phases saw; no addresses. */
#include <pthread.h>

#include "tests/preload/kernel.h"
#include "tests/preload/own.h"
#include "tests/preload/shadow.h"
#include "tests/sim/torch/torch.h"

#define DECLARE(type, name, parameters) static type(*name) parameters;
TORCH_FUNCTIONS(DECLARE)
#undef DECLARE

enum { TENSORS_MAX = 512, KIB = 1024, MIB = 1024 * 1024 };

struct tensor {
	uint32_t *words; /* NULL = none */
	size_t size_bytes;
	uint32_t value;
	cudaStream_t stream;
};

static struct tensor tensors[TENSORS_MAX];
static pthread_mutex_t tensors_lock = PTHREAD_MUTEX_INITIALIZER;
static cudaStream_t compute, copies, comms;
static uint32_t *errors;
static uint32_t next_value = 1;
static size_t device_free_bytes; /* at the start */
static uint64_t reserved_bytes;	 /* the same */
static const struct c10_heard *heard;
static void *c10;

static uint64_t words_of(size_t size_bytes)
{
	return size_bytes / sizeof(uint32_t);
}

static struct tensor *tensor_add(uint32_t *words, size_t size_bytes, cudaStream_t stream)
{
	struct tensor *tensor = tensors;

	pthread_mutex_lock(&tensors_lock);
	while (tensor->words != NULL)
		if (++tensor == tensors + TENSORS_MAX)
			exit(9);
	*tensor = (struct tensor){.words = words, .size_bytes = size_bytes, .value = next_value++, .stream = stream};
	pthread_mutex_unlock(&tensors_lock);
	return tensor;
}

/* NULL: out of memory. */
static struct tensor *tensor_try(size_t size_bytes, cudaStream_t stream)
{
	uint32_t *words = torch_malloc(size_bytes, stream);

	return words != NULL ? tensor_add(words, size_bytes, stream) : NULL;
}

static struct tensor *tensor_new(size_t size_bytes, cudaStream_t stream)
{
	struct tensor *tensor = tensor_try(size_bytes, stream);

	if (tensor == NULL) {
		printf("out of memory for %zu bytes\n", size_bytes);
		exit(9);
	}
	kernel_fill(tensor->words, tensor->value, words_of(size_bytes), stream);
	return tensor;
}

static void tensor_verify(const struct tensor *tensor, cudaStream_t stream)
{
	kernel_verify(tensor->words, tensor->value, words_of(tensor->size_bytes), errors, stream);
}

static void tensor_drop(struct tensor *tensor)
{
	void *words = tensor->words;

	pthread_mutex_lock(&tensors_lock);
	tensor->words = NULL;
	pthread_mutex_unlock(&tensors_lock);
	torch_free(words);
}

static void tensor_end(struct tensor *tensor)
{
	tensor_verify(tensor, tensor->stream);
	tensor_drop(tensor);
}

/* What comes next on `after` comes after what is on `before`. */
static void order(cudaStream_t before, cudaStream_t after)
{
	cudaEvent_t event;

	NEED(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	NEED(cudaEventRecord(event, before));
	NEED(cudaStreamWaitEvent(after, event, 0));
	NEED(cudaEventDestroy(event));
}

/* dst += src */
static void tensor_add_to(struct tensor *dst, const struct tensor *src, cudaStream_t stream)
{
	uint64_t words = words_of(dst->size_bytes < src->size_bytes ? dst->size_bytes : src->size_bytes);

	if (dst->size_bytes == words * sizeof(uint32_t))
		dst->value += src->value;
	kernel_add(dst->words, src->words, words, stream);
}

/* --- training: activations on the way forth, freed by another thread on the way back, gradients that a second stream
 * still uses when they are freed, input that came by a third one */

enum { LAYERS = 6, STEPS = 5 };

static const size_t layer_bytes[LAYERS] = {3 * MIB, 700 * KIB, 4 * KIB, 1536 * KIB, 11 * MIB, 1000};
static struct tensor *weights[LAYERS];
static struct tensor *activations[LAYERS];

static void *backward(void *unused)
{
	for (int layer = LAYERS - 1; layer >= 0; layer--) {
		struct tensor *gradient = tensor_new(layer_bytes[layer], compute);

		tensor_add_to(gradient, activations[layer], compute);
		tensor_end(activations[layer]);
		order(compute, comms);
		kernel_delay(20, comms);
		tensor_verify(gradient, comms);
		torch_record_stream(gradient->words, comms);
		tensor_drop(gradient);
	}
	return unused;
}

static void train(void)
{
	for (int layer = 0; layer < LAYERS; layer++)
		weights[layer] = tensor_new(layer_bytes[layer], compute);
	for (int step = 0; step < STEPS; step++) {
		struct tensor *input = tensor_new(2 * MIB + (size_t)step * 300 * KIB, copies);
		pthread_t thread;

		order(copies, compute);
		torch_record_stream(input->words, compute);
		kernel_delay(30, compute);
		for (int layer = 0; layer < LAYERS; layer++) {
			activations[layer] = tensor_new(layer_bytes[layer], compute);
			tensor_add_to(activations[layer], weights[layer], compute);
		}
		tensor_verify(input, compute);
		tensor_drop(input);
		if (pthread_create(&thread, NULL, backward, NULL) != 0)
			exit(9);
		pthread_join(thread, NULL);
	}
	printf("train: %u words wrong\n", errors_read(errors));
}

/* --- decoding: a cache that grows by copying, small tensors, a word to the host at each step */

static void decode(void)
{
	struct tensor *cache = tensor_new(16 * KIB, compute);
	uint32_t sum = 0;

	for (size_t step = 1; step <= 40; step++) {
		struct tensor *longer = tensor_new(cache->size_bytes + 40 * KIB, compute);
		struct tensor *logits = tensor_new(2000, compute);
		uint32_t word;

		longer->value = cache->value;
		kernel_fill(longer->words, cache->value, words_of(longer->size_bytes), compute);
		NEED(
		    cudaMemcpyAsync(longer->words, cache->words, cache->size_bytes, cudaMemcpyDeviceToDevice, compute));
		tensor_end(cache);
		cache = longer;
		NEED(cudaMemcpyAsync(&word, logits->words, sizeof(word), cudaMemcpyDeviceToHost, compute));
		NEED(cudaStreamSynchronize(compute));
		sum += word == logits->value;
		tensor_end(logits);
	}
	printf("decode: %u steps, %u words wrong\n", sum, errors_read(errors));
}

/* --- a graph: warm-up, a capture into a private pool, replays between which eager tensors come and go */

static void graph(void)
{
	cudaStream_t stream = stream_new();
	struct tensor *input = tensor_new(64 * KIB, stream), *output = NULL;
	uint64_t words = words_of(input->size_bytes);
	cudaGraphExec_t exec;
	cudaGraph_t captured;
	cudaError_t error;

	for (int round = 0; round < 2; round++) {
		struct tensor *temporary;

		if (round == 1) {
			torch_pool_begin(1, stream);
			NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
		}
		temporary = tensor_new(input->size_bytes, stream);
		tensor_add_to(temporary, input, stream);
		tensor_end(tensor_new(3 * MIB, stream));
		output = tensor_new(input->size_bytes, stream);
		tensor_add_to(output, temporary, stream);
		tensor_drop(temporary);
		if (round == 0)
			tensor_end(output);
	}
	NEED(cudaStreamEndCapture(stream, &captured));
	torch_pool_end(1);
	error = cudaGraphInstantiate(&exec, captured, 0);
	if (error == cudaErrorNotSupported) {
		printf("graph: captured\n");
	} else {
		NEED(error);
		output->value -= input->value;
		for (uint32_t replay = 1; replay <= 4; replay++) {
			struct tensor *eager = tensor_new(input->size_bytes, stream);

			kernel_fill(input->words, replay, words, stream);
			NEED(cudaGraphLaunch(exec, stream));
			kernel_verify(output->words, output->value + replay, words, errors, stream);
			tensor_end(eager);
			input->value = replay;
		}
		output->value += input->value;
		tensor_verify(output, stream);
		NEED(cudaStreamSynchronize(stream));
		NEED(cudaGraphExecDestroy(exec));
		printf("graph: %u words wrong\n", errors_read(errors));
	}
	NEED(cudaGraphDestroy(captured));
	tensor_drop(output);
	torch_pool_release(1);
	tensor_end(input);
}

/* --- memory is short: a request that only fits when the cache is given back, and one that does not fit at all */

static void shortage(void)
{
	static struct tensor *many[12];
	struct torch_stats stats;
	struct tensor *big;

	for (unsigned i = 0; i < 12; i++)
		many[i] = tensor_new(8 * MIB, compute);
	for (unsigned i = 0; i < 12; i++)
		tensor_end(many[i]);
	big = tensor_try(400 * (size_t)MIB, compute);
	printf("shortage: %s, ", big != NULL ? "it fits" : "it does not fit");
	if (big != NULL)
		tensor_drop(big);
	big = tensor_try(4000 * (size_t)MIB, compute);
	printf("%s, ", big != NULL ? "too much fits" : "too much does not fit");
	tensor_end(tensor_new(MIB, compute));
	torch_read_stats(&stats);
	printf("%s, %llu failed, %u words wrong\n", stats.retries > 0 ? "retried" : "not retried",
	       (unsigned long long)stats.out_of_memory, errors_read(errors));
}

/* --- more than there is, but not more than there are addresses for */

static void brim(void)
{
	printf("brim: %s\n", tensor_try(520 * (size_t)MIB, compute) != NULL ? "it fits" : "it does not fit");
}

/* --- reports that are none of PyTorch's tensors on a GPU: on the host, and by somebody else */

static void foreign(void)
{
	c10_cpu_malloc_fn *cpu_malloc;
	c10_cpu_free_fn *cpu_free;
	c10_report_fn *report[2];
	struct c10_device cuda = {.type = 1};
	void *host;

	*(void **)&cpu_malloc = dlsym(c10, "c10_cpu_malloc");
	*(void **)&cpu_free = dlsym(c10, "c10_cpu_free");
	*(void **)&report[0] = dlsym(RTLD_DEFAULT, C10_REPORT_UNSIGNED);
	*(void **)&report[1] = dlsym(RTLD_DEFAULT, C10_REPORT_SIGNED);
	for (unsigned i = 0; i < 2; i++)
		if (report[i] == NULL)
			*(void **)&report[i] = dlsym(c10, i == 0 ? C10_REPORT_UNSIGNED : C10_REPORT_SIGNED);
	host = cpu_malloc(12345);
	report[0]((void *)0x7000000000, 4096, 4096, 4096, cuda);
	report[1]((void *)0x7000001000, 4096, 8192, 8192, cuda);
	for (unsigned i = 0; i < TENSORS_MAX; i++)
		if (tensors[i].words != NULL)
			report[i % 2](tensors[i].words, -(int64_t)tensors[i].size_bytes, 0, 0, cuda);
	cpu_free(host, 12345);
	cpu_malloc(54321);
	printf("foreign: told\n");
}

/* --- books */

static FILE *book_open(const char *name, int number)
{
	char path[40];
	FILE *file;

	snprintf(path, sizeof(path), "%s.%d", name, number);
	file = fopen(path, "w");
	if (file == NULL)
		exit(9);
	return file;
}

static void books(void)
{
	static int number;
	int (*snapshot)(char *path, size_t path_bytes);
	FILE *file = book_open("segments", ++number);
	struct torch_stats stats;

	torch_read_stats(&stats);
	fprintf(file, "%llu\n", (unsigned long long)(stats.reserved_bytes - reserved_bytes));
	fclose(file);
	file = book_open("books", number);
	for (unsigned i = 0; i < TENSORS_MAX; i++)
		if (tensors[i].words != NULL)
			fprintf(file, "%lx %zu\n", (unsigned long)(uintptr_t)tensors[i].words,
				torch_bytes(tensors[i].words));
	fclose(file);
	*(void **)&snapshot = dlsym(RTLD_DEFAULT, "gpushim_snapshot");
	if (snapshot != NULL && snapshot(NULL, 0) != 0)
		exit(9);
}

/* What the driver itself says is free, whatever the shim answers. */
static size_t device_free(void)
{
	int (*mem_get_info)(size_t * free_bytes, size_t * total_bytes);
	size_t free_bytes = 0, total_bytes = 0;

	*(void **)&mem_get_info = own_dlsym(own_library("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuMemGetInfo_v2");
	if (mem_get_info(&free_bytes, &total_bytes) != 0)
		exit(9);
	return free_bytes;
}

static void empty(void)
{
	struct torch_stats stats;
	size_t held_bytes;

	torch_empty_cache();
	torch_read_stats(&stats);
	stats.reserved_bytes -= reserved_bytes;
	held_bytes = device_free_bytes - device_free();
	printf("empty: %llu tensors, ", (unsigned long long)stats.tensors);
	if (held_bytes == stats.reserved_bytes)
		printf("the device holds the segments\n");
	else
		printf("the device holds %zu, the segments are %llu\n", held_bytes,
		       (unsigned long long)stats.reserved_bytes);
}

static const struct {
	const char *name;
	void (*run)(void);
} phases[] = {{"train", train},	    {"decode", decode}, {"graph", graph}, {"shortage", shortage}, {"brim", brim},
	      {"foreign", foreign}, {"books", books},	{"empty", empty}};

static void load(const char *path)
{
	void *library = own_library(path, RTLD_NOW | RTLD_LOCAL);

#define FIND(type, name, parameters)                                                                                   \
	*(void **)&name = dlsym(library, #name);                                                                       \
	if (name == NULL)                                                                                              \
		exit(2);
	TORCH_FUNCTIONS(FIND)
#undef FIND
	c10 = own_library("libc10.so", RTLD_NOW | RTLD_NOLOAD);
	heard = dlsym(c10, "c10_heard");
}

int main(int argc, char **argv)
{
	struct torch_stats stats;

	if (argc < 3)
		return 2;
	load(argv[1]);
	kernels_register();
	errors = errors_new();
	shadow_owner(errors, sizeof(*errors), SIM_SHADOW_ANY);
	compute = stream_new();
	copies = stream_new();
	comms = stream_new();
	device_free_bytes = device_free();
	torch_read_stats(&stats);
	reserved_bytes = stats.reserved_bytes;
	for (int i = 2; i < argc; i++)
		for (size_t phase = 0; phase < sizeof(phases) / sizeof(phases[0]); phase++)
			if (strcmp(argv[i], phases[phase].name) == 0)
				phases[phase].run();
	printf("heard %lu, %lld bytes; %lu, %lld bytes\n", heard[0].calls, (long long)heard[0].live_bytes,
	       heard[1].calls, (long long)heard[1].live_bytes);
	return 0;
}
