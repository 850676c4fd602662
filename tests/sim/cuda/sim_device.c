/* Devices: see sim_device.h. The attributes are those of a data-centre GPU of compute capability 9.0. */
#include "tests/sim/cuda/sim_device.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/cuda/sim_share.h"

static struct sim_device devices[SIM_DEVICES_MAX];
static bool initialised;
CUresult sim_ready(void)
{
	return initialised && !sim_forked() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult sim_device_get(CUdevice ordinal, struct sim_device **ret_device)
{
	SIM_TRY(sim_ready());
	if (ordinal < 0 || ordinal >= sim_conf()->devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_device = &devices[ordinal];
	return CUDA_SUCCESS;
}

uint64_t sim_device_free_bytes(const struct sim_device *device)
{
	uint64_t taken_bytes = device->used_bytes + sim_share_others(device->ordinal);

	return taken_bytes < device->capacity_bytes ? device->capacity_bytes - taken_bytes : 0;
}

CUresult sim_device_charge(struct sim_device *device, uint64_t size_bytes)
{
	if (size_bytes > sim_device_free_bytes(device))
		return CUDA_ERROR_OUT_OF_MEMORY;
	device->used_bytes += size_bytes;
	sim_share_set(device->ordinal, device->used_bytes);
	return CUDA_SUCCESS;
}

void sim_device_discharge(struct sim_device *device, uint64_t size_bytes)
{
	device->used_bytes -= size_bytes;
	sim_share_set(device->ordinal, device->used_bytes);
}

CUresult cuInit(unsigned flags)
{
	SIM_ENTER(cuInit);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_forked())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (sim_conf()->devices == 0)
		return CUDA_ERROR_NO_DEVICE;
	if (!initialised) {
		for (int i = 0; i < sim_conf()->devices; i++)
			devices[i] = (struct sim_device){.ordinal = i, .capacity_bytes = sim_conf()->memory_bytes};
		initialised = true;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	SIM_ENTER(cuDeviceGetCount);
	SIM_TRY(sim_ready());
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = sim_conf()->devices;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	struct sim_device *found;

	SIM_ENTER(cuDeviceGet);
	SIM_TRY(sim_device_get(ordinal, &found));
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice ordinal)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceGetName);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!name || length < 1)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)length, "Simulated GPU");
	return CUDA_SUCCESS;
}

static CUresult device_uuid(CUuuid *uuid, CUdevice ordinal)
{
	struct sim_device *device;
	uint32_t machine;

	SIM_TRY(sim_device_get(ordinal, &device));
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(uuid->bytes, "gpushim-sim", 11);
	machine = sim_share_machine();
	memcpy(uuid->bytes + 11, &machine, sizeof(machine));
	uuid->bytes[15] = (char)ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice ordinal)
{
	SIM_ENTER(cuDeviceGetUuid);
	return device_uuid(uuid, ordinal);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice ordinal)
{
	SIM_ENTER(cuDeviceGetUuid_v2);
	return device_uuid(uuid, ordinal);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceTotalMem_v2);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = device->capacity_bytes;
	return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice ordinal)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceComputeCapability);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = 9;
	*minor = 0;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice ordinal)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceGetPCIBusId);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!id || length < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, (size_t)length, "0000:%02X:00.0", (unsigned)ordinal + 1);
	return CUDA_SUCCESS;
}

/* What is not listed is 0. */
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
    [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 2147483647,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
    [CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 65536,
    [CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
    [CU_DEVICE_ATTRIBUTE_MAX_PITCH] = 2147483647,
    [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
    [CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1000000,
    [CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
    [CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
    [CU_DEVICE_ATTRIBUTE_GPU_OVERLAP] = 1,
    [CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 4,
    [CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
    [CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS] = 1,
    [CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 1000000,
    [CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 4096,
    [CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 4 << 20,
    [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048,
    [CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 3,
    [CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
    [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9,
    [CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 233472,
    [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536,
    [CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
    [CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 1,
    [CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448,
    [CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 32,
    [CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1024,
    [CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    [CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS] = 1,
    [CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = 1,
};

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceGetAttribute);
	SIM_TRY(sim_device_get(ordinal, &device));
	if (!value || attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? ordinal + 1 : attributes[attribute];
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *ordinal, const char *id)
{
	unsigned domain, bus, slot;

	SIM_ENTER(cuDeviceGetByPCIBusId);
	SIM_TRY(sim_ready());
	if (!ordinal || !id || sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3)
		return CUDA_ERROR_INVALID_VALUE;
	if (domain || slot || bus < 1 || bus > (unsigned)sim_conf()->devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*ordinal = (CUdevice)bus - 1;
	return CUDA_SUCCESS;
}

bool sim_device_reaches(CUdevice ordinal, CUdevice peer)
{
	return ordinal != peer && (sim_conf()->all_peers || ordinal / 2 == peer / 2);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice ordinal, CUdevice peer)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceCanAccessPeer);
	SIM_TRY(sim_device_get(ordinal, &device));
	SIM_TRY(sim_device_get(peer, &device));
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	*can = sim_device_reaches(ordinal, peer);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice ordinal, CUdevice peer)
{
	struct sim_device *device;

	SIM_ENTER(cuDeviceGetP2PAttribute);
	SIM_TRY(sim_device_get(ordinal, &device));
	SIM_TRY(sim_device_get(peer, &device));
	if (!value || ordinal == peer)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
	return CUDA_SUCCESS;
}
