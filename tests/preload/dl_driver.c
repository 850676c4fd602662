/* A program that looks whether there is a driver, by dlopen and by the global scope. */
#include "tests/preload/own.h"

int main(void)
{
	typedef int init_fn(unsigned flags);
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);
	init_fn *init;

	printf("%s\n", handle != NULL ? "a driver" : dlerror());
	*(void **)&init = dlsym(RTLD_DEFAULT, "cuInit");
	if (init != NULL && handle == NULL)
		printf("cuInit says %d\n", init(0));
	return handle != NULL ? 0 : 5;
}
