/* The C API of libgpushim.so, for programs that want more than LD_PRELOAD gives.
 *
 * Do not link to the library: look the functions up at run time, so that the program also runs without it.
 *
 *     int (*snapshot)(char *, size_t) = dlsym(RTLD_DEFAULT, "gpushim_snapshot");
 *     if (snapshot) snapshot(NULL, 0);
 *
 * All functions may be called from any thread at any time; none makes the process start CUDA. They return 0, or a
 * negative number: -4 for an argument that makes no sense, -5 when there is nothing to tell (no CUDA call yet, a device
 * that was never used), -8 when a file could not be written. */
#ifndef GPUSHIM_H
#define GPUSHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0". Static text. */
const char *gpushim_version(void);

/* What the allocator of one device holds, in bytes; peaks since the start or the last gpushim_reset_peak. */
struct gpushim_stats {
	uint64_t allocated_bytes;      /* live, as asked for */
	uint64_t allocated_peak_bytes;
	uint64_t reserved_bytes;       /* physical memory held */
	uint64_t reserved_peak_bytes;
	uint64_t pending_bytes;        /* freed, not yet usable by everybody */
	uint64_t idle_bytes;           /* free */
	uint64_t allocations;          /* ever served */
	uint64_t frees;
	uint64_t hits;                 /* served without a driver call */
	uint64_t grows;                /* times physical memory was added */
};

/* device: CUDA ordinal. size_bytes: sizeof(struct gpushim_stats) as the caller knows it; what is beyond is not
 * written. */
int gpushim_stats(int device, struct gpushim_stats *stats, size_t size_bytes);
int gpushim_reset_peak(int device);

/* Gives free memory back to the driver until at most keep_bytes of it are held. Returns the bytes given back, 0 for an
 * unknown device. Does not wait for the device. With keep_bytes 0 pinned host memory that is kept is given back too, and
 * not counted. */
uint64_t gpushim_trim(int device, uint64_t keep_bytes);

/* Writes a snapshot to the snapshot folder. path, if not NULL, gets its absolute path, zero-terminated and cut to
 * path_bytes. Holds no lock of the allocator while writing. */
int gpushim_snapshot(char *path, size_t path_bytes);

/* A step of the program ends here, and the next one begins: a round of its training, of its decoding. Steps are found without
 * it, but what the program says counts. To be called by one thread, once in each round; the first call begins the first step. */
int gpushim_step(void);

/* Memory in the order of a stream, for PyTorch:
 *
 *     allocator = torch.cuda.memory.CUDAPluggableAllocator("libgpushim.so", "gpushim_torch_malloc", "gpushim_torch_free")
 *
 * stream is a CUstream or cudaStream_t. As cudaMallocAsync and cudaFreeAsync, so on a stream that captures it is memory of
 * the graph. The device's primary context must exist; it need not be current. NULL: no memory, or a bad argument. */
void *gpushim_torch_malloc(ptrdiff_t size_bytes, int device, void *stream);
void gpushim_torch_free(void *memory, ptrdiff_t size_bytes, int device, void *stream);

#ifdef __cplusplus
}
#endif

#endif
