/* A preloaded library that is worse than none: for tests of what compares programs with and without one. CORRUPT says how:
 * result (a bit of what comes back from the device is wrong), status, crash, hang, child (a process is left behind); otherwise,
 * and in programs without a CUDA runtime, it does nothing. */
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/preload/own.h"

typedef int copy_fn(void *to, const void *from, size_t size_bytes, int kind);

static copy_fn *next;

static bool wants(const char *what)
{
	const char *how = getenv("CORRUPT");

	return next != NULL && how != NULL && strcmp(how, what) == 0;
}

__attribute__((constructor)) static void start(void)
{
	*(void **)&next = dlsym(RTLD_NEXT, "cudaMemcpy");
}

int cudaMemcpy(void *to, const void *from, size_t size_bytes, int kind);

int cudaMemcpy(void *to, const void *from, size_t size_bytes, int kind)
{
	int rc = next(to, from, size_bytes, kind);

	if (kind == 2 && size_bytes > 0 && wants("result"))
		*(unsigned char *)to ^= 1;
	return rc;
}

__attribute__((destructor)) static void end(void)
{
	if (wants("status"))
		_exit(3);
	if (wants("crash"))
		raise(SIGSEGV);
	while (wants("hang"))
		pause();
	if (wants("child") && fork() == 0) {
		sleep(30);
		_exit(0);
	}
}
