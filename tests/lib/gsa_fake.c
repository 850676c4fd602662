/* See gsa_fake.h. */
#include "tests/lib/gsa_fake.h"

#include <stddef.h>
#include <string.h>

#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/lock.h"

#define ARENA_ADDRESS 0x300000000000ull
#define PLAIN_ADDRESS 0x500000000100ull

static bool holds(enum gsb_lock_rank rank)
{
#ifdef GSB_DEBUG
	return gsb_lock_held(&(struct gsb_lock){.rank = rank});
#else
	return (void)rank, false;
#endif
}

static struct fake *enter(void *device, enum fake_op op, bool vmm, int *ret_error)
{
	struct fake *fake = device;

	gsb_assert(!holds(GSB_RANK_ALLOCATOR));
	if (!vmm)
		gsb_assert(!holds(GSB_RANK_GROW));
	pthread_mutex_lock(&fake->mutex);
	fake->calls[op]++;
	fake->call_count++;
	*ret_error = GS_OK;
	if (fake->fail_times > 0 &&
	    (fake->fail_op == op || (fake->fail_op == FAKE_OP_COUNT && op != FAKE_PLAIN_FREE)) &&
	    fake->fail_seen++ >= fake->fail_at) {
		fake->fail_times--;
		fake->fail_fired++;
		*ret_error = fake->fail_error;
	}
	return fake;
}

static int leave(struct fake *fake, int error)
{
	pthread_mutex_unlock(&fake->mutex);
	return error;
}

static struct fake_range *range_at(struct fake_range *ranges, unsigned count, uint64_t address)
{
	for (unsigned i = count; i-- > 0;)
		if (ranges[i].address == address)
			return &ranges[i];
	return NULL;
}

static bool overlaps(const struct fake_range *ranges, unsigned count, uint64_t address, uint64_t size_bytes)
{
	for (unsigned i = 0; i < count; i++)
		if (address < ranges[i].address + ranges[i].size_bytes && ranges[i].address < address + size_bytes)
			return true;
	return false;
}

static void range_add(struct fake_range *ranges, unsigned *count, struct fake_range range)
{
	gsb_assert(*count < FAKE_RANGES_MAX);
	ranges[(*count)++] = range;
}

static void range_drop(struct fake_range *ranges, unsigned *count, struct fake_range *range)
{
	gsb_assert(range != NULL);
	*range = ranges[--*count];
}

static bool is_reserved(const struct fake *fake, uint64_t address, uint64_t size_bytes)
{
	for (unsigned i = 0; i < fake->reservation_count; i++) {
		const struct fake_range *range = &fake->reservations[i];

		if (address >= range->address && address + size_bytes <= range->address + range->size_bytes)
			return true;
	}
	return false;
}

static int op_reserve(void *device, uint64_t size_bytes, uint64_t *ret_address)
{
	int error;
	struct fake *fake = enter(device, FAKE_RESERVE, true, &error);

	gsb_assert(size_bytes > 0 && size_bytes % FAKE_UNIT_BYTES == 0);
	if (error == GS_OK) {
		*ret_address = fake->next_reserved;
		fake->next_reserved += size_bytes + FAKE_UNIT_BYTES;
		range_add(fake->reservations, &fake->reservation_count,
			  (struct fake_range){.address = *ret_address, .size_bytes = size_bytes});
	}
	return leave(fake, error);
}

static void op_unreserve(void *device, uint64_t address, uint64_t size_bytes)
{
	struct fake *fake = device;
	struct fake_range *known;

	pthread_mutex_lock(&fake->mutex);
	known = range_at(fake->reservations, fake->reservation_count, address);
	gsb_assert(known != NULL && known->size_bytes == size_bytes);
	range_drop(fake->reservations, &fake->reservation_count, known);
	leave(fake, 0);
}

static int op_create(void *device, uint64_t size_bytes, uint64_t *ret_handle)
{
	int error;
	struct fake *fake = enter(device, FAKE_CREATE, true, &error);

	gsb_assert(size_bytes > 0 && size_bytes % FAKE_UNIT_BYTES == 0);
	if (error == GS_OK && fake->used_bytes + size_bytes > fake->capacity_bytes)
		error = GS_E_NO_MEMORY;
	if (error == GS_OK) {
		fake->used_bytes += size_bytes;
		*ret_handle = fake->next_handle++;
		range_add(fake->handles, &fake->handle_count,
			  (struct fake_range){
			      .address = *ret_handle, .size_bytes = size_bytes, .physical = fake->created_bytes});
		fake->created_bytes += size_bytes;
	}
	return leave(fake, error);
}

static int op_map(void *device, uint64_t address, uint64_t size_bytes, uint64_t handle)
{
	struct fake *fake = device;
	struct fake_range *known;
	int error;

	if (fake->before_map != NULL)
		fake->before_map(fake->before_map_user);
	enter(fake, FAKE_MAP, true, &error);
	known = range_at(fake->handles, fake->handle_count, handle);
	gsb_assert(known != NULL && known->size_bytes == size_bytes && address % FAKE_UNIT_BYTES == 0);
	gsb_assert(is_reserved(fake, address, size_bytes));
	gsb_assert(!overlaps(fake->mappings, fake->mapping_count, address, size_bytes));
	if (error == GS_OK)
		range_add(fake->mappings, &fake->mapping_count,
			  (struct fake_range){.address = address,
					      .size_bytes = size_bytes,
					      .handle = handle,
					      .physical = known->physical});
	return leave(fake, error);
}

static int op_set_access(void *device, uint64_t address, uint64_t size_bytes)
{
	int error;
	struct fake *fake = enter(device, FAKE_SET_ACCESS, true, &error);
	uint64_t end = address + size_bytes;

	while (error == GS_OK && address < end) {
		struct fake_range *mapping = range_at(fake->mappings, fake->mapping_count, address);

		gsb_assert(mapping != NULL && address + mapping->size_bytes <= end);
		mapping->access = true;
		address += mapping->size_bytes;
	}
	return leave(fake, error);
}

static int op_unmap(void *device, uint64_t address, uint64_t size_bytes)
{
	int error;
	struct fake *fake = device;
	struct fake_range *mapping;

	if (fake->before_unmap != NULL)
		fake->before_unmap(fake->before_unmap_user);
	enter(fake, FAKE_UNMAP, true, &error);
	mapping = range_at(fake->mappings, fake->mapping_count, address);
	gsb_assert(mapping != NULL && mapping->size_bytes == size_bytes);
	if (error == GS_OK)
		range_drop(fake->mappings, &fake->mapping_count, mapping);
	return leave(fake, error);
}

static void op_release(void *device, uint64_t handle)
{
	struct fake *fake = device;
	struct fake_range *known;

	gsb_assert(!holds(GSB_RANK_ALLOCATOR));
	pthread_mutex_lock(&fake->mutex);
	known = range_at(fake->handles, fake->handle_count, handle);
	gsb_assert(known != NULL);
	for (unsigned i = 0; i < fake->mapping_count; i++)
		gsb_assert(fake->mappings[i].handle != handle);
	fake->used_bytes -= known->size_bytes;
	range_drop(fake->handles, &fake->handle_count, known);
	leave(fake, 0);
}

static int op_plain_alloc(void *device, uint64_t size_bytes, uint64_t *ret_address)
{
	int error;
	struct fake *fake = enter(device, FAKE_PLAIN_ALLOC, false, &error);

	if (error == GS_OK && fake->used_bytes + size_bytes > fake->capacity_bytes)
		error = GS_E_NO_MEMORY;
	if (error == GS_OK) {
		*ret_address = fake->next_plain;
		fake->next_plain += (size_bytes + 255) / 256 * 256;
		fake->used_bytes += size_bytes;
		range_add(fake->plains, &fake->plain_count,
			  (struct fake_range){.address = *ret_address, .size_bytes = size_bytes});
	}
	return leave(fake, error);
}

static int op_plain_free(void *device, uint64_t address)
{
	int error;
	struct fake *fake = enter(device, FAKE_PLAIN_FREE, false, &error);
	struct fake_range *plain = range_at(fake->plains, fake->plain_count, address);

	gsb_assert(plain != NULL);
	fake->used_bytes -= plain->size_bytes;
	range_drop(fake->plains, &fake->plain_count, plain);
	return leave(fake, error);
}

static uint64_t op_free_bytes(void *device)
{
	struct fake *fake = device;
	uint64_t free_bytes;

	pthread_mutex_lock(&fake->mutex);
	free_bytes = fake->capacity_bytes - fake->used_bytes;
	leave(fake, 0);
	return free_bytes;
}

static _Thread_local unsigned on_the_way; /* between plain_enter and plain_leave */

static int op_plain_enter(void)
{
	on_the_way++;
	return 0;
}

static void op_plain_leave(int entered)
{
	(void)entered;
	on_the_way--;
}

static int record(struct fake *fake, bool all, uint64_t stream_id, uint64_t *ret_fence)
{
	for (unsigned i = 0; i < FAKE_FENCES_MAX; i++) {
		struct fake_fence *fence = &fake->fences[i];

		if (fence->used)
			continue;
		*fence = (struct fake_fence){.used = true, .all = all, .stream_id = stream_id};
		memcpy(fence->submitted, fake->submitted, sizeof(fence->submitted));
		fake->fence_count++;
		*ret_fence = i + 1;
		return GS_OK;
	}
	gsb_assert(!"too many fences");
	return GS_E_LIMIT;
}

static int op_fence_stream(void *device, const struct gsa_stream *stream, uint64_t *ret_fence)
{
	int error;
	struct fake *fake = device;

	if (fake->before_fence_stream != NULL)
		fake->before_fence_stream(fake->before_fence_user);
	enter(fake, FAKE_FENCE_STREAM, false, &error);

	gsb_assert(stream->id > 0 && stream->id < FAKE_STREAMS);
	if (error == GS_OK && fake->capturing)
		error = GS_E_FORBIDDEN;
	if (error == GS_OK && fake->gone[stream->id])
		error = GS_E_NOT_FOUND;
	if (error == GS_OK)
		error = record(fake, false, stream->id, ret_fence);
	return leave(fake, error);
}

static int op_fence_all(void *device, uint64_t *ret_fence)
{
	int error;
	struct fake *fake = enter(device, FAKE_FENCE_ALL, false, &error);

	if (error == GS_OK && fake->capturing)
		error = GS_E_FORBIDDEN;
	if (error == GS_OK)
		error = record(fake, true, 0, ret_fence);
	return leave(fake, error);
}

static bool fence_done(const struct fake *fake, const struct fake_fence *fence)
{
	for (uint64_t id = 0; id < FAKE_STREAMS; id++)
		if ((fence->all || fence->stream_id == id) && fake->finished[id] < fence->submitted[id])
			return false;
	return true;
}

static struct fake_fence *fence_at(struct fake *fake, uint64_t value)
{
	gsb_assert(value > 0 && value <= FAKE_FENCES_MAX && fake->fences[value - 1].used);
	return &fake->fences[value - 1];
}

static int op_fence_poll(void *device, uint64_t value)
{
	int error;
	struct fake *fake = enter(device, FAKE_FENCE_POLL, false, &error);
	bool done = fence_done(fake, fence_at(fake, value));

	return leave(fake, error != GS_OK ? error : done);
}

static int op_fence_wait(void *device, uint64_t value)
{
	int error;
	struct fake *fake = enter(device, FAKE_FENCE_WAIT, false, &error);
	struct fake_fence *fence = fence_at(fake, value);

	gsb_assert(on_the_way == 0);
	for (uint64_t id = 0; id < FAKE_STREAMS && error == GS_OK; id++)
		if ((fence->all || fence->stream_id == id) && fake->finished[id] < fence->submitted[id])
			fake->finished[id] = fence->submitted[id];
	return leave(fake, error);
}

static void op_fence_drop(void *device, uint64_t value)
{
	struct fake *fake = device;

	gsb_assert(!holds(GSB_RANK_ALLOCATOR) && !holds(GSB_RANK_GROW));
	pthread_mutex_lock(&fake->mutex);
	fence_at(fake, value)->used = false;
	fake->fence_count--;
	leave(fake, 0);
}

static uint64_t op_now_ns(void *device)
{
	struct fake *fake = device;

	return __atomic_load_n(&fake->clock_ns, __ATOMIC_RELAXED);
}

static void op_on_segment(void *device, bool mapped, uint64_t address, uint64_t size_bytes)
{
	struct fake *fake = device;

	gsb_assert(!holds(GSB_RANK_ALLOCATOR) && address != 0);
	pthread_mutex_lock(&fake->mutex);
	fake->told_bytes += mapped ? size_bytes : -size_bytes;
	leave(fake, 0);
}

const struct gsa_ops fake_ops = {
    .reserve = op_reserve,
    .unreserve = op_unreserve,
    .create = op_create,
    .map = op_map,
    .set_access = op_set_access,
    .unmap = op_unmap,
    .release = op_release,
    .free_bytes = op_free_bytes,
    .plain_alloc = op_plain_alloc,
    .plain_free = op_plain_free,
    .plain_enter = op_plain_enter,
    .plain_leave = op_plain_leave,
    .fence_stream = op_fence_stream,
    .fence_all = op_fence_all,
    .fence_poll = op_fence_poll,
    .fence_wait = op_fence_wait,
    .fence_drop = op_fence_drop,
    .now_ns = op_now_ns,
    .on_segment = op_on_segment,
};

void fake_init(struct fake *fake, uint64_t capacity_bytes)
{
	memset(fake, 0, offsetof(struct fake, reservations));
	pthread_mutex_init(&fake->mutex, NULL);
	fake->capacity_bytes = capacity_bytes;
	fake->next_plain = PLAIN_ADDRESS;
	fake->next_handle = 1;
	fake->next_reserved = ARENA_ADDRESS;
	fake->clock_ns = 1000;
}

void fake_fail(struct fake *fake, enum fake_op op, unsigned at, unsigned times, int error)
{
	fake->fail_op = op;
	fake->fail_at = at;
	fake->fail_times = times;
	fake->fail_error = error;
	fake->fail_seen = 0;
	fake->fail_fired = 0;
}

void fake_submit(struct fake *fake, uint64_t stream_id)
{
	pthread_mutex_lock(&fake->mutex);
	fake->submitted[stream_id]++;
	leave(fake, 0);
}

void fake_finish(struct fake *fake, uint64_t stream_id)
{
	pthread_mutex_lock(&fake->mutex);
	fake->finished[stream_id] = fake->submitted[stream_id];
	leave(fake, 0);
}

bool fake_finished(const struct fake *fake, uint64_t stream_id, uint64_t submitted)
{
	return fake->finished[stream_id] >= submitted;
}

bool fake_usable(struct fake *fake, uint64_t address, uint64_t size_bytes)
{
	uint64_t covered_bytes = 0;

	for (unsigned i = 0; i < fake->plain_count; i++)
		if (address >= fake->plains[i].address &&
		    address + size_bytes <= fake->plains[i].address + fake->plains[i].size_bytes)
			return true;
	for (unsigned i = 0; i < fake->mapping_count; i++) {
		const struct fake_range *mapping = &fake->mappings[i];
		uint64_t start = mapping->address > address ? mapping->address : address;
		uint64_t end = mapping->address + mapping->size_bytes;

		if (end > address + size_bytes)
			end = address + size_bytes;
		if (mapping->access && start < end)
			covered_bytes += end - start;
	}
	return covered_bytes == size_bytes;
}

uint64_t fake_physical(struct fake *fake, uint64_t address, uint64_t *ret_bytes)
{
	uint64_t physical = 0;

	pthread_mutex_lock(&fake->mutex);
	*ret_bytes = 0;
	for (unsigned i = fake->mapping_count; i-- > 0 && *ret_bytes == 0;) {
		const struct fake_range *mapping = &fake->mappings[i];

		if (address - mapping->address >= mapping->size_bytes)
			continue;
		physical = mapping->physical + address - mapping->address;
		*ret_bytes = mapping->size_bytes - (address - mapping->address);
	}
	for (unsigned i = 0; i < fake->plain_count && *ret_bytes == 0; i++) {
		const struct fake_range *plain = &fake->plains[i];

		if (address - plain->address >= plain->size_bytes)
			continue;
		physical = address;
		*ret_bytes = plain->size_bytes - (address - plain->address);
	}
	leave(fake, 0);
	gsb_assert(*ret_bytes > 0);
	return physical;
}

void fake_fini(struct fake *fake)
{
	gsb_assert(fake->reservation_count == 0 && fake->mapping_count == 0 && fake->handle_count == 0);
	gsb_assert(fake->plain_count == 0 && fake->fence_count == 0 && fake->used_bytes == 0);
	pthread_mutex_destroy(&fake->mutex);
}

struct gsa_stream fake_stream(uint64_t id)
{
	return (struct gsa_stream){.id = id, .handle = 1000 + id, .owner = 1};
}

struct gsa_options fake_options(void)
{
	return (struct gsa_options){
	    .arena_bytes = 256ull << 30, .granularity_bytes = FAKE_UNIT_BYTES, .use_vmm = true, .expandable = true};
}

int fake_alloc(struct gsa *allocator, uint64_t size_bytes, uint64_t stream_id, struct gsa_block_info *ret_block)
{
	struct gsa_stream stream = fake_stream(stream_id);
	struct gsa_request request = {.size_bytes = size_bytes,
				      .origin = stream_id != 0 ? GSA_ORIGIN_ASYNC : GSA_ORIGIN_LEGACY,
				      .stream = stream_id != 0 ? &stream : NULL,
				      .owner = 1};

	return gsa_alloc(allocator, &request, ret_block);
}

uint64_t fake_take(struct gsa *allocator, uint64_t size_bytes, uint64_t stream_id)
{
	struct gsa_block_info block = {0};
	int error = fake_alloc(allocator, size_bytes, stream_id, &block);

	gsb_assert(error == GS_OK);
	return block.address;
}

void fake_give(struct gsa *allocator, uint64_t address, uint64_t stream_id)
{
	struct gsa_stream stream = fake_stream(stream_id);
	int error = gsa_free(allocator, address, stream_id != 0 ? &stream : NULL, NULL);

	gsb_assert(error == GS_OK);
}
