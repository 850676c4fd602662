/* Threads and processes that end in unusual ways: see main for the names of the ways. What it prints is what it prints
 * without the shim. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
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

/* Nor does the child of a fork write a second snapshot, or under the name of its parent. */
static int forked(void)
{
	void *pointer;
	int status;
	pid_t pid;

	NEED(cudaMalloc(&pointer, 1000));
	fflush(stdout);
	pid = fork();
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

/* Enough history for a snapshot of several writes. */
static int long_life(void)
{
	void *pointer;

	for (unsigned i = 0; i < 2000; i++) {
		NEED(cudaMalloc(&pointer, 1000));
		NEED(cudaFree(pointer));
	}
	return plain();
}

static int quick(void)
{
	int status = plain();

	fflush(stdout);
	quick_exit(status);
}

/* No handler runs. */
static int at_once(void)
{
	int status = plain();

	fflush(stdout);
	_exit(status);
}

static int aborted(void)
{
	plain();
	fflush(stdout);
	abort();
}

/* A program that is started after a fork. */
static int forks_and_starts(void)
{
	int status;
	pid_t pid;

	plain();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "rt_ends", "plain", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("it ended with %d\n", WEXITSTATUS(status));
	return plain();
}

/* The name of the snapshot belongs to a folder. */
static int folder(const char *where)
{
	char path[1000];
	int status = plain();

	snprintf(path, sizeof(path), "%s/gpushim.%d.json", where, getpid());
	return mkdir(path, 0700) == 0 ? status : 1;
}

/* The folder for the snapshot is removed while the program runs. */
static int gone(const char *where)
{
	int status = plain();

	return rmdir(where) == 0 ? status : 1;
}

static void *last_thread(void *unused)
{
	(void)unused;
	plain();
	return NULL;
}

/* The main thread ends first; the process ends with the last thread. */
static int main_ends(void)
{
	pthread_t thread;

	NEED(cudaFree(NULL));
	if (pthread_create(&thread, NULL, last_thread, NULL) != 0)
		return 1;
	pthread_exit(NULL);
}

/* A program that is started in between by vfork is as any other. */
static int vforked(void)
{
	int status;
	pid_t pid;

	plain();
	fflush(stdout);
	pid = vfork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("vforked %d\n", WEXITSTATUS(status));
	return plain();
}

/* A child that was forked before CUDA began is a process of its own, as its parent is. */
static int early(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		exit(plain());
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	fflush(stdout);
	return plain();
}

static void end_at_once(int signal_number)
{
	(void)signal_number;
	exit(3);
}

/* Ends by a signal handler, so many microseconds on, wherever that finds it. */
static int handler(const char *after_us)
{
	const struct itimerval timer = {.it_value.tv_usec = atol(after_us)};
	cudaStream_t stream;
	void *pointer, *other;

	kernels_register();
	stream = stream_new();
	NEED(cudaMalloc(&other, 1000));
	signal(SIGALRM, end_at_once);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (cudaMalloc(&pointer, 1 << 20) == cudaSuccess) {
		for (unsigned i = 0; i < 20; i++)
			kernel_fill(other, i, 4, stream);
		NEED(cudaFree(pointer));
		NEED(cudaMallocAsync(&pointer, 4096, stream));
		NEED(cudaFreeAsync(pointer, stream));
	}
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
		int (*run_with)(const char *argument);
	} ways[] = {
	    {"cancel", cancel, NULL}, {"child", child, NULL},	 {"forked", forked, NULL},
	    {"storm", storm, NULL},   {"plain", plain, NULL},	 {"taken", NULL, taken},
	    {"limit", limit, NULL},   {"long", long_life, NULL}, {"quick", quick, NULL},
	    {"folder", NULL, folder}, {"gone", NULL, gone},	 {"main-ends", main_ends, NULL},
	    {"vfork", vforked, NULL}, {"early", early, NULL},	 {"at-once", at_once, NULL},
	    {"abort", aborted, NULL}, {"fork-exec", forks_and_starts, NULL},
	    {"handler", NULL, handler},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		if (argc == 2 && ways[i].run != NULL)
			return ways[i].run();
		if (argc == 3 && ways[i].run_with != NULL)
			return ways[i].run_with(argv[2]);
	}
	return 2;
}
