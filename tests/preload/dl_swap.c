/* Libraries that are linked to different CUDA runtimes come and go (argv[1], argv[2]), mostly at the same addresses:
 * each call reaches the runtime of the library that is there now. */
#include "tests/preload/own.h"

int main(int argc, char **argv)
{
	void *last = NULL;
	unsigned taken = 0;

	if (argc != 3)
		return 2;
	for (unsigned round = 0; round < 40; round++) {
		void *library = own_library(argv[1 + round % 2], RTLD_NOW | RTLD_LOCAL);
		int (*version)(void);
		void *(*alloc)(size_t size_bytes);
		int (*give)(void *pointer);

		*(void **)&version = dlsym(library, "rt_version");
		*(void **)&alloc = dlsym(library, "rt_alloc");
		*(void **)&give = dlsym(library, "rt_free");
		taken += (void *)version == last;
		last = (void *)version;
		if (round < 4 || round >= 38)
			printf("version %d, free %d\n", version() / 1000, give(alloc(1000)));
		else
			(void)give(alloc(version() > 0 ? 100 : 0));
		dlclose(library);
	}
	printf("addresses were %s\n", taken != 0 ? "used again" : "always new");
	return 0;
}
