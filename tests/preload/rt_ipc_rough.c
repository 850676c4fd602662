/* Device memory shared by two processes when things go wrong: dead and stopped processes, failing calls, captures,
 * resets, strangers. rt_ipc_rough SCENARIO. */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/un.h>

#include "tests/preload/ipc_pair.h"

/* --- What most scenarios share: one block, kept until the importer is done. */

#define BLOCK_BYTES (MIB + 5)

static void block_exporter(void)
{
	tell_handle(device_alloc(BLOCK_BYTES, 4));
	hear_ready();
}

/* --- The exporter is gone; a child of it that never execs does not stand in for it, and must not make others wait. */

static void dead_process(void)
{
	pid_t child;

	tell_handle(device_alloc(BLOCK_BYTES, 5));
	hear_ready();
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		pause();
	else
		tell(&child, sizeof(child));
	_exit(0);
}

static void dead_exporter(void)
{
	pid_t process = fork();

	if (process == 0)
		dead_process();
	CHECK(waitpid(process, NULL, 0) == process);
	tell_ready();
}

static void dead_importer(void)
{
	cudaIpcMemHandle_t handle = hear_handle();
	double start;
	void *block;
	pid_t child;

	CUDA(ipc_open(&block, handle));
	tell_ready();
	hear(&child, sizeof(child));
	hear_ready();
	CHECK(holds(block, BLOCK_BYTES, 5));
	CUDA(cudaIpcCloseMemHandle(block));
	start = now_s();
	GIVES(ipc_open(&block, handle), cudaErrorInvalidResourceHandle);
	CHECK(now_s() - start < 3);
	kill(child, SIGKILL);
}

/* --- Every driver call on the way fails once: an error, nothing left behind, and the next try works. */

static void faults_exporter(void)
{
	void *block = device_alloc(5 * MIB, 9);
	cudaIpcMemHandle_t handle = tell_handle(block);

	arm("cuMemExportToShareableHandle", 1, CUDA_ERROR_INVALID_VALUE);
	CHECK(cudaIpcGetMemHandle(&handle, block) != cudaSuccess);
	tell_ready();
	hear_ready();
	arm("cuMemExportToShareableHandle", 1, CUDA_ERROR_INVALID_VALUE);
	tell_ready();
	hear_ready();
}

static void faults_importer(void)
{
	static const char *const functions[] = {"cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap",
						"cuMemSetAccess"};
	cudaIpcMemHandle_t handle = hear_handle();
	void *block;
	int before;

	hear_ready();
	CUDA(ipc_open(&block, handle));
	CHECK(holds(block, 5 * MIB, 9)); /* once: the first stack of a wait opens what it is read with */
	CUDA(cudaIpcCloseMemHandle(block));
	before = fd_count();
	for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		arm(functions[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
		GIVES(ipc_open(&block, handle), cudaErrorMemoryAllocation);
		arm(functions[i], 1, CUDA_ERROR_UNKNOWN);
		GIVES(ipc_open(&block, handle), cudaErrorMapBufferObjectFailed);
		CHECK(fd_count() == before);
		CUDA(ipc_open(&block, handle));
		CHECK(holds(block, 5 * MIB, 9));
		CUDA(cudaIpcCloseMemHandle(block));
	}
	tell_ready();
	hear_ready();
	GIVES(ipc_open(&block, handle), cudaErrorMapBufferObjectFailed);
	CHECK(fd_count() == before);
	CUDA(ipc_open(&block, handle));
	tell_ready();
}

/* --- The exporter is stopped: the importer gives up in time, also while signals keep coming. */

static void on_alarm(int signal)
{
	(void)signal;
}

static void stuck_importer(void)
{
	struct itimerval often = {.it_interval.tv_usec = 10000, .it_value.tv_usec = 10000}, never = {0};
	cudaIpcMemHandle_t handle = hear_handle();
	double start = now_s();
	void *block;

	kill(getppid(), SIGSTOP);
	usleep(100000);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	GIVES(ipc_open(&block, handle), cudaErrorMapBufferObjectFailed);
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(now_s() - start < 15);
	kill(getppid(), SIGCONT);
	tell_ready();
}

/* --- Work that reads the memory is still queued when it is closed. */

static void pending_exporter(void)
{
	tell_handle(device_alloc(4 * MIB, 11));
	hear_ready();
}

static void pending_importer(void)
{
	cudaStream_t stream;
	void *block, *copy;

	CUDA(ipc_open(&block, hear_handle()));
	CUDA(cudaMalloc(&copy, 4 * MIB));
	CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CUDA(cudaMemcpyAsync(copy, block, 4 * MIB, cudaMemcpyDeviceToDevice, stream));
	CUDA(cudaIpcCloseMemHandle(block));
	same_mode();
	CUDA(cudaStreamSynchronize(stream));
	CHECK(holds(copy, 4 * MIB, 11));
	tell_ready();
}

/* --- Opened and closed while another stream is captured: the capture survives, nothing is unmapped before its end, and
 * the next close after it does that. */

static void capture_exporter(void)
{
	tell_handle(device_alloc(MIB, 12));
	tell_handle(device_alloc(MIB, 13));
	hear_ready();
}

static bool is_device(const void *address)
{
	struct cudaPointerAttributes attributes;

	CUDA(cudaPointerGetAttributes(&attributes, address));
	return attributes.type == cudaMemoryTypeDevice;
}

static void capture_importer(void)
{
	cudaIpcMemHandle_t one = hear_handle(), two = hear_handle();
	cudaStream_t stream;
	cudaGraph_t graph;
	void *first, *second;

	CUDA(ipc_open(&second, two));
	CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaErrorNotSupported)
		skip();
	CUDA(ipc_open(&first, one));
	CUDA(cudaIpcCloseMemHandle(first));
	CUDA(cudaStreamEndCapture(stream, &graph));
	CUDA(cudaGraphDestroy(graph));
	CHECK(holds(first, MIB, 12));
	CUDA(cudaIpcCloseMemHandle(second));
	CHECK(!is_device(first) && !is_device(second));
	tell_ready();
}

/* --- The importer's device is reset. */

static void reset_importer(void)
{
	cudaIpcMemHandle_t handle = hear_handle();
	void *block;
	int before;

	CUDA(ipc_open(&block, handle));
	CUDA(cudaIpcCloseMemHandle(block));
	before = fd_count();
	CUDA(ipc_open(&block, handle));
	same_mode();
	CUDA(cudaDeviceReset());
	same_mode();
	CHECK(fd_count() <= before);
	CUDA(ipc_open(&block, handle));
	CHECK(holds(block, BLOCK_BYTES, 4));
	tell_ready();
}

/* --- Strangers on the exporter's socket, and handles that somebody tampered with. */

static int stranger(const cudaIpcMemHandle_t *handle)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	unsigned long long nonce;
	unsigned pid;
	int length, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(&nonce, (const char *)handle + 8, sizeof(nonce));
	memcpy(&pid, (const char *)handle + 48, sizeof(pid));
	length = sprintf(address.sun_path + 1, "gpushim.%u.%llx", pid, nonce);
	CHECK(connect(fd, (struct sockaddr *)&address, (socklen_t)(sizeof(address.sun_family) + 1 + (size_t)length)) ==
	      0);
	return fd;
}

static void hostile_importer(void)
{
	cudaIpcMemHandle_t handle = hear_handle(), forged;
	void *block;
	int silent = stranger(&handle), rude = stranger(&handle), gone = stranger(&handle);

	CHECK(send(rude, "who is there?", 13, 0) == 13);
	close(gone);
	for (size_t at = 8; at < 56; at += 8) {
		forged = handle;
		((char *)&forged)[at] ^= 1;
		CHECK(ipc_open(&block, forged) != cudaSuccess);
	}
	CUDA(ipc_open(&block, handle));
	CHECK(holds(block, BLOCK_BYTES, 4));
	close(silent);
	close(rude);
	tell_ready();
}

/* --- Another user must not get in. */

static void user_importer(void)
{
	cudaIpcMemHandle_t handle = hear_handle();
	void *block;

	if (geteuid() != 0 || setuid(65534) != 0)
		skip();
	CHECK(ipc_open(&block, handle) != cudaSuccess);
	tell_ready();
}

/* --- Another network namespace: an error, and one line that says what to do. */

static void namespace_importer(void)
{
	cudaIpcMemHandle_t handle = hear_handle();
	void *block;

	if (unshare(CLONE_NEWNET) != 0)
		skip();
	GIVES(ipc_open(&block, handle), cudaErrorInvalidResourceHandle);
	tell_ready();
}

/* --- Neither process may look into the other: no ptrace rights, as in an unprivileged container. */

static void undumpable_exporter(void)
{
	void *block;

	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
	block = device_alloc(3 * MIB, 8);
	tell_handle(block);
	hear_ready();
	CHECK(holds(block, 3 * MIB, 9));
}

static void undumpable_importer(void)
{
	cudaIpcMemHandle_t handle;
	void *block;

	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
	handle = hear_handle();
	CUDA(ipc_open(&block, handle));
	CHECK(holds(block, 3 * MIB, 8));
	fill(block, 3 * MIB, 9);
	CUDA(cudaIpcCloseMemHandle(block));
	tell_ready();
}

static const struct scenario scenarios[] = {
	{"dead", dead_exporter, dead_importer},
	{"faults", faults_exporter, faults_importer},
	{"stuck", block_exporter, stuck_importer},
	{"pending", pending_exporter, pending_importer},
	{"capture", capture_exporter, capture_importer},
	{"reset", block_exporter, reset_importer},
	{"hostile", block_exporter, hostile_importer},
	{"user", block_exporter, user_importer},
	{"undumpable", undumpable_exporter, undumpable_importer},
	{"namespace", block_exporter, namespace_importer},
};

int main(int argc, char **argv)
{
	return scenario_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
