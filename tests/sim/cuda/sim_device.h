/* The simulated devices: identity, capacity, primary context, memory pools. */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include "tests/sim/cuda/sim_call.h"
#include "tests/sim/cuda/sim_conf.h"

struct sim_ctx;
struct sim_pool;

struct sim_device {
	int ordinal;
	uint64_t capacity_bytes;
	uint64_t used_bytes; /* <= capacity_bytes; every physical byte that some allocation, handle or pool holds */
	struct sim_ctx *primary;
	unsigned primary_refs;	       /* retains not yet released; the primary context is active while > 0 */
	unsigned primary_flags;	       /* for the next activation */
	struct sim_pool *default_pool; /* made at first use */
	struct sim_pool *current_pool; /* what cuMemAllocAsync uses; NULL = default_pool */
};

/* CUDA_ERROR_NOT_INITIALIZED before cuInit, and for good in the child of a fork. */
CUresult sim_ready(void);

/* sim_ready, then CUDA_ERROR_INVALID_DEVICE for an ordinal out of range. */
CUresult sim_device_get(CUdevice ordinal, struct sim_device **ret_device);

/* The one can access the memory of the other, and is another. */
bool sim_device_reaches(CUdevice ordinal, CUdevice peer);

/* Not held by this process, nor by others that share the device (SIM_SHARED). */
uint64_t sim_device_free_bytes(const struct sim_device *device);

/* Takes or gives back physical bytes. CUDA_ERROR_OUT_OF_MEMORY when they are not there. */
CUresult sim_device_charge(struct sim_device *device, uint64_t size_bytes);
void sim_device_discharge(struct sim_device *device, uint64_t size_bytes);

#endif
