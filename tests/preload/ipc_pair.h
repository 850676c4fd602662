/* Two processes that share device memory: what the rt_ipc programs have in common.
 *
 * The exporter is the parent; both start before either has made a CUDA call. A program ends with 0 when all is as it
 * should be, with 77 when the scenario cannot be tried here; otherwise it says what was wrong. */
#ifndef IPC_PAIR_H
#define IPC_PAIR_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "tests/sim/sim.h"

#define MIB (1ul << 20)
#define SKIPPED 77

static const char *role;
static int other; /* socket to the other process */

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			printf("%s, line %d: not so: %s\n", role, __LINE__, #condition);                               \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#define GIVES(call, wanted)                                                                                            \
	do {                                                                                                           \
		int gives_got = (int)(call);                                                                           \
		if (gives_got != (int)(wanted)) {                                                                      \
			printf("%s, line %d: %s gives %d, not %d\n", role, __LINE__, #call, gives_got, (int)(wanted)); \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#define CUDA(call) GIVES(call, cudaSuccess)

static inline void tell(const void *bytes, size_t size)
{
	CHECK(send(other, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
}

static inline void hear(void *bytes, size_t size)
{
	ssize_t got;

	while ((got = recv(other, bytes, size, 0)) < 0 && errno == EINTR)
		;
	CHECK(got == (ssize_t)size);
}

static inline void tell_ready(void)
{
	tell("", 1);
}

static inline void hear_ready(void)
{
	char byte;

	hear(&byte, 1);
}

/* By the importer, after it has heard what the exporter tells: lets the exporter go. */
static inline void skip(void)
{
	tell_ready();
	exit(SKIPPED);
}

/* The thread captures in the mode that it had in the beginning. */
static inline void same_mode(void)
{
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

	CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == cudaStreamCaptureModeGlobal);
	CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
}

static inline unsigned char pattern(size_t at, unsigned seed)
{
	return (unsigned char)((at * 2654435761u >> 11) + seed * 37u);
}

/* A copy from pageable memory may return before it has arrived. */
static inline void fill(void *device, size_t size, unsigned seed)
{
	unsigned char *host = malloc(size);

	for (size_t i = 0; i < size; i++)
		host[i] = pattern(i, seed);
	CUDA(cudaMemcpy(device, host, size, cudaMemcpyHostToDevice));
	CUDA(cudaDeviceSynchronize());
	free(host);
}

static inline bool holds(const void *device, size_t size, unsigned seed)
{
	unsigned char *host = malloc(size);
	size_t i = 0;

	CUDA(cudaMemcpy(host, device, size, cudaMemcpyDeviceToHost));
	while (i < size && host[i] == pattern(i, seed))
		i++;
	free(host);
	return i == size;
}

static inline void *device_alloc(size_t size, unsigned seed)
{
	void *device;

	CUDA(cudaMalloc(&device, size));
	fill(device, size, seed);
	return device;
}

static inline cudaIpcMemHandle_t tell_handle(void *device)
{
	cudaIpcMemHandle_t handle;

	CUDA(cudaIpcGetMemHandle(&handle, device));
	tell(&handle, sizeof(handle));
	return handle;
}

static inline cudaIpcMemHandle_t hear_handle(void)
{
	cudaIpcMemHandle_t handle;

	hear(&handle, sizeof(handle));
	return handle;
}

static inline int ipc_open(void **device, cudaIpcMemHandle_t handle)
{
	return cudaIpcOpenMemHandle(device, handle, cudaIpcMemLazyEnablePeerAccess);
}

static inline int fd_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

static inline unsigned long calls_of(const char *function)
{
	sim_calls_fn *sim_calls;

	*(void **)&sim_calls = sim_find("sim_calls");
	CHECK(sim_calls != NULL);
	return sim_calls(function);
}

static inline void arm(const char *function, unsigned nth, int code)
{
	sim_fault_arm_fn *sim_fault_arm;

	*(void **)&sim_fault_arm = sim_find("sim_fault_arm");
	CHECK(sim_fault_arm != NULL);
	sim_fault_arm(function, nth, code);
}

static inline void *driver(const char *symbol)
{
	void *found = dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), symbol);

	CHECK(found != NULL);
	return found;
}

static inline double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct scenario {
	const char *name;
	void (*exporter)(void);
	void (*importer)(void);
};

/* The importer's status counts: the exporter may be killed on purpose. */
static inline int scenario_run(const struct scenario *scenario)
{
	int sockets[2], status = 0;
	pid_t importer;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return 2;
	importer = fork();
	other = sockets[importer == 0];
	close(sockets[importer != 0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	role = importer == 0 ? "importer" : "exporter";
	if (importer == 0) {
		scenario->importer();
		exit(0);
	}
	scenario->exporter();
	if (waitpid(importer, &status, 0) != importer || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

/* argv[1] names a row of the table. */
static inline int scenario_main(const struct scenario *table, size_t count, int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < count; i++)
		if (strcmp(table[i].name, argv[1]) == 0)
			return scenario_run(&table[i]);
	fprintf(stderr, "usage: %s SCENARIO\n", argv[0]);
	return 2;
}

#endif
