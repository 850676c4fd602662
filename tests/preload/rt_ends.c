/* Threads and processes that end in unusual ways: rt_ends cancel | child | storm | plain | taken FILE | limit. What
 * it prints is what it prints without the shim. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/kernel.h"

static pthread_key_t at_end;

/* cudaMalloc is no cancellation point, whether it succeeds or not. */
static void *cancelled(void *unused)
{
	void *pointer;

	(void)unused;
	pthread_cancel(pthread_self());
	printf("malloc %d, ", cudaMalloc(&pointer, 1000));
	printf("free %d, ", cudaFree(pointer));
	printf("too much %d, ", cudaMalloc(&pointer, (size_t)1 << 40));
	pthread_testcancel();
	return NULL;
}

static int cancel(void)
{
	pthread_t thread;
	void *result = NULL;

	NEED(cudaFree(NULL));
	if (pthread_create(&thread, NULL, cancelled, NULL) != 0 || pthread_join(thread, &result) != 0)
		return 1;
	printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "returned");
	return 0;
}

/* A child that was made behind libc's back ends as a process does. */
static int child(void)
{
	void *pointer;
	int status;
	pid_t pid;

	NEED(cudaMalloc(&pointer, 1000));
	fflush(stdout);
	pid = (pid_t)syscall(SYS_fork);
	if (pid == 0)
		exit(5);
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	return 0;
}

/* Again and again: the calls of a thread may outlive its first destructors. */
static void last_words(void *rounds)
{
	void *pointer;

	NEED(cudaMalloc(&pointer, 100));
	NEED(cudaFree(pointer));
	if ((uintptr_t)rounds > 1)
		pthread_setspecific(at_end, (void *)((uintptr_t)rounds - 1));
}

static void *one_call(void *unused)
{
	void *pointer;

	(void)unused;
	NEED(cudaMalloc(&pointer, 64));
	NEED(cudaFree(pointer));
	pthread_setspecific(at_end, (void *)3);
	return NULL;
}

static int storm(void)
{
	pthread_t threads[20];

	pthread_key_create(&at_end, last_words);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 20; i++)
			if (pthread_create(&threads[i], NULL, one_call, NULL) != 0)
				return 1;
		for (unsigned i = 0; i < 20; i++)
			pthread_join(threads[i], NULL);
	}
	puts("1600 allocations");
	return 0;
}

static int plain(void)
{
	void *pointer;

	NEED(cudaMalloc(&pointer, 1000));
	puts("one allocation");
	return 5;
}

/* A file of the program gets the number of stderr. */
static int taken(const char *path)
{
	close(STDERR_FILENO);
	if (open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) != STDERR_FILENO || write(STDERR_FILENO, "data\n", 5) != 5)
		return 1;
	return plain();
}

static int limit(void)
{
	int status = plain();

	setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, RLIM_INFINITY});
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "cancel") == 0)
		return cancel();
	if (argc == 2 && strcmp(argv[1], "child") == 0)
		return child();
	if (argc == 2 && strcmp(argv[1], "storm") == 0)
		return storm();
	if (argc == 2 && strcmp(argv[1], "plain") == 0)
		return plain();
	if (argc == 3 && strcmp(argv[1], "taken") == 0)
		return taken(argv[2]);
	if (argc == 2 && strcmp(argv[1], "limit") == 0)
		return limit();
	return 2;
}
