/* A free on the legacy default stream keeps blocking streams in order (H2): cases that print what a stream finds that comes after
 * such a free, and so after what another stream does late. drv_barrier CASE [LIBRARY] */
#include <dlfcn.h>
#include <string.h>

#include "tests/conformance/rule_drv.h"
#include "tests/preload/barrier.h"

#define WORDS 4096ull
#define BYTES (WORDS * sizeof(unsigned))

static CUstream early, late;
static CUdeviceptr from, to;

static CUstream blocking(void)
{
	CUstream stream;

	NEED(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	return stream;
}

static CUdeviceptr ordered(void)
{
	CUdeviceptr memory;

	NEED(cuMemAllocAsync(&memory, BYTES, NULL));
	return memory;
}

static void say_word(const char *what, CUdeviceptr memory)
{
	unsigned word = 9;

	NEED(cuMemcpyDtoH(&word, memory, sizeof(word)));
	printf("%s: %u\n", what, word);
}

static void start_pair(void)
{
	early = blocking();
	late = blocking();
	NEED(cuMemAlloc(&from, BYTES));
	NEED(cuMemAlloc(&to, BYTES));
	NEED(cuMemsetD32(from, 0, WORDS));
	NEED(cuMemsetD32(to, 7, WORDS));
	rule_kernel("sim_fill");
	NEED(cuCtxSynchronize());
}

static void write_early(void)
{
	rule_delay(early, 2000);
	rule_fill(early, from, 1, WORDS);
}

static void read_late(const char *what)
{
	NEED(cuMemcpyDtoDAsync(to, from, BYTES, late));
	NEED(cuStreamSynchronize(late));
	say_word(what, to);
}

/* Of work that has nothing to do with the memory. */
static void order(const char *unused)
{
	CUdeviceptr memory = ordered();

	(void)unused;
	start_pair();
	write_early();
	NEED(cuMemFreeAsync(memory, NULL));
	read_late("copied");
}

/* The free of one context orders nothing in another. */
static void contexts(const char *unused)
{
	CUdeviceptr first = ordered(), second;
	CUcontext one, other;

	(void)unused;
	NEED(cuCtxGetCurrent(&one));
	NEED(cuDevicePrimaryCtxRetain(&other, 1));
	NEED(cuCtxSetCurrent(other));
	second = ordered();
	start_pair();
	write_early();
	NEED(cuCtxSetCurrent(one));
	NEED(cuMemFreeAsync(first, NULL));
	NEED(cuCtxSetCurrent(other));
	NEED(cuMemFreeAsync(second, NULL));
	read_late("copied in the other context");
}

static void sticky(const char *unused)
{
	unsigned code = CUDA_ERROR_ILLEGAL_ADDRESS;
	CUdeviceptr first = ordered(), second = ordered();
	void *params[] = {&code};
	CUresult result;

	(void)unused;
	early = blocking();
	NEED(cuLaunchKernel(rule_kernel("sim_fail"), 1, 1, 1, 1, 1, 1, 0, early, params, NULL));
	while ((result = cuStreamQuery(early)) == CUDA_ERROR_NOT_READY)
		;
	printf("query %d, ", result);
	printf("free %d, ", cuMemFreeAsync(first, NULL));
	printf("free %d\n", cuMemFreeAsync(second, NULL));
}

/* Again and again, of launches that may be put off. */
static void queued(const char *unused)
{
	unsigned wrong = 0;

	(void)unused;
	start_pair();
	for (unsigned round = 0; round < 150; round++) {
		CUdeviceptr memory = ordered();
		unsigned word;

		rule_delay(early, 50);
		for (unsigned i = 0; i < 40; i++)
			rule_fill(early, memory, 1, WORDS);
		NEED(cuMemFreeAsync(memory, NULL));
		memory = ordered();
		rule_fill(late, memory, 2, WORDS);
		NEED(cuStreamSynchronize(late));
		NEED(cuStreamSynchronize(early));
		NEED(cuMemcpyDtoH(&word, memory, sizeof(word)));
		wrong += word != 2;
		NEED(cuMemFreeAsync(memory, NULL));
	}
	printf("wrong: %u\n", wrong);
}

/* What the library writes late comes first. */
static void library(const char *path)
{
	int (*write)(const struct barrier_work *work);
	struct barrier_work work = {.delay = rule_kernel("sim_delay"), .fill = rule_kernel("sim_fill"), .words = WORDS};
	void *handle = dlopen(path, RTLD_NOW | (getenv("DEEPBIND") != NULL ? RTLD_DEEPBIND : 0));
	CUdeviceptr memory = ordered(), other;

	if (handle == NULL) {
		printf("%s\n", dlerror());
		return;
	}
	*(void **)&write = dlsym(handle, "write_by_library");
	if (getenv("DEEPBIND") == NULL)
		work.stream = blocking();
	NEED(cuMemAllocAsync(&other, 64 << 20, NULL)); /* nobody wants it afterwards */
	NEED(cuCtxSynchronize());
	NEED(cuMemFreeAsync(other, NULL));
	work.to = memory;
	work.value = 1;
	work.late = 1;
	NEED(write(&work));
	NEED(cuMemFreeAsync(memory, NULL));
	memory = ordered();
	work.to = memory;
	work.value = 2;
	work.late = 0;
	work.stream = work.stream != NULL ? blocking() : NULL;
	NEED(write(&work));
	NEED(cuCtxSynchronize());
	say_word("written", memory);
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		void (*run)(const char *);
	} cases[] = {{"order", order}, {"contexts", contexts}, {"sticky", sticky}, {"queued", queued}, {"library", library}};

	rule_start();
	for (size_t i = 0; count > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(cases[i].name, words[1]) == 0)
			cases[i].run(count > 2 ? words[2] : NULL);
	return rule_broken;
}
