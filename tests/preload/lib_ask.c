/* A library that looks a driver function up for itself. */
#include <dlfcn.h>

void *ask_driver(const char *symbol);

void *ask_driver(const char *symbol)
{
	void *volatile found = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), symbol); /* no jump: it asks, not its caller */

	return found;
}
