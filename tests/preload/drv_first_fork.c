/* A fork while another thread is in the first CUDA call of the process: the child starts anew and does not hang.
 *
 * That thread is held where the shim starts: a setting that does not exist makes it say so, on a stderr that is a full
 * pipe. Without the shim nothing holds it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

enum { CHILD_S = 20, LOOKS = 2000 };

static _Atomic pid_t first_caller;
static _Atomic bool called;

static void *first_call(void *ret_result)
{
	atomic_store(&first_caller, gettid());
	*(CUresult *)ret_result = cuInit(0);
	atomic_store(&called, true);
	return NULL;
}

static bool sleeps(pid_t thread)
{
	char path[64], text[512] = "";
	const char *name_end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	name_end = strrchr(text, ')');
	return name_end != NULL && strncmp(name_end, ") S", 3) == 0;
}

/* Until the thread is through, or found asleep several times in a row. */
static void await_held(void)
{
	unsigned asleep = 0;

	for (unsigned looks = 0; looks < LOOKS && asleep < 10 && !atomic_load(&called); looks++) {
		asleep = sleeps(atomic_load(&first_caller)) ? asleep + 1 : 0;
		usleep(5000);
	}
}

static void fill(int pipe_end)
{
	char bytes[4096] = "";

	fcntl(pipe_end, F_SETFL, O_NONBLOCK);
	while (write(pipe_end, bytes, sizeof(bytes)) > 0)
		;
	fcntl(pipe_end, F_SETFL, 0);
}

static int be_child(void)
{
	int count = 0;

	alarm(CHILD_S);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	return cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 0 ? 0 : 1;
}

static void *drain(void *pipe_end)
{
	char bytes[4096];

	while (read(*(int *)pipe_end, bytes, sizeof(bytes)) > 0)
		;
	return NULL;
}

int main(void)
{
	CUresult result = CUDA_ERROR_UNKNOWN;
	pthread_t caller, reader;
	int ends[2], status = -1;
	pid_t child;

	setenv("GPUSHIM_ALLOC_CONF", "snapshot:off,no_such_setting:1", 1);
	if (pipe(ends) != 0)
		return 2;
	fill(ends[1]);
	dup2(ends[1], STDERR_FILENO);
	if (pthread_create(&caller, NULL, first_call, &result) != 0)
		return 2;
	await_held();
	child = fork();
	if (child == 0)
		_exit(be_child());
	waitpid(child, &status, 0);
	if (pthread_create(&reader, NULL, drain, &ends[0]) != 0)
		return 2;
	pthread_join(caller, NULL);
	printf("child %s, parent %d\n", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "well" : "not well", result);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && result == CUDA_SUCCESS ? 0 : 1;
}
