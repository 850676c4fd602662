/* Virtual memory management: see sim_vmm.h. None of these calls needs a current context, and none waits for the
 * device: an operation that still uses what was unmapped fails when it runs. */
#include "tests/sim/cuda/sim_vmm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_pages.h"

struct reservation {
	uintptr_t start;
	size_t size_bytes;
	struct reservation *next;
};

static struct reservation *reservations;
static uint64_t next_id = 1;

static struct reservation *reservation_find(uintptr_t address)
{
	struct reservation *at = reservations;

	while (at && address - at->start >= at->size_bytes)
		at = at->next;
	return at;
}

bool sim_vmm_reserved(uintptr_t address)
{
	return reservation_find(address) != NULL;
}

size_t sim_vmm_reservation_count(void)
{
	size_t count = 0;

	for (const struct reservation *at = reservations; at; at = at->next)
		count++;
	return count;
}

static bool aligned(size_t value)
{
	return value % SIM_GRANULARITY_BYTES == 0;
}

CUresult cuMemAddressReserve(CUdeviceptr *ret_pointer, size_t size_bytes, size_t alignment_bytes, CUdeviceptr hint,
			     unsigned long long flags)
{
	size_t alignment = alignment_bytes > SIM_GRANULARITY_BYTES ? alignment_bytes : SIM_GRANULARITY_BYTES;
	struct reservation *made;
	uintptr_t start, wanted;

	SIM_ENTER(cuMemAddressReserve);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ready());
	if (!ret_pointer || flags || size_bytes == 0 || size_bytes % SIM_PAGE_BYTES || (alignment & (alignment - 1)) ||
	    hint % SIM_PAGE_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	if (size_bytes + alignment < size_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	wanted = (uintptr_t)mmap((void *)(uintptr_t)hint, size_bytes + alignment, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	made = malloc(sizeof(*made));
	if ((void *)wanted == MAP_FAILED || !made) {
		free(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	start = (wanted + alignment - 1) & ~(uintptr_t)(alignment - 1);
	if (start > wanted)
		munmap((void *)wanted, start - wanted);
	munmap((void *)(start + size_bytes), wanted + alignment - start);
	*made = (struct reservation){start, size_bytes, reservations};
	reservations = made;
	*ret_pointer = start;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size_bytes)
{
	struct reservation **link = &reservations;
	struct reservation *found;
	const struct sim_range *above;

	SIM_ENTER(cuMemAddressFree);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ready());
	found = reservation_find(pointer);
	above = sim_range_above(pointer);
	if (!found || found->start != pointer || found->size_bytes != size_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (above && above->start < pointer + size_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	while (*link != found)
		link = &(*link)->next;
	*link = found->next;
	munmap((void *)(uintptr_t)pointer, size_bytes);
	free(found);
	return CUDA_SUCCESS;
}

static CUresult prop_check(const CUmemAllocationProp *prop, struct sim_device **ret_device)
{
	SIM_TRY(sim_ready());
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	return sim_device_get(prop->location.id, ret_device);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	struct sim_device *device;

	SIM_ENTER(cuMemGetAllocationGranularity);
	SIM_TRY(prop_check(prop, &device));
	if (!granularity || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = SIM_GRANULARITY_BYTES;
	return CUDA_SUCCESS;
}

static CUresult physical_new(struct sim_device *device, size_t size_bytes, const CUmemAllocationProp *prop, int fd,
			     CUmemGenericAllocationHandle *ret_handle)
{
	struct sim_physical *physical = calloc(1, sizeof(*physical));

	if (!physical)
		abort();
	physical->device = device;
	physical->size_bytes = size_bytes;
	physical->prop = *prop;
	physical->id = next_id++;
	physical->fd = fd;
	physical->handle_refs = 1;
	sim_handle_add(physical, SIM_KIND_PHYSICAL);
	*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t size_bytes, const CUmemAllocationProp *prop,
		     unsigned long long flags)
{
	struct sim_device *device;
	int fd;

	SIM_ENTER(cuMemCreate);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(prop_check(prop, &device));
	if (!ret_handle || flags || size_bytes == 0 || !aligned(size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_device_charge(device, size_bytes));
	fd = sim_pages_file(size_bytes);
	if (fd < 0) {
		sim_device_discharge(device, size_bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return physical_new(device, size_bytes, prop, fd, ret_handle);
}

static CUresult physical_find(CUmemGenericAllocationHandle handle, struct sim_physical **ret_physical)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is((void *)(uintptr_t)handle, SIM_KIND_PHYSICAL))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_physical = (struct sim_physical *)(uintptr_t)handle;
	return CUDA_SUCCESS;
}

static void physical_settle(struct sim_physical *physical)
{
	if (physical->handle_refs == 0)
		sim_handle_remove(physical);
	if (physical->handle_refs || physical->mappings)
		return;
	if (!physical->imported)
		sim_device_discharge(physical->device, physical->size_bytes);
	close(physical->fd);
	free(physical);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct sim_physical *physical;

	SIM_ENTER(cuMemRelease);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(physical_find(handle, &physical));
	physical->handle_refs--;
	physical_settle(physical);
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr pointer, size_t size_bytes, size_t offset_bytes, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	struct sim_physical *physical;
	const struct reservation *inside;
	const struct sim_range *above;

	SIM_ENTER(cuMemMap);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(physical_find(handle, &physical));
	inside = reservation_find(pointer);
	above = sim_range_above(pointer);
	if (flags || offset_bytes || size_bytes == 0 || !aligned(pointer) || !aligned(size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!inside || pointer + size_bytes > inside->start + inside->size_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (size_bytes > physical->size_bytes)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (above && above->start < pointer + size_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (mmap((void *)(uintptr_t)pointer, size_bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->fd, 0) ==
	    MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	physical->mappings++;
	sim_range_add((struct sim_range){.start = pointer,
					 .size_bytes = size_bytes,
					 .kind = SIM_RANGE_VMM,
					 .device = physical->device,
					 .memory = physical});
	return CUDA_SUCCESS;
}

/* True when [pointer, pointer + size) is exactly a row of adjacent mappings. */
static bool mapped_exactly(uintptr_t pointer, size_t size_bytes)
{
	uintptr_t end = pointer + size_bytes;
	const struct sim_range *range = sim_range_find(pointer);

	while (range && range->kind == SIM_RANGE_VMM && range->start == pointer) {
		pointer += range->size_bytes;
		if (pointer >= end)
			return pointer == end;
		range = sim_range_find(pointer);
	}
	return false;
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t size_bytes)
{
	uintptr_t end = pointer + size_bytes;

	SIM_ENTER(cuMemUnmap);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ready());
	if (!mapped_exactly(pointer, size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	while (pointer < end) {
		struct sim_range *range = sim_range_find(pointer);
		struct sim_physical *physical = range->memory;

		pointer += range->size_bytes;
		sim_range_remove(range);
		physical->mappings--;
		physical_settle(physical);
	}
	mmap((void *)(uintptr_t)(end - size_bytes), size_bytes, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	return CUDA_SUCCESS;
}

/* Host pages allow what any device is allowed: kernels here are host code. */
static int range_protection(const struct sim_range *range)
{
	int protection = PROT_NONE;

	for (int i = 0; i < SIM_DEVICES_MAX; i++) {
		if (range->access[i] & CU_MEM_ACCESS_FLAGS_PROT_READ)
			protection |= PROT_READ;
		if (range->access[i] == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			protection |= PROT_WRITE;
	}
	return protection;
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size_bytes, const CUmemAccessDesc *descriptors, size_t count)
{
	uintptr_t end = pointer + size_bytes;
	struct sim_device *device;

	SIM_ENTER(cuMemSetAccess);
	SIM_TRY(sim_capture_unsafe());
	SIM_TRY(sim_ready());
	if (!descriptors || count == 0 || !mapped_exactly(pointer, size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		CUmemAccess_flags flags = descriptors[i].flags;

		if (descriptors[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			return CUDA_ERROR_NOT_SUPPORTED;
		SIM_TRY(sim_device_get(descriptors[i].location.id, &device));
		if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		    flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
	}
	while (pointer < end) {
		struct sim_range *range = sim_range_find(pointer);

		for (size_t i = 0; i < count; i++)
			range->access[descriptors[i].location.id] = (uint8_t)descriptors[i].flags;
		mprotect((void *)range->start, range->size_bytes, range_protection(range));
		pointer += range->size_bytes;
	}
	return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr pointer)
{
	const struct sim_range *range;
	struct sim_device *device;

	SIM_ENTER(cuMemGetAccess);
	SIM_TRY(sim_ready());
	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	SIM_TRY(sim_device_get(location->id, &device));
	range = sim_range_find(pointer);
	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = range->kind == SIM_RANGE_VMM ? range->access[location->id] : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *ret_fd, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
				      unsigned long long flags)
{
	struct sim_physical *physical;
	int fd;

	SIM_ENTER(cuMemExportToShareableHandle);
	SIM_TRY(physical_find(handle, &physical));
	if (!ret_fd || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !(physical->prop.requestedHandleTypes & (unsigned)type))
		return CUDA_ERROR_INVALID_VALUE;
	fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)ret_fd = fd;
	return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret_handle, void *os_handle,
					CUmemAllocationHandleType type)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	struct sim_device *device;
	struct stat file;
	int fd;

	SIM_ENTER(cuMemImportFromShareableHandle);
	SIM_TRY(sim_device_get(0, &device));
	if (!ret_handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	if (fstat((int)(intptr_t)os_handle, &file) != 0 || !S_ISREG(file.st_mode) || !aligned((size_t)file.st_size))
		return CUDA_ERROR_INVALID_VALUE;
	fd = fcntl((int)(intptr_t)os_handle, F_DUPFD_CLOEXEC, SIM_PAGES_FD_FIRST);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	SIM_TRY(physical_new(device, (size_t)file.st_size, &prop, fd, ret_handle));
	((struct sim_physical *)(uintptr_t)*ret_handle)->imported = true;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	struct sim_physical *physical;

	SIM_ENTER(cuMemGetAllocationPropertiesFromHandle);
	SIM_TRY(physical_find(handle, &physical));
	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	*prop = physical->prop;
	return CUDA_SUCCESS;
}

/* A handle that was released while mapped comes back to life. */
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address)
{
	struct sim_range *range;

	SIM_ENTER(cuMemRetainAllocationHandle);
	SIM_TRY(sim_ready());
	range = sim_range_find((uintptr_t)address);
	if (!ret_handle || !range || range->kind != SIM_RANGE_VMM)
		return CUDA_ERROR_INVALID_VALUE;
	if (range->memory->handle_refs++ == 0)
		sim_handle_add(range->memory, SIM_KIND_PHYSICAL);
	*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)range->memory;
	return CUDA_SUCCESS;
}
