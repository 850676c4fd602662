/* Which calls enter the runtime, and which are answered at the door (shim/api/quick.h): each case prints how many of
 * its calls entered. rt_quick CASE */
#include <pthread.h>

#include "tests/preload/own.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include "tests/preload/kernel.h"

static sim_cudart_entries_fn *entries;
static const char *wanted;

static void say(const char *name, unsigned long before)
{
	printf("%s: %lu entered\n", name, entries() - before);
}

/* Two calls. */
static void pair(const char *name)
{
	unsigned long before = entries();
	void *pointer;

	NEED(cudaMallocAsync(&pointer, 4096, NULL));
	NEED(cudaFreeAsync(pointer, NULL));
	if (name != NULL)
		say(name, before);
}

static void legacy_pair(const char *name)
{
	unsigned long before = entries();
	void *pointer;

	NEED(cudaMalloc(&pointer, 4096));
	NEED(cudaFree(pointer));
	if (name != NULL)
		say(name, before);
}

/* So much that there is memory to hold, and the thread has learned. */
static void warm(void)
{
	for (unsigned i = 0; i < 3; i++) {
		pair(NULL);
		legacy_pair(NULL);
		NEED(cudaDeviceSynchronize());
	}
}

/* For the stream of the thread, by the functions that say so. */
static void run_per_thread(void)
{
	cudaError_t (*alloc)(void **, size_t, cudaStream_t);
	cudaError_t (*give)(void *, cudaStream_t);
	unsigned long before;
	void *pointer;

	*(void **)&alloc = dlsym(RTLD_DEFAULT, "cudaMallocAsync_ptsz");
	*(void **)&give = dlsym(RTLD_DEFAULT, "cudaFreeAsync_ptsz");
	for (unsigned i = 0; i < 3; i++) {
		NEED(alloc(&pointer, 4096, NULL));
		NEED(give(pointer, NULL));
		NEED(cudaDeviceSynchronize());
	}
	before = entries();
	NEED(alloc(&pointer, 4096, NULL));
	say("an allocation on the stream of the thread", before);
	before = entries();
	NEED(give(pointer, NULL));
	say("its free", before);
}

/* A free on the legacy stream keeps blocking streams in order, where there are any: at the door, too. */
static void run_barrier(void)
{
	cudaStream_t stream;

	NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	warm();
	pair("beside a stream that takes no part");
	NEED(cudaStreamCreate(&stream));
	warm();
	pair("beside a blocking stream");
}

static void *thread_pairs(void *unused)
{
	pair("the first two calls of a thread");
	pair("two more");
	return unused;
}

static void run_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_pairs, NULL);
	pthread_join(thread, NULL);
}

static void run_plain(void)
{
	unsigned long before;
	void *pointer, *other;
	cudaStream_t stream;

	pair("served from what is held");
	legacy_pair("likewise, legacy");
	NEED(cudaDeviceSynchronize());
	before = entries();
	NEED(cudaFree(NULL));
	say("free of nothing", before);
	before = entries();
	NEED(cudaMalloc(&pointer, 0));
	say("nothing asked for", before);
	before = entries();
	NEED(cudaMallocAsync(&pointer, 64 << 20, NULL));
	say("new memory", before);
	before = entries();
	printf("too much: %d, ", cudaMallocAsync(&other, 1ull << 60, NULL));
	printf("last error %d, ", cudaGetLastError());
	say("both", before);
	before = entries();
	printf("inside of a block: %d, ", cudaFreeAsync((char *)pointer + 512, NULL));
	printf("last error %d, ", cudaGetLastError());
	say("both", before);
	NEED(cudaFreeAsync(pointer, NULL));
	before = entries();
	printf("freed already: %d, ", cudaFreeAsync(pointer, NULL));
	printf("last error %d, ", cudaGetLastError());
	say("both", before);
	NEED(cudaStreamCreate(&stream));
	NEED(cudaMallocAsync(&pointer, 4096, stream));
	NEED(cudaFreeAsync(pointer, stream)); /* after what the legacy stream was given */
	before = entries();
	NEED(cudaMallocAsync(&pointer, 4096, stream));
	NEED(cudaFreeAsync(pointer, stream));
	say("a stream of its own", before);
	NEED(cudaStreamDestroy(stream));
	before = entries();
	printf("a stream that has ended: %d, ", cudaMallocAsync(&pointer, 4096, stream) != cudaSuccess);
	cudaGetLastError();
	say("with the last error", before);
}

/* Memory is held that would do: what warm() left is idle. */
static void run_legacy(void)
{
	legacy_pair("legacy, with idle memory");
}

static void run_device(void)
{
	NEED(cudaSetDevice(1));
	pair("another device");
	pair("again there");
	NEED(cudaSetDevice(0));
	pair("back");
	pair("again back");
}

static void ask(const char *name)
{
	unsigned long before = entries();
	int device = -1;

	NEED(cudaGetDevice(&device));
	printf("%s: device %d, ", name, device);
	say("the question", before);
}

static void *ask_in_thread(void *unused)
{
	ask("another thread");
	ask("once more there");
	return unused;
}

/* Which device is current, after all that may change it. */
static void run_ask(void)
{
	void *driver = own_library("libcuda.so.1", RTLD_NOW);
	PFN_cuCtxGetCurrent_v4000 get = (PFN_cuCtxGetCurrent_v4000)dlsym(driver, "cuCtxGetCurrent");
	PFN_cuCtxSetCurrent_v4000 set = (PFN_cuCtxSetCurrent_v4000)dlsym(driver, "cuCtxSetCurrent");
	PFN_cuCtxCreate_v3020 create = (PFN_cuCtxCreate_v3020)dlsym(driver, "cuCtxCreate_v2");
	PFN_cuCtxPopCurrent_v4000 pop = (PFN_cuCtxPopCurrent_v4000)dlsym(driver, "cuCtxPopCurrent_v2");
	CUcontext first, context;
	pthread_t thread;

	ask("first");
	ask("again");
	if (get(&first))
		exit(9);
	NEED(cudaSetDevice(1));
	ask("the other");
	ask("again");
	if (set(first))
		exit(9);
	ask("by the driver");
	ask("again");
	if (create(&context, 0, 1))
		exit(9);
	ask("a context of the other");
	if (pop(&context))
		exit(9);
	ask("without it");
	pthread_create(&thread, NULL, ask_in_thread, NULL);
	pthread_join(thread, NULL);
	NEED(cudaDeviceReset());
	ask("after a reset");
	ask("again");
}

static void run_context(void)
{
	void *driver = own_library("libcuda.so.1", RTLD_NOW);
	PFN_cuCtxCreate_v3020 create = (PFN_cuCtxCreate_v3020)dlsym(driver, "cuCtxCreate_v2");
	PFN_cuCtxPopCurrent_v4000 pop = (PFN_cuCtxPopCurrent_v4000)dlsym(driver, "cuCtxPopCurrent_v2");
	CUcontext context;

	if (create(&context, 0, 0))
		exit(9);
	pair("another context");
	pair("again there");
	if (pop(&context))
		exit(9);
	pair("the first one again");
	pair("and again");
	NEED(cudaDeviceReset());
	pair("after a reset");
}

static void run_capture(void)
{
	cudaStream_t stream;
	cudaGraph_t graph;

	NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	pair("while a capture is open");
	NEED(cudaStreamEndCapture(stream, &graph));
	NEED(cudaGraphDestroy(graph));
	pair("after it");
}

static void run_copy(void)
{
	void *host, *memory, *pointer;
	unsigned long before;

	NEED(cudaMallocHost(&host, 4096));
	NEED(cudaMalloc(&memory, 4096));
	NEED(cudaMalloc(&pointer, 4096));
	NEED(cudaMemcpyAsync(host, memory, 4096, cudaMemcpyDeviceToHost, NULL));
	before = entries();
	NEED(cudaFree(pointer));
	say("a free while a copy to the host may run", before);
	NEED(cudaFree(memory));
}

static void run_pool(void)
{
	struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
					      .location = {.type = cudaMemLocationTypeDevice}};
	cudaMemPool_t pool, before;

	NEED(cudaDeviceGetMemPool(&before, 0));
	NEED(cudaMemPoolCreate(&pool, &properties));
	NEED(cudaDeviceSetMemPool(0, pool));
	pair("another pool is current");
	NEED(cudaDeviceSetMemPool(0, before));
	pair("the default one again");
}

static void run_broken(void)
{
	unsigned long before;
	void *pointer;

	printf("a wait: %d\n", cudaDeviceSynchronize());
	before = entries();
	printf("an allocation: %d, ", cudaMallocAsync(&pointer, 4096, NULL));
	say("which", before);
}

/* A profiler asks to see all calls. */
static void run_tool(void)
{
	int (*subscribe)(void **subscriber, void *function, void *data);
	void *subscriber;

	*(void **)&subscribe = dlsym(RTLD_DEFAULT, "cuptiSubscribe");
	printf("no libcupti: %d\n", subscribe != NULL ? subscribe(&subscriber, NULL, NULL) : -1);
	pair("a profiler watches");
}

static void run_tool_lookup(void)
{
	dlsym(own_library("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD), "cuptiActivityFlushAll");
	pair("a function of libcupti was looked up that shows nothing");
	dlsym(own_library("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD), "cuptiActivityEnable");
	pair("one that shows calls");
}

static void run_runtimes(void)
{
	void *library = own_library(wanted, RTLD_NOW | RTLD_LOCAL);
	sim_cudart_entries_fn *others;
	void *(*alloc)(size_t size_bytes);
	int (*give)(void *pointer);
	unsigned long before;

	*(void **)&others = dlsym(own_library("libcudart.so.12", RTLD_NOW | RTLD_NOLOAD), "sim_cudart_entries");
	*(void **)&alloc = dlsym(library, "rt_alloc");
	*(void **)&give = dlsym(library, "rt_free");
	before = others();
	if (give(alloc(4096)))
		exit(9);
	printf("the first two calls through another runtime: %lu entered\n", others() - before);
	before = others();
	if (give(alloc(4096)))
		exit(9);
	printf("two more: %lu entered\n", others() - before);
}

/* Streams of another device, some of which share a place with one of this device in what the thread remembers: what was
 * learned of that one is not believed of them. */
static void run_foreign(void)
{
	cudaStream_t own, others[64];
	unsigned long before, entered = 0;
	void *pointer;

	NEED(cudaSetDevice(1));
	for (unsigned i = 0; i < 64; i++)
		NEED(cudaStreamCreateWithFlags(&others[i], cudaStreamNonBlocking));
	NEED(cudaSetDevice(0));
	NEED(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
	warm();
	for (unsigned i = 0; i < 64; i++) {
		NEED(cudaMallocAsync(&pointer, 4096, own));
		NEED(cudaFreeAsync(pointer, own));
		NEED(cudaMallocAsync(&pointer, 4096, others[i]));
		NEED(cudaFreeAsync(pointer, others[i]));
		before = entries();
		NEED(cudaMallocAsync(&pointer, 4096, others[i]));
		entered += entries() - before;
		NEED(cudaFreeAsync(pointer, others[i]));
	}
	printf("64 streams of another device: %lu entered\n", entered);
}

/* A tool behind us: what it defines is called. */
static void run_behind(void)
{
	unsigned (*count)(void);
	unsigned before;

	*(void **)&count = dlsym(RTLD_DEFAULT, "tool_mallocs");
	before = count();
	legacy_pair(NULL);
	legacy_pair(NULL);
	printf("the tool saw %u of two\n", count() - before);
}

/* A tool that stands between the runtime and our driver entries. */
static void run_front(void)
{
	unsigned (*count)(void);
	unsigned before;

	*(void **)&count = dlsym(RTLD_DEFAULT, "tool_allocs");
	before = count();
	pair(NULL);
	pair(NULL);
	printf("the tool saw %u of two\n", count() - before);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
	    {"per-thread", run_per_thread}, {"barrier", run_barrier}, {"foreign", run_foreign}, {"plain", run_plain},
	    {"thread", run_thread},	    {"device", run_device},   {"context", run_context}, {"ask", run_ask},
	    {"capture", run_capture},	    {"copy", run_copy},	      {"pool", run_pool},
	    {"broken", run_broken},	    {"tool", run_tool},	      {"lookup", run_tool_lookup},
	    {"runtimes", run_runtimes},	    {"behind", run_behind},   {"front", run_front},
	    {"legacy", run_legacy},
	};

	*(void **)&entries = sim_find("sim_cudart_entries");
	if (entries == NULL || argc < 2)
		return 2;
	wanted = argc > 2 ? argv[2] : NULL;
	kernels_register();
	warm();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	return 2;
}
