/* Device memory shared by two processes as programs do it: bytes, handles, counts. rt_ipc SCENARIO. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/preload/ipc_pair.h"

/* --- Blocks of all sizes between neighbours: the other process sees the bytes, and its writes come back. */

static const size_t sizes[] = {1, 512, 4097, MIB + 3, 2 * MIB, 5 * MIB + 1, 21 * MIB};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void bytes_exporter(void)
{
	void *before[SIZES], *block[SIZES], *after[SIZES];

	for (unsigned i = 0; i < SIZES; i++) {
		before[i] = device_alloc(1000, 1);
		block[i] = device_alloc(sizes[i], 10 + i);
		after[i] = device_alloc(1000, 2);
	}
	for (unsigned i = 0; i < SIZES; i++) {
		tell_handle(block[i]);
		hear_ready();
		CHECK(holds(block[i], sizes[i], 100 + i));
		CHECK(holds(before[i], 1000, 1));
		CHECK(holds(after[i], 1000, 2));
	}
}

static void bytes_importer(void)
{
	for (unsigned i = 0; i < SIZES; i++) {
		void *block;

		CUDA(ipc_open(&block, hear_handle()));
		CHECK(holds(block, sizes[i], 10 + i));
		fill(block, sizes[i], 100 + i);
		CUDA(cudaIpcCloseMemHandle(block));
		tell_ready();
	}
}

/* --- A block over more physical handles than fit in one packet. Run with large_segment_size_mb:2. */

enum { PIECES = 100 };

static void many_exporter(void)
{
	char *piece[PIECES], *block;

	for (unsigned i = 0; i < PIECES; i++)
		CUDA(cudaMalloc((void **)&piece[i], 2 * MIB));
	for (unsigned i = 0; i < PIECES; i++)
		CUDA(cudaFree(piece[i]));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMalloc((void **)&block, PIECES * 2 * MIB));
	for (unsigned i = 0; i < PIECES; i++)
		fill(block + i * 2 * MIB, 1000, i);
	tell_handle(block);
	hear_ready();
	for (unsigned i = 0; i < PIECES; i++)
		CHECK(holds(block + i * 2 * MIB + 1000, 1000, i));
}

static void many_importer(void)
{
	char *block;

	CUDA(ipc_open((void **)&block, hear_handle()));
	CHECK(calls_of("cuMemImportFromShareableHandle") > 64);
	for (unsigned i = 0; i < PIECES; i++) {
		CHECK(holds(block + i * 2 * MIB, 1000, i));
		fill(block + i * 2 * MIB + 1000, 1000, i);
	}
	tell_ready();
}

/* --- A handle names the block, whatever pointer into it; the same bytes each time, others for the next block. */

static void interior_exporter(void)
{
	char *block = device_alloc(3 * MIB, 3);
	cudaIpcMemHandle_t handle = tell_handle(block);
	cudaIpcMemHandle_t inside = tell_handle(block + 2 * MIB + 17);
	cudaIpcMemHandle_t again = tell_handle(block);
	void *mine;

	CHECK(memcmp(&handle, &inside, sizeof(handle)) == 0);
	CHECK(memcmp(&handle, &again, sizeof(handle)) == 0);
	GIVES(ipc_open(&mine, handle), cudaErrorDeviceUninitialized);
	hear_ready();
	CUDA(cudaFree(block));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMalloc((void **)&block, 3 * MIB));
	CUDA(cudaIpcGetMemHandle(&again, block));
	CHECK(memcmp(&handle, &again, sizeof(handle)) != 0);
}

static void interior_importer(void)
{
	char *first, *second, *third;

	CUDA(ipc_open((void **)&first, hear_handle()));
	CUDA(ipc_open((void **)&second, hear_handle()));
	CUDA(ipc_open((void **)&third, hear_handle()));
	CHECK(first == second && first == third);
	CHECK(holds(first, 3 * MIB, 3));
	tell_ready();
}

/* --- Opened twice: one mapping with a count; what may be asked of it. */

static void twice_exporter(void)
{
	tell_handle(device_alloc(MIB + 5, 4));
	hear_ready();
}

static void twice_importer(void)
{
	CUresult (*address_range)(CUdeviceptr *, size_t *, CUdeviceptr);
	CUresult (*attribute)(void *, CUpointer_attribute, CUdeviceptr);
	cudaIpcMemHandle_t handle = hear_handle();
	CUdeviceptr base;
	size_t size = 0;
	char *first, *second;

	CUDA(ipc_open((void **)&first, handle));
	CUDA(ipc_open((void **)&second, handle));
	CHECK(first == second);
	*(void **)&address_range = driver("cuMemGetAddressRange_v2");
	GIVES(address_range(&base, &size, (CUdeviceptr)first + 99), CUDA_SUCCESS);
	CHECK(base == (CUdeviceptr)first && size == MIB + 5);
	*(void **)&attribute = driver("cuPointerGetAttribute");
	size = 0;
	GIVES(attribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, (CUdeviceptr)first + 99), CUDA_SUCCESS);
	CHECK(size == MIB + 5);
	CUDA(cudaIpcCloseMemHandle(first));
	CHECK(holds(first, MIB + 5, 4));
	CUDA(cudaIpcCloseMemHandle(first));
	CHECK(cudaIpcCloseMemHandle(first) != cudaSuccess);
	CHECK(address_range(&base, &size, (CUdeviceptr)first) != CUDA_SUCCESS);
	GIVES(cudaIpcOpenMemHandle((void **)&first, handle, 6), cudaErrorInvalidValue);
	GIVES(ipc_open(NULL, handle), cudaErrorInvalidValue);
	tell_ready();
}

/* --- Opened in two contexts: each has a mapping of its own, which ends with it, and the thread stays in the context and in
 * the mode of capture that it had. Also by the old function. */

static CUcontext current(void)
{
	CUresult (*get)(CUcontext *);
	CUcontext context = NULL;

	*(void **)&get = driver("cuCtxGetCurrent");
	GIVES(get(&context), CUDA_SUCCESS);
	return context;
}

static void contexts_importer(void)
{
	CUresult (*open_v1)(CUdeviceptr *, cudaIpcMemHandle_t, unsigned);
	CUresult (*create)(CUcontext *, unsigned, CUdevice);
	CUresult (*exchange)(CUstreamCaptureMode *);
	CUresult (*destroy)(CUcontext);
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	cudaIpcMemHandle_t handle = hear_handle();
	CUdeviceptr one, two, three;
	CUcontext first, second;

	*(void **)&open_v1 = driver("cuIpcOpenMemHandle");
	*(void **)&create = driver("cuCtxCreate_v2");
	*(void **)&destroy = driver("cuCtxDestroy_v2");
	*(void **)&exchange = driver("cuThreadExchangeStreamCaptureMode");
	CUDA(cudaFree(NULL));
	GIVES(create(&first, 0, 0), CUDA_SUCCESS);
	GIVES(open_v1(&one, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_SUCCESS);
	GIVES(create(&second, 0, 0), CUDA_SUCCESS);
	GIVES(open_v1(&two, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_SUCCESS);
	CHECK(one != two && current() == second);
	CUDA(cudaIpcCloseMemHandle((void *)one));
	CHECK(current() == second);
	GIVES(exchange(&mode), CUDA_SUCCESS);
	CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
	GIVES(destroy(first), CUDA_SUCCESS);
	CHECK(holds((void *)two, MIB + 5, 4));
	GIVES(create(&first, 0, 0), CUDA_SUCCESS);
	GIVES(open_v1(&three, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_SUCCESS);
	CHECK(three != two);
	GIVES(destroy(first), CUDA_SUCCESS);
	CHECK(holds((void *)two, MIB + 5, 4));
	tell_ready();
}

/* --- Freed before it is opened. */

static void freed_exporter(void)
{
	void *block = device_alloc(MIB, 5), *kept = device_alloc(MIB, 6);
	cudaIpcMemHandle_t handle;

	CUDA(cudaIpcGetMemHandle(&handle, block));
	CUDA(cudaFree(block));
	tell(&handle, sizeof(handle));
	tell_handle(kept);
	hear_ready();
}

static void freed_importer(void)
{
	void *block;

	GIVES(ipc_open(&block, hear_handle()), cudaErrorInvalidResourceHandle);
	CUDA(ipc_open(&block, hear_handle()));
	CHECK(holds(block, MIB, 6));
	tell_ready();
}

/* --- Freed by the exporter while it is open: the importer's bytes stay, whatever the exporter allocates then (H13). */

enum { LATER = 16 };

static void kept_exporter(void)
{
	static const size_t kept_sizes[] = {1000, 5 * MIB};

	for (unsigned i = 0; i < 2; i++) {
		void *neighbour = device_alloc(1000, 1), *block = device_alloc(kept_sizes[i], 2), *later[LATER];
		cudaIpcMemHandle_t handle = tell_handle(block);

		hear_ready();
		CUDA(cudaFree(block));
		GIVES(cudaFree(block), cudaErrorInvalidValue);
		GIVES(cudaIpcGetMemHandle(&handle, block), cudaErrorInvalidValue);
		for (unsigned k = 0; k < LATER; k++)
			later[k] = device_alloc(kept_sizes[i], 3);
		CHECK(holds(neighbour, 1000, 1));
		tell_ready();
		hear_ready();
		for (unsigned k = 0; k < LATER; k++) {
			CHECK(holds(later[k], kept_sizes[i], 3));
			CUDA(cudaFree(later[k]));
		}
		CUDA(cudaFree(neighbour));
	}
}

static void kept_importer(void)
{
	static const size_t kept_sizes[] = {1000, 5 * MIB};

	for (unsigned i = 0; i < 2; i++) {
		void *block;

		CUDA(ipc_open(&block, hear_handle()));
		tell_ready();
		hear_ready();
		CHECK(holds(block, kept_sizes[i], 2));
		fill(block, kept_sizes[i], 4);
		CHECK(holds(block, kept_sizes[i], 4));
		CUDA(cudaIpcCloseMemHandle(block));
		tell_ready();
	}
}

/* --- Both directions at once, from several threads, while another one asks about what they open. */

enum { THREADS = 4, BLOCKS = 12 };

struct sharing {
	cudaIpcMemHandle_t handles[BLOCKS];
};

static void *_Atomic opened; /* by anybody, last */
static _Atomic bool both_done;

static void *both_thread(void *user)
{
	const struct sharing *theirs = user;

	for (unsigned round = 0; round < 5; round++)
		for (unsigned i = 0; i < BLOCKS; i++) {
			void *block;

			CUDA(ipc_open(&block, theirs->handles[i]));
			opened = block;
			CHECK(holds(block, 100000, i));
			CUDA(cudaIpcCloseMemHandle(block));
		}
	return NULL;
}

static void *both_look(void *unused)
{
	struct cudaPointerAttributes attributes;

	while (!both_done) {
		CUDA(cudaPointerGetAttributes(&attributes, opened));
		usleep(100);
	}
	return unused;
}

struct export {
	pthread_barrier_t *start;
	cudaIpcMemHandle_t *handle;
	void *block;
};

static void *export_thread(void *user)
{
	const struct export *export = user;

	CUDA(cudaSetDevice(0));
	pthread_barrier_wait(export->start);
	CUDA(cudaIpcGetMemHandle(export->handle, export->block));
	return NULL;
}

/* The first handles of the process, all at once. */
static void export_all(struct sharing *sharing)
{
	struct export exports[BLOCKS];
	pthread_t threads[BLOCKS];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		exports[i] = (struct export){&start, &sharing->handles[i], device_alloc(100000, i)};
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK(pthread_create(&threads[i], NULL, export_thread, &exports[i]) == 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void both_sides(void)
{
	pthread_t threads[THREADS], looker;
	struct sharing mine, theirs;

	export_all(&mine);
	tell(&mine, sizeof(mine));
	hear(&theirs, sizeof(theirs));
	CHECK(pthread_create(&looker, NULL, both_look, NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, both_thread, &theirs) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	both_done = true;
	CHECK(pthread_join(looker, NULL) == 0);
	tell_ready();
	hear_ready();
}

/* --- Many handles leave no descriptor behind. In the simulated driver a forgotten handle or mapping keeps one. */

static void leak_exporter(void)
{
	int before = 0;

	for (unsigned i = 0; i < 300; i++) {
		void *block;

		CUDA(cudaMalloc(&block, i % 7 * MIB + 1));
		tell_handle(block);
		hear_ready();
		CUDA(cudaFree(block));
		CUDA(cudaDeviceSynchronize());
		if (i == 100)
			before = fd_count();
	}
	/* The server may be closing its last connection, and simulated memory that was grown meanwhile is a descriptor. */
	CHECK(fd_count() <= before + 8);
}

static void leak_importer(void)
{
	size_t reservations = 0;
	sim_held_fn *held = NULL;
	int before = 0;

	for (unsigned i = 0; i < 300; i++) {
		void *block;

		CUDA(ipc_open(&block, hear_handle()));
		CUDA(cudaIpcCloseMemHandle(block));
		tell_ready();
		if (i == 100) {
			before = fd_count();
			*(void **)&held = sim_find("sim_held");
			CHECK(held != NULL);
			reservations = held(SIM_HELD_RESERVATIONS);
		}
	}
	CHECK(fd_count() <= before);
	CHECK(held(SIM_HELD_RESERVATIONS) <= reservations);
}

/* --- ipc:legacy, and memory that is plain for other reasons: the driver is asked. */

static void legacy_exporter(void)
{
	cudaIpcMemHandle_t handle;
	void *block = device_alloc(MIB, 1);

	CUDA(cudaIpcGetMemHandle(&handle, block));
	CHECK(calls_of("cuIpcGetMemHandle") == 1);
	CHECK(cudaIpcGetMemHandle(&handle, (void *)0x1234567) != cudaSuccess);
}

static void legacy_importer(void)
{
	cudaIpcMemHandle_t handle = {"not one of ours"};
	void *block;

	GIVES(ipc_open(&block, handle), cudaErrorInvalidValue);
	GIVES(cudaIpcCloseMemHandle((void *)0x1234567), cudaErrorInvalidValue);
}

static const struct scenario scenarios[] = {
	{"bytes", bytes_exporter, bytes_importer},
	{"many", many_exporter, many_importer},
	{"interior", interior_exporter, interior_importer},
	{"twice", twice_exporter, twice_importer},
	{"contexts", twice_exporter, contexts_importer},
	{"freed", freed_exporter, freed_importer},
	{"kept", kept_exporter, kept_importer},
	{"both", both_sides, both_sides},
	{"leak", leak_exporter, leak_importer},
	{"legacy", legacy_exporter, legacy_importer},
};

int main(int argc, char **argv)
{
	return scenario_main(scenarios, sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
