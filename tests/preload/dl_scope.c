/* What LD_PRELOAD reaches and what not: a library loaded with RTLD_LOCAL gets our function, one loaded with
 * RTLD_DEEPBIND or into a namespace of its own gets the driver's. argv[1]: the library. */
#include "tests/preload/own.h"

typedef void *ask_fn(const char *symbol);

static void try_library(const char *how, void *handle)
{
	ask_fn *ask;

	if (handle == NULL) {
		printf("%s: %s\n", how, dlerror());
		return;
	}
	*(void **)&ask = dlsym(handle, "ask_driver");
	printf("%s: %s\n", how, own_home(ask("cuInit")));
	dlclose(handle);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	try_library("deepbind", dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND));
	try_library("local", dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
	try_library("namespace", dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW));
	return 0;
}
