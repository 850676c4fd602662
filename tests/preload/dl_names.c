/* Looks names up in a library that is not the driver (argv[1]), as cuDNN's loader does, and in the driver; prints who
 * answers, what dlerror says and what became of errno. The output is the same with and without the shim, but for the
 * functions of the driver that the shim stands in for. */
#include <errno.h>

#include "tests/preload/own.h"

static const char *last_error(void)
{
	const char *error = dlerror();

	return error != NULL ? error : "no error";
}

static void look(void *handle, const char *name)
{
	void *found;
	int kept;

	errno = 77;
	found = dlsym(handle, name);
	kept = errno;
	printf("%s: %s, errno %d, %s", name, own_home(found), kept, last_error());
	printf(", then %s\n", last_error());
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"cudnnCreate",
					    "cublasCreate_v2",
					    "curl_easy_init",
					    "cuFakeThing",
					    "cuMemAlloc_v2",
					    "cudaFakeThing",
					    "cudaMalloc",
					    "cudnnNoSuch",
					    "cuNoSuch",
					    "cudaNoSuch",
					    "cu",
					    ""};
	void *library = own_library(argv[argc - 1], RTLD_NOW | RTLD_LOCAL), *driver;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		look(library, names[i]);
	look(RTLD_DEFAULT, "cudnnCreate");
	look(RTLD_DEFAULT, "cuNoSuch");

	driver = own_library("libcuda.so.1", RTLD_NOW);
	look(driver, "cuNoSuch");
	look(driver, "sim_calls");
	printf("%s\n", dlvsym(driver, "cuInit", "NO_SUCH_VERSION") == NULL ? last_error() : "found");
	dlsym(library, "cuNoSuch");
	look(driver, "cuInit"); /* a look-up that succeeds clears the error before it */
	return 0;
}
