/* Libraries are closed that the process goes on to need, or thinks it does. argv[1] says how, argv[2] is the library:
 *
 *     opened   a library through which CUDA is used, in several threads, is closed, and used further: the shim itself,
 *              opened by a program that was started without it
 *     linked   a library that is linked to the shim, with lib_user, is used and closed, while CUDA goes on
 *     probed   a driver (or runtime) is opened, asked and closed, as by programs that look for one; then opened for good
 *     often    a library is opened once and closed again and again
 *
 * Prints what the program sees. */
#include <cuda.h>
#include <pthread.h>
#include <sys/mman.h>

#include "tests/preload/own.h"

enum { SIZE_BYTES = 1 << 20, THREADS = 4, ROUNDS = 50, PLACE_BYTES = 16 * 4096 };

#define FUNCTIONS(X)                                                                                                   \
	X(cuInit)                                                                                                      \
	X(cuDevicePrimaryCtxRetain)                                                                                    \
	X(cuCtxSetCurrent)                                                                                             \
	X(cuCtxSynchronize)                                                                                            \
	X(cuStreamCreate)                                                                                              \
	X(cuMemAlloc_v2)                                                                                               \
	X(cuMemAllocAsync)                                                                                             \
	X(cuMemsetD8Async)                                                                                             \
	X(cuMemcpyDtoH_v2)                                                                                             \
	X(cuMemFreeAsync)                                                                                              \
	X(cuMemFree_v2)

static struct {
#define SLOT(name) __typeof__(&name) name;
	FUNCTIONS(SLOT)
#undef SLOT
} cuda;

static CUcontext context;
static pthread_barrier_t closing;

static void need(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, result);
	exit(9);
}

#define NEED(call) need(cuda.call, #call)

static void look_up(void *library)
{
#define FIND(name) *(void **)&cuda.name = dlsym(library, #name);
	FUNCTIONS(FIND)
#undef FIND
}

static void begin(void)
{
	NEED(cuInit(0));
	NEED(cuDevicePrimaryCtxRetain(&context, 0));
	NEED(cuCtxSetCurrent(context));
}

/* Memory by either way, filled and read back. */
static void use(void)
{
	CUdeviceptr plain, ordered;
	unsigned char bytes[2];
	CUstream stream;

	NEED(cuCtxSetCurrent(context));
	NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int round = 0; round < ROUNDS; round++) {
		NEED(cuMemAlloc_v2(&plain, SIZE_BYTES));
		NEED(cuMemAllocAsync(&ordered, SIZE_BYTES, stream));
		NEED(cuMemsetD8Async(plain, 5, SIZE_BYTES, stream));
		NEED(cuMemsetD8Async(ordered, 6, SIZE_BYTES, stream));
		NEED(cuCtxSynchronize());
		NEED(cuMemcpyDtoH_v2(&bytes[0], plain + SIZE_BYTES - 1, 1));
		NEED(cuMemcpyDtoH_v2(&bytes[1], ordered + SIZE_BYTES - 1, 1));
		NEED(cuMemFreeAsync(ordered, stream));
		NEED(cuMemFree_v2(plain));
		if (bytes[0] != 5 || bytes[1] != 6)
			printf("%d and %d are read\n", bytes[0], bytes[1]);
	}
}

/* Ends, with what it has of its own, after the library was closed. */
static void *before_and_after(void *unused)
{
	(void)unused;
	use();
	pthread_barrier_wait(&closing);
	pthread_barrier_wait(&closing);
	use();
	return NULL;
}

static int opened(const char *path)
{
	void *library = own_library(path, RTLD_NOW | RTLD_LOCAL);
	pthread_t threads[THREADS];

	look_up(library);
	begin();
	pthread_barrier_init(&closing, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, before_and_after, NULL);
	pthread_barrier_wait(&closing);
	printf("closed: %d\n", dlclose(library));
	pthread_barrier_wait(&closing);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	use();
	return 0;
}

static int linked(const char *path)
{
	void *driver = own_library("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	for (int round = 0; round < 3; round++) {
		void *library = own_library(path, RTLD_NOW | RTLD_LOCAL);
		int (*library_use)(void);

		*(void **)&library_use = dlsym(library, "lib_user");
		printf("it says %d\n", library_use());
		look_up(driver);
		if (round == 0)
			begin();
		use();
		printf("closed: %d\n", dlclose(library));
		use();
	}
	return 0;
}

/* Where the library of the function was nothing comes again; if it is still there, nothing happens. */
static void take_place_of(const Dl_info *info)
{
	mmap(info->dli_fbase, PLACE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static int probed(const char *path)
{
	for (int round = 0; round < 3; round++) {
		void *library = own_library(path, RTLD_NOW | RTLD_LOCAL);
		int (*probe)(int *) = NULL;
		Dl_info home = {NULL};
		int version = 0;

		*(void **)&probe = dlsym(library, "cuDriverGetVersion");
		if (probe == NULL)
			*(void **)&probe = dlsym(library, "cudaDriverGetVersion");
		printf("asked: %d\n", probe(&version));
		dladdr(own_dlsym(library, "cuInit"), &home);
		printf("closed: %d\n", dlclose(library));
		take_place_of(&home);
	}
	look_up(own_library("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
	begin();
	use();
	return 0;
}

static int often(const char *path)
{
	void *library = own_library(path, RTLD_NOW | RTLD_LOCAL);

	look_up(own_library("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
	begin();
	for (int i = 0; i < 5; i++) {
		dlclose(library);
		use();
	}
	printf("used\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *path);
	} ways[] = {{"opened", opened}, {"linked", linked}, {"probed", probed}, {"often", often}};

	for (size_t i = 0; argc == 3 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			return ways[i].run(argv[2]);
	return 2;
}
