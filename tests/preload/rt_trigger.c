/* Uses CUDA until a file appears, or for a number of milliseconds, with what is asked for before:
 *     own       a handler of its own for SIGUSR2, set before the first CUDA call
 *     late      the same after it
 *     raise     sends SIGUSR2 to itself after some calls
 *     rise      20 MiB in pieces, given back at once when all are there; again and again until the file appears
 *     child     a child that sends SIGUSR2 to itself and makes no CUDA call */
#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled++;
}

static void use(void)
{
	void *memory;

	if (cudaMalloc(&memory, 1 << 20) != cudaSuccess || cudaFree(memory) != cudaSuccess)
		exit(3);
}

static void rise(const char *until)
{
	enum { PIECES = 10 };
	struct timespec nap = {0, 50000000};
	void *pieces[PIECES];

	for (int round = 0; round < 1200 && access(until, F_OK) != 0; round++) {
		for (int i = 0; i < PIECES; i++) {
			if (cudaMalloc(&pieces[i], 2 << 20) != cudaSuccess)
				exit(3);
		}
		for (int i = 0; i < PIECES; i++) {
			if (cudaFree(pieces[i]) != cudaSuccess)
				exit(3);
		}
		nanosleep(&nap, NULL);
	}
}

static void child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGUSR2);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", status);
}

int main(int count, char **words)
{
	struct timespec nap = {0, 2000000};
	const char *until = words[count - 1];
	long naps_left = atol(until) > 0 ? atol(until) / 2 : 60000;

	for (int i = 1; i < count - 1; i++) {
		if (!strcmp(words[i], "own"))
			signal(SIGUSR2, handle);
	}
	use();
	for (int i = 1; i < count - 1; i++) {
		if (!strcmp(words[i], "late"))
			signal(SIGUSR2, handle);
		else if (!strcmp(words[i], "raise"))
			raise(SIGUSR2);
		else if (!strcmp(words[i], "rise"))
			rise(until);
		else if (!strcmp(words[i], "child"))
			child();
	}
	printf("%d\n", getpid());
	fflush(stdout);
	do {
		use();
		nanosleep(&nap, NULL);
	} while (access(until, F_OK) != 0 && --naps_left > 0);
	printf("handled %d\n", (int)handled);
	return 0;
}
