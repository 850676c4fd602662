/* Buffers: see buffer.h. */
#include "tests/soak/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/preload/shadow.h"
#include "tests/soak/context.h"
#include "tests/soak/draw.h"
#include "tests/soak/say.h"

cudaError_t cudaMallocAsync_ptsz(void **memory, size_t size_bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync_ptsz(void *memory, cudaStream_t stream);

const struct buffer_kind_info buffer_kinds[BUFFER_KIND_COUNT] = {
#define X(name, weight, device, ordered, host) {#name, weight, device, ordered, host},
    BUFFER_KINDS(X)
#undef X
};

struct buffer buffers[BUFFERS];

static unsigned kind_weights[BUFFER_KIND_COUNT];
static unsigned size_taste;
static bool relaxed; /* cudaFree is not trusted to wait (free_sync:never) */
static cudaMemPool_t pools[DEVICES_MAX];
static bool pool_is_current[DEVICES_MAX]; /* the own one */

void buffers_start(void)
{
	unsigned total = 0;

	relaxed = getenv("PROGRAM_RELAXED") != NULL;
	for (unsigned i = 0; i < BUFFER_KIND_COUNT; i++) {
		kind_weights[i] = draw(3) == 0 ? 0 : buffer_kinds[i].weight * (1 + draw(3));
		total += kind_weights[i];
	}
	if (total == 0)
		kind_weights[BUFFER_cudaMalloc] = 1;
	size_taste = draw(5);
}

enum buffer_kind buffer_draw_kind(void)
{
	unsigned total = 0, kind = 0, at;

	for (unsigned i = 0; i < BUFFER_KIND_COUNT; i++)
		total += kind_weights[i];
	for (at = draw(total); at >= kind_weights[kind]; kind++)
		at -= kind_weights[kind];
	return (enum buffer_kind)kind;
}

uint64_t buffer_draw_count(void)
{
	/* From words to megabytes; few programs like them large. */
	static const uint32_t most[5][4] = {{64, 700, 3000, 20000},
					    {300, 300, 300, 300},
					    {2000, 20000, 20000, 270000},
					    {130, 130000, 270000, 600000},
					    {4096, 8192, 65536, 1 << 20}};
	uint32_t limit = most[size_taste][draw(4)];

	/* Powers of two, and one word beside them, are where sizes are rounded. */
	return size_taste == 4 ? (uint64_t)limit - draw(2) + draw(2) : 1 + draw(limit);
}

int buffer_number(const struct buffer *buffer)
{
	return buffer >= buffers && buffer < buffers + BUFFERS ? (int)(buffer - buffers) : -1;
}

/* --- Picking */

bool buffer_reachable(const struct buffer *buffer, int context)
{
	return buffer_kinds[buffer->kind].host || (buffer->context == context && contexts[context].alive);
}

struct buffer *buffer_pick(int context)
{
	struct buffer *found[BUFFERS];
	unsigned count = 0;

	for (unsigned i = 0; i < BUFFERS; i++)
		if (buffers[i].live && buffer_reachable(&buffers[i], context))
			found[count++] = &buffers[i];
	return count != 0 ? found[draw(count)] : NULL;
}

struct buffer *buffer_pick_host(void)
{
	struct buffer *found[BUFFERS];
	unsigned count = 0;

	for (unsigned i = 0; i < BUFFERS; i++)
		if (buffers[i].live && buffer_kinds[buffers[i].kind].host)
			found[count++] = &buffers[i];
	return count != 0 ? found[draw(count)] : NULL;
}

struct buffer *buffer_empty(void)
{
	unsigned i = 0;

	while (i < BUFFERS && buffers[i].live)
		i++;
	return i < BUFFERS ? &buffers[i] : NULL;
}

/* --- Using */

static void write_note(struct buffer *buffer, int stream, uint32_t number, bool copies)
{
	buffer->copied = copies && (buffer->copied || clock_covers(&host, &buffer->written));
	buffer->written.at[stream] = buffer->touched.at[stream] = number;
}

static void use(int stream, struct buffer *dst, struct buffer *src, bool copies)
{
	uint32_t number;

	if (dst != NULL)
		stream_order(stream, &dst->touched);
	if (src != NULL)
		stream_order(stream, &src->written);
	number = stream_submit(stream);
	context_enter(streams[stream].context); /* ordering may have been done in others */
	if (src != NULL)
		src->touched.at[stream] = number;
	if (dst != NULL)
		write_note(dst, stream, number, copies);
}

void buffer_use_all(int stream, const struct buffer_access *accesses, unsigned count)
{
	uint32_t number;

	for (unsigned i = 0; i < count; i++) {
		if (accesses[i].dst != NULL)
			stream_order(stream, &accesses[i].dst->touched);
		if (accesses[i].src != NULL)
			stream_order(stream, &accesses[i].src->written);
	}
	number = stream_submit(stream);
	context_enter(streams[stream].context); /* ordering may have been done in others */
	for (unsigned i = 0; i < count; i++) {
		if (accesses[i].src != NULL)
			accesses[i].src->touched.at[stream] = number;
		if (accesses[i].dst != NULL)
			write_note(accesses[i].dst, stream, number, false);
	}
}

void buffer_use(int stream, struct buffer *dst, struct buffer *src)
{
	use(stream, dst, src, false);
}

void buffer_use_copy(int stream, struct buffer *dst, struct buffer *src)
{
	use(stream, dst, src, true);
}

void buffer_host_read(struct buffer *buffer)
{
	if (!relaxed && buffer->copied && clock_covers(&host_copies, &buffer->written))
		return;
	host_await(&buffer->written);
}

void buffer_host_write(struct buffer *buffer)
{
	host_await(&buffer->touched);
	buffer->copied = false;
}

/* --- Making */

cudaMemPool_t pool_own(int device)
{
	struct cudaMemPoolProps properties = {
	    .allocType = cudaMemAllocationTypePinned,
	    .location = {.type = cudaMemLocationTypeDevice, .id = device},
	};

	if (pools[device] == NULL)
		NEED_OK(cudaMemPoolCreate(&pools[device], &properties));
	return pools[device];
}

bool pool_in_use(int device)
{
	for (unsigned i = 0; i < BUFFERS; i++)
		if (buffers[i].live && buffers[i].pool == device)
			return true;
	return false;
}

void pool_set_current(int device, bool own)
{
	cudaMemPool_t pool;

	NEED_OK(cudaDeviceGetDefaultMemPool(&pool, device));
	NEED_OK(cudaDeviceSetMemPool(device, own ? pool_own(device) : pool));
	pool_is_current[device] = own;
}

/* The device goes back to its default pool. */
void pool_drop(int device)
{
	pool_is_current[device] = false;
	if (pools[device] != NULL)
		NEED_OK(cudaMemPoolDestroy(pools[device]));
	pools[device] = NULL;
}

static int map_own(struct buffer *buffer, int device)
{
	CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
	CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	size_t unit = 0, whole;
	CUdeviceptr address;
	int error;

	NEED_OK(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	whole = (buffer->size_bytes + unit - 1) / unit * unit;
	error = (int)cuMemCreate(&buffer->handle, whole, &properties, 0);
	if (error != 0)
		return error;
	NEED_OK(cuMemAddressReserve(&address, whole, 0, 0, 0));
	NEED_OK(cuMemMap(address, whole, 0, buffer->handle, 0));
	NEED_OK(cuMemSetAccess(address, whole, &access, 1));
	buffer->words = (uint32_t *)address;
	buffer->size_bytes = whole;
	return 0;
}

static void unmap_own(struct buffer *buffer)
{
	NEED_OK(cuMemUnmap((CUdeviceptr)buffer->words, buffer->size_bytes));
	NEED_OK(cuMemRelease(buffer->handle));
	NEED_OK(cuMemAddressFree((CUdeviceptr)buffer->words, buffer->size_bytes));
}

static int allocate(struct buffer *buffer, int stream)
{
	cudaStream_t handle = streams[stream].handle;
	int device = contexts[buffer->context].device;
	void **memory = (void **)&buffer->words;
	CUdeviceptr *address = (CUdeviceptr *)&buffer->words;
	cudaMemPool_t pool;
	size_t pitch, width;

	switch (buffer->kind) {
	case BUFFER_cudaMalloc:
		return (int)cudaMalloc(memory, buffer->size_bytes);
	case BUFFER_cuMemAlloc:
		return (int)cuMemAlloc(address, buffer->size_bytes);
	case BUFFER_cudaMallocPitch:
		width = buffer->size_bytes < 2000 ? buffer->size_bytes : 2000;
		return (int)cudaMallocPitch(memory, &pitch, width, (buffer->size_bytes + width - 1) / width);
	case BUFFER_cudaMallocManaged:
		return (int)cudaMallocManaged(memory, buffer->size_bytes, cudaMemAttachGlobal);
	case BUFFER_cudaMallocAsync:
		if (handle == cudaStreamPerThread && way(2) == 0)
			return (int)cudaMallocAsync_ptsz(memory, buffer->size_bytes, NULL);
		return (int)cudaMallocAsync(memory, buffer->size_bytes, handle);
	case BUFFER_cuMemAllocAsync:
		return (int)cuMemAllocAsync(address, buffer->size_bytes, handle);
	case BUFFER_default_pool:
		NEED_OK(cudaDeviceGetDefaultMemPool(&pool, device));
		return (int)cudaMallocFromPoolAsync(memory, buffer->size_bytes, pool, handle);
	case BUFFER_own_pool:
		buffer->pool = device;
		return (int)cudaMallocFromPoolAsync(memory, buffer->size_bytes, pool_own(device), handle);
	case BUFFER_cuMemMap:
		return map_own(buffer, device);
	case BUFFER_cudaHostAlloc:
		return (int)cudaHostAlloc(memory, buffer->size_bytes, cudaHostAllocPortable | cudaHostAllocMapped);
	case BUFFER_cudaMallocHost:
		return (int)cudaMallocHost(memory, buffer->size_bytes);
	case BUFFER_cudaHostRegister:
		buffer->words = aligned_alloc(4096, (buffer->size_bytes + 4095) / 4096 * 4096);
		return (int)cudaHostRegister(buffer->words, buffer->size_bytes, cudaHostRegisterPortable);
	default:
		abort();
	}
}

void buffer_make(struct buffer *buffer, int stream, enum buffer_kind kind, uint64_t count)
{
	const struct buffer_kind_info *info = &buffer_kinds[kind];
	int context = streams[stream].context, error;

	/* Host memory is to outlive the contexts that the program makes. */
	if (info->host)
		context = contexts[context].device;
	*buffer = (struct buffer){
	    .live = true, .kind = kind, .context = context, .pool = -1, .count = count, .size_bytes = count * 4};
	if ((kind == BUFFER_cudaMallocAsync || kind == BUFFER_cuMemAllocAsync) &&
	    pool_is_current[contexts[context].device])
		buffer->pool = contexts[context].device;
	context_enter(context);
	error = allocate(buffer, stream);
	if (say_allocated(info->name, count * 4, error)) {
		if (info->device)
			shadow_owner(buffer->words, buffer->size_bytes,
				     info->ordered ? (void *)streams[stream].handle : SIM_SHADOW_ANY);
	} else {
		buffer->substitute = true;
		buffer->pool = -1;
		context_enter(contexts[context].device);
		NEED_OK(cudaHostAlloc((void **)&buffer->words, buffer->size_bytes, cudaHostAllocPortable));
	}
	context_enter(streams[stream].context);
	if (info->ordered)
		write_note(buffer, stream, stream_submit_allocation(stream), false);
}

/* --- Freeing */

/* cudaFree waits for the context that the memory belongs to; work elsewhere is the program's business. */
static void await_others(const struct buffer *buffer)
{
	struct clock elsewhere = buffer->touched;

	for (unsigned i = 0; i < stream_count; i++)
		if (streams[i].context == buffer->context)
			elsewhere.at[i] = 0;
	host_await(&elsewhere);
}

static void free_driver_or_runtime(uint32_t *words)
{
	shadow_end(words);
	if (way(3) == 0)
		NEED_OK(cuMemFree((CUdeviceptr)words));
	else
		NEED_OK(cudaFree(words));
}

void buffer_free_now(struct buffer *buffer)
{
	uint32_t *words = buffer->words;
	struct clock waited;

	buffer->live = false;
	switch (buffer->substitute ? BUFFER_cudaMallocHost : buffer->kind) {
	case BUFFER_cuMemMap:
		host_await(&buffer->touched);
		shadow_end(words);
		unmap_own(buffer);
		break;
	case BUFFER_cudaHostAlloc:
	case BUFFER_cudaMallocHost:
		host_await(&buffer->touched);
		NEED_OK(cudaFreeHost(words));
		break;
	case BUFFER_cudaHostRegister:
		host_await(&buffer->touched);
		NEED_OK(cudaHostUnregister(words));
		free(words);
		break;
	case BUFFER_cudaMallocAsync:
	case BUFFER_cuMemAllocAsync:
	case BUFFER_default_pool:
	case BUFFER_own_pool: /* cudaFree does not wait for those */
		host_await(&buffer->touched);
		free_driver_or_runtime(words);
		break;
	default:
		await_others(buffer);
		free_driver_or_runtime(words);
		waited = context_clock(buffer->context);
		clock_join(&host_copies, &waited);
	}
}

static bool may_free_async(const struct buffer *buffer, int context)
{
	if (buffer->context != context &&
	    (!buffer_kinds[buffer->kind].ordered || contexts[buffer->context].device != contexts[context].device))
		return false;
	return !buffer->substitute && buffer_kinds[buffer->kind].device && buffer->kind != BUFFER_cuMemMap &&
	       buffer->kind != BUFFER_cudaMallocManaged;
}

void buffer_free(struct buffer *buffer, int stream)
{
	cudaStream_t handle = streams[stream].handle;
	bool usual = buffer_kinds[buffer->kind].ordered;

	if (!may_free_async(buffer, streams[stream].context) || (usual ? way(4) == 0 : way(5) != 0)) {
		buffer_free_now(buffer);
		return;
	}
	buffer_use(stream, buffer, NULL);
	buffer->live = false;
	shadow_end(buffer->words);
	context_enter(streams[stream].context);
	if (handle == cudaStreamPerThread && way(2) == 0)
		NEED_OK(cudaFreeAsync_ptsz(buffer->words, NULL));
	else if (way(3) == 0)
		NEED_OK(cuMemFreeAsync((CUdeviceptr)buffer->words, handle));
	else
		NEED_OK(cudaFreeAsync(buffer->words, handle));
}

/* What the context owns; pool memory and mappings stay, and can only be freed from then on. (A substitute belongs to the
 * primary context and stays too, as garbage.) */
static bool dies_with(const struct buffer *buffer, int context)
{
	return buffer->live && buffer->context == context && !buffer_kinds[buffer->kind].host &&
	       !buffer_kinds[buffer->kind].ordered && buffer->kind != BUFFER_cuMemMap;
}

void buffers_await_others(int context)
{
	for (unsigned i = 0; i < BUFFERS; i++)
		if (dies_with(&buffers[i], context))
			await_others(&buffers[i]);
}

void *buffers_forget(int context)
{
	void *dead = NULL;

	for (unsigned i = 0; i < BUFFERS; i++) {
		struct buffer *buffer = &buffers[i];

		if (dies_with(buffer, context)) {
			buffer->live = false;
			dead = buffer->words;
		}
	}
	return dead;
}
