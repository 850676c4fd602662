/* Threads that allocate, launch and free without pause, while the main thread does what argv[1] says: "fork" many
 * children that end in different ways, "exit" with a status, "quit" by _exit, "kill" itself, or "abort". */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <driver_types.h>

static enum cudaError unless_ending(enum cudaError error);
#define KERNEL_LAUNCHED(error) unless_ending(error)
#include "tests/preload/kernel.h"

enum { THREADS = 4, CHILDREN = 40, WORDS = 4096 };

static _Atomic bool stop;   /* the threads come to their end */
static _Atomic bool ending; /* the process does: CUDA may refuse */
static _Atomic unsigned rounds;
static uint32_t *errors;

/* Once the process ends, a thread that is refused waits for that. */
static cudaError_t unless_ending(cudaError_t error)
{
	while (error != cudaSuccess && atomic_load(&ending))
		pause();
	return error;
}

static void *work(void *number)
{
	cudaStream_t stream = stream_new();
	uint32_t value = (uint32_t)(uintptr_t)number;

	for (; !atomic_load(&stop); value += THREADS) {
		uint32_t *legacy, *ordered;

		NEED(unless_ending(cudaMalloc((void **)&legacy, WORDS * sizeof(*legacy))));
		NEED(unless_ending(cudaMallocAsync((void **)&ordered, WORDS * sizeof(*ordered), stream)));
		kernel_fill(legacy, value, WORDS, stream);
		kernel_fill(ordered, value, WORDS, stream);
		kernel_add(ordered, legacy, WORDS, stream);
		kernel_verify(ordered, value * 2, WORDS, errors, stream);
		NEED(unless_ending(cudaFreeAsync(ordered, stream)));
		NEED(unless_ending(cudaFree(legacy)));
		atomic_fetch_add(&rounds, 1);
	}
	NEED(cudaStreamSynchronize(stream));
	NEED(cudaStreamDestroy(stream));
	return NULL;
}

/* Never returns. CUDA does not work in a child; it must say so and not hang. */
static void be_child(unsigned number)
{
	void *pointer = NULL;

	switch (number % 4) {
	case 0:
		_exit(7);
	case 1:
		exit(7);
	case 2:
		execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
		break;
	default:
		_exit(cudaMalloc(&pointer, 4096) != cudaSuccess && cudaFree(NULL) != cudaSuccess ? 7 : 1);
	}
	_exit(2);
}

static unsigned fork_children(void)
{
	unsigned good = 0;

	for (unsigned i = 0; i < CHILDREN; i++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0)
			be_child(i);
		if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7)
			good++;
	}
	return good;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t threads[THREADS];

	kernels_register();
	errors = errors_new();
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 1;
	while (atomic_load(&rounds) < 20)
		usleep(1000);
	printf("running\n");
	fflush(stdout);
	atomic_store(&ending, strcmp(how, "fork") != 0);
	if (strcmp(how, "exit") == 0)
		return 6;
	if (strcmp(how, "quit") == 0)
		_exit(6);
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(how, "abort") == 0)
		abort();
	printf("%u of %d children are well\n", fork_children(), CHILDREN);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u errors\n", errors_read(errors));
	NEED(cudaFree(errors));
	return 0;
}
