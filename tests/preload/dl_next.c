/* RTLD_NEXT and RTLD_DEFAULT mean what they mean without the shim: prints the trail through the preloaded tool
 * libraries, from the main thread and from another one, and who answers for "puts" and "dlsym". */
#include <pthread.h>

#include "tests/preload/own.h"

typedef const char *tool_fn(char *trail);

static void *walk(void *unused)
{
	char trail[64] = "";
	tool_fn *tool;

	(void)unused;
	*(void **)&tool = dlsym(RTLD_DEFAULT, "next_tool");
	if (tool != NULL)
		tool(trail);
	printf("trail %s\n", trail);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	walk(NULL);
	walk(NULL);
	if (pthread_create(&thread, NULL, walk, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 1;
	printf("next puts in %s\n", own_home(dlsym(RTLD_NEXT, "puts")));
	printf("next main in %s\n", own_home(dlsym(RTLD_NEXT, "main")));
	printf("next puts by version in %s\n", own_home(dlvsym(RTLD_NEXT, "puts", "GLIBC_2.2.5")));
	printf("default main in %s\n", own_home(dlsym(RTLD_DEFAULT, "main")));
	return 0;
}
