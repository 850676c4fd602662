/* Libraries linked to libcudart.so.12 and .13 in one process (argv[1], argv[2]): each reaches its own. */
#include "tests/preload/own.h"

struct library {
	int (*version)(void);
	int (*fail)(void);
	int (*last_error)(void);
	void *(*alloc)(size_t size_bytes);
	int (*free)(void *pointer);
};

static void load(struct library *library, const char *path)
{
	void *handle = own_library(path, RTLD_NOW | RTLD_LOCAL);

	*(void **)&library->version = dlsym(handle, "rt_version");
	*(void **)&library->fail = dlsym(handle, "rt_fail");
	*(void **)&library->last_error = dlsym(handle, "rt_last_error");
	*(void **)&library->alloc = dlsym(handle, "rt_alloc");
	*(void **)&library->free = dlsym(handle, "rt_free");
}

int main(int argc, char **argv)
{
	struct library first, second;
	void *pointer;

	if (argc != 3)
		return 2;
	load(&first, argv[1]);
	load(&second, argv[2]);
	printf("versions %d %d\n", first.version() / 1000, second.version() / 1000);
	for (unsigned round = 0; round < 2; round++) {
		printf("first fails %d", first.fail());
		printf(", second's last error %d", second.last_error());
		printf(", first's %d\n", first.last_error());
		printf("second fails %d", second.fail());
		printf(", first's last error %d", first.last_error());
		printf(", second's %d\n", second.last_error());
	}
	pointer = first.alloc(1u << 20);
	printf("first allocates: %s, second frees: %d\n", pointer != NULL ? "yes" : "no", second.free(pointer));
	return 0;
}
