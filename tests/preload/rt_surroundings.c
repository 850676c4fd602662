/* Some work in a process that is not as one would like it: see main for the names of the ways. What it prints is what it
 * prints without the shim. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/preload/kernel.h"

#define WORDS 1024
#define KEYS_MOST 4096
#define GUARD_BYTES (64u << 10)
#define ALTERNATE_BYTES 4096 /* beside what the system puts there */

/* Allocations of all kinds, launches, copies and waits; how many words are wrong. */
static unsigned long work(void)
{
	cudaStream_t stream = stream_new();
	uint32_t *words, *more, *host;
	unsigned long wrong = 0;

	NEED(cudaHostAlloc((void **)&host, WORDS * sizeof(*host), cudaHostAllocDefault));
	for (uint32_t round = 0; round < 20; round++) {
		NEED(cudaMalloc((void **)&words, WORDS * sizeof(*words)));
		NEED(cudaMallocAsync((void **)&more, WORDS * sizeof(*more), stream));
		kernel_fill(words, round, WORDS, stream);
		kernel_fill(more, 5, WORDS, stream);
		kernel_add(words, more, WORDS, stream);
		NEED(cudaMemcpyAsync(host, words, WORDS * sizeof(*host), cudaMemcpyDeviceToHost, stream));
		NEED(cudaFreeAsync(more, stream));
		NEED(cudaStreamSynchronize(stream));
		for (size_t i = 0; i < WORDS; i++)
			wrong += host[i] != round + 5;
		NEED(cudaFree(words));
	}
	NEED(cudaFreeHost(host));
	NEED(cudaStreamDestroy(stream));
	return wrong;
}

static void *work_in_thread(void *unused)
{
	(void)unused;
	return (void *)work();
}

static int just_work(const char *unused)
{
	(void)unused;
	printf("%lu wrong\n", work());
	return 0;
}

/* The program has all keys of thread-specific data, and something at each. */
static int keys(const char *unused)
{
	static pthread_key_t all[KEYS_MOST];
	static char values[KEYS_MOST];
	unsigned count = 0, lost = 0;
	pthread_t thread;
	void *wrong = NULL;

	(void)unused;
	while (count < KEYS_MOST && pthread_key_create(&all[count], NULL) == 0)
		count++;
	for (unsigned i = 0; i < count; i++)
		pthread_setspecific(all[i], &values[i]);
	printf("%lu wrong, ", work());
	for (unsigned i = 0; i < count; i++)
		lost += pthread_getspecific(all[i]) != &values[i];
	if (pthread_create(&thread, NULL, work_in_thread, NULL) != 0 || pthread_join(thread, &wrong) != 0)
		return 1;
	printf("%lu wrong, %u keys of %u lost\n", (unsigned long)wrong, lost, count);
	return 0;
}

/* Room for a stack, behind a page that nobody may touch. */
static void *with_guard(size_t bytes)
{
	char *room = mmap(NULL, bytes + GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return room != MAP_FAILED && mprotect(room, GUARD_BYTES, PROT_NONE) == 0 ? room + GUARD_BYTES : NULL;
}

/* All of it, from the first call of the process on, in a thread with so little stack. Prints on stderr how much was used. */
static int stack(const char *bytes_text)
{
	size_t bytes = strtoul(bytes_text, NULL, 10), untouched = 0;
	unsigned char *room = with_guard(bytes);
	pthread_attr_t attributes;
	pthread_t thread;
	void *wrong = NULL;

	if (room == NULL)
		return 1;
	memset(room, 0xa5, bytes);
	if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, room, bytes) != 0 ||
	    pthread_create(&thread, &attributes, work_in_thread, NULL) != 0 || pthread_join(thread, &wrong) != 0)
		return 1;
	while (untouched < bytes && room[untouched] == 0xa5)
		untouched++;
	printf("%lu wrong\n", (unsigned long)wrong);
	fprintf(stderr, "%zu bytes used\n", bytes - untouched);
	return 0;
}

/* A pipe of the program gets the number of stderr; something goes wrong that is worth a line. */
static int pipe_is_stderr(int flags)
{
	char bytes[4096];
	void *pointer;
	int ends[2];

	close(STDERR_FILENO);
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) != STDERR_FILENO || pipe2(ends, flags | O_NONBLOCK) != 0 ||
	    dup3(ends[1], STDERR_FILENO, flags & O_CLOEXEC) < 0)
		return 1;
	printf("too much %d, ", cudaMalloc(&pointer, (size_t)1 << 50));
	puts(read(ends[0], bytes, sizeof(bytes)) > 0 ? "something in the pipe" : "nothing in the pipe");
	return 0;
}

static int private_pipe(const char *unused)
{
	(void)unused;
	return pipe_is_stderr(O_CLOEXEC);
}

static int any_pipe(const char *unused)
{
	(void)unused;
	return pipe_is_stderr(0);
}

/* The folder that it works in lies outside of its root. */
static int outside(const char *root)
{
	if (chroot(root) != 0)
		return 1;
	return just_work(NULL);
}

static void end_at_once(int signal_number)
{
	(void)signal_number;
	exit(3);
}

/* A handler ends the program on a stack of its own, that is as small as one may expect. */
static int alternate(const char *unused)
{
	size_t bytes = ((size_t)sysconf(_SC_MINSIGSTKSZ) + ALTERNATE_BYTES + 4095) / 4096 * 4096;
	void *room = with_guard(bytes);
	const struct sigaction action = {.sa_handler = end_at_once, .sa_flags = SA_ONSTACK};

	(void)unused;
	if (room == NULL || sigaltstack(&(stack_t){.ss_sp = room, .ss_size = bytes}, NULL) != 0 ||
	    sigaction(SIGALRM, &action, NULL) != 0)
		return 1;
	just_work(NULL);
	fflush(stdout);
	raise(SIGALRM);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *argument);
	} ways[] = {
	    {"work", just_work}, {"keys", keys},       {"stack", stack},
	    {"private-pipe", private_pipe}, {"any-pipe", any_pipe}, {"outside", outside},
	    {"alternate", alternate},
	};

	kernels_register();
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			return ways[i].run(argc > 2 ? argv[2] : NULL);
	return 2;
}
