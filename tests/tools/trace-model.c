/* trace-model TRACE.csv[.gz] [--passes N] [--pending] [--vary PERCENT] [--seed N] [--legacy] [--json]
 *
 * Replays an allocation trace of a real program through the allocator alone, over a device that only counts: what is
 * held for what is live, what that costs the driver by the table of costs below, and what is held for at the moment
 * when most is. No GPU, no clock: the same figures each time, so a policy can be chosen by them and tests can assert
 * them.
 *
 * What a trace is: trace.h. With --pending a block whose free was completed late is freed on a stream of its own, which
 * is busy until then; otherwise streams are idle whenever they are asked. --vary changes each size by up to so many
 * per cent, anew in each pass, and swaps as many in a hundred neighbouring operations. --legacy frees without a stream,
 * as cudaFree does. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/gsa.h"
#include "shim/base/err.h"
#include "tests/tools/trace.h"

#define ARENA_ADDRESS 0x300000000000ull
#define ARENA_BYTES (280ull << 30)
#define UNIT_BYTES (2ull << 20)
#define UNITS (8 * ARENA_BYTES / UNIT_BYTES) /* and as much for stitched segments, never used again */
#define OP_NS 500 /* what a program does between two operations is unknown: the least there is */

enum { MAX_LANES = 1024, MAX_FENCES = 65536 };

/* In ns, on one H200 with driver 580. */
enum cost {
	COST_CREATE = 20000, /* with what mapping it costs more the first time */
	COST_MAP = 1000,
	COST_ACCESS = 3000,	    /* a call */
	COST_ACCESS_HANDLE = 32000, /* and each handle in it */
	COST_UNMAP = 21000,
	COST_RELEASE = 11000,
	COST_RECORD = 190,
	COST_POLL = 150,
	COST_WAIT = 190
};

struct fence {
	uint64_t stream_id; /* 0: all */
	uint64_t closed;    /* of its lane, when it was recorded */
	bool used;
};

struct device {
	uint64_t ns; /* the clock */
	uint64_t vmm_ns, fence_ns;
	unsigned vmm_calls, fence_calls, moves;
	uint64_t reserved_bytes;
	uint64_t held_bytes;
	uint32_t handle_units[UNITS]; /* by the unit where it begins: units of the handle mapped there */
	uint64_t *handle_sizes;
	size_t handle_count;
	uint64_t closed[MAX_LANES], opened[MAX_LANES];
	struct fence fences[MAX_FENCES];
	uint64_t fence_last;
};

struct slot {
	uint64_t address; /* 0: not live */
	uint64_t size_bytes;
	uint32_t lane; /* of a late free: number + 1 */
};

/* What is held is held for: bytes. */
struct peak {
	uint64_t held, live, pending, waiting, idle_whole, idle_part;
};

struct pass {
	uint64_t held_peak, vmm_ns, fence_ns;
	unsigned vmm_calls, fence_calls;
};

struct model {
	struct trace trace;
	struct device device;
	struct gsa *allocator;
	struct slot *slots;
	uint32_t idle_lanes[MAX_LANES];
	unsigned lane_count, idle_lane_count;
	unsigned passes, vary;
	bool pending, legacy, json;
	uint64_t random;
	uint64_t live, late; /* bytes asked for; of these, freed but not completed */
	uint64_t most_live, most_needed;
	struct peak peak;
};

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("trace-model: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(2);
}

/* --- the device -------------------------------------------------------------------------------------------------- */

static void spend(struct device *device, uint64_t ns)
{
	device->vmm_calls++;
	device->vmm_ns += ns;
	device->ns += ns;
}

static void spend_fence(struct device *device, uint64_t ns)
{
	device->fence_calls++;
	device->fence_ns += ns;
	device->ns += ns;
}

static int op_reserve(void *user, uint64_t size_bytes, uint64_t *ret_address)
{
	struct device *device = user;

	*ret_address = ARENA_ADDRESS + device->reserved_bytes;
	device->reserved_bytes += size_bytes;
	if (device->reserved_bytes > UNITS * UNIT_BYTES)
		return GS_E_NO_MEMORY;
	return GS_OK;
}

static void op_unreserve(void *user, uint64_t address, uint64_t size_bytes)
{
	(void)user;
	(void)address;
	(void)size_bytes;
}

static int op_create(void *user, uint64_t size_bytes, uint64_t *ret_handle)
{
	struct device *device = user;

	if (device->handle_count % 4096 == 0)
		device->handle_sizes =
			realloc(device->handle_sizes, (device->handle_count + 4096) * sizeof(*device->handle_sizes));
	if (!device->handle_sizes)
		die("out of host memory");
	device->handle_sizes[device->handle_count++] = size_bytes;
	*ret_handle = device->handle_count;
	device->held_bytes += size_bytes;
	spend(device, COST_CREATE);
	return GS_OK;
}

static int op_map(void *user, uint64_t address, uint64_t size_bytes, uint64_t handle)
{
	struct device *device = user;

	(void)handle;
	device->handle_units[(address - ARENA_ADDRESS) / UNIT_BYTES] = (uint32_t)(size_bytes / UNIT_BYTES);
	spend(device, COST_MAP);
	return GS_OK;
}

static int op_set_access(void *user, uint64_t address, uint64_t size_bytes)
{
	struct device *device = user;
	uint64_t unit = (address - ARENA_ADDRESS) / UNIT_BYTES, end = unit + size_bytes / UNIT_BYTES, ns = COST_ACCESS;

	for (; unit < end; unit += device->handle_units[unit])
		ns += COST_ACCESS_HANDLE;
	spend(device, ns);
	return GS_OK;
}

static int op_unmap(void *user, uint64_t address, uint64_t size_bytes)
{
	struct device *device = user;
	uint64_t unit = (address - ARENA_ADDRESS) / UNIT_BYTES, end = unit + size_bytes / UNIT_BYTES, units;

	for (; unit < end; unit += units) {
		units = device->handle_units[unit];
		device->handle_units[unit] = 0;
		device->moves++;
	}
	spend(device, COST_UNMAP);
	return GS_OK;
}

static void op_release(void *user, uint64_t handle)
{
	struct device *device = user;

	device->held_bytes -= device->handle_sizes[handle - 1];
	spend(device, COST_RELEASE);
}

static int op_plain_alloc(void *user, uint64_t size_bytes, uint64_t *ret_address)
{
	(void)user;
	(void)size_bytes;
	(void)ret_address;
	return GS_E_NO_MEMORY;
}

static int op_plain_free(void *user, uint64_t address)
{
	(void)user;
	(void)address;
	return GS_E_DRIVER;
}

/* Streams up to TRACE_STREAMS_MAX are those of the trace and always idle; the others are lanes. */
static struct fence *fence_new(struct device *device, uint64_t *ret_fence)
{
	do
		device->fence_last = device->fence_last % MAX_FENCES + 1;
	while (device->fences[device->fence_last - 1].used);
	*ret_fence = device->fence_last;
	spend_fence(device, COST_RECORD);
	return &device->fences[device->fence_last - 1];
}

static int op_fence_stream(void *user, const struct gsa_stream *stream, uint64_t *ret_fence)
{
	struct device *device = user;
	uint64_t closed = stream->id > TRACE_STREAMS_MAX ? device->closed[stream->id - TRACE_STREAMS_MAX - 1] : 0;

	*fence_new(device, ret_fence) = (struct fence){.used = true, .stream_id = stream->id, .closed = closed};
	return GS_OK;
}

static int op_fence_all(void *user, uint64_t *ret_fence)
{
	*fence_new(user, ret_fence) = (struct fence){.used = true};
	return GS_OK;
}

static int op_fence_poll(void *user, uint64_t value)
{
	struct device *device = user;
	const struct fence *fence = &device->fences[value - 1];

	spend_fence(device, COST_POLL);
	if (fence->stream_id > TRACE_STREAMS_MAX)
		return device->opened[fence->stream_id - TRACE_STREAMS_MAX - 1] >= fence->closed;
	for (unsigned lane = 0; fence->stream_id == 0 && lane < MAX_LANES; lane++)
		if (device->opened[lane] < device->closed[lane])
			return 0;
	return 1;
}

static int op_fence_wait(void *user, uint64_t value)
{
	(void)user;
	(void)value;
	return GS_E_FORBIDDEN;
}

static void op_fence_drop(void *user, uint64_t value)
{
	struct device *device = user;

	device->fences[value - 1].used = false;
}

static uint64_t op_now_ns(void *user)
{
	const struct device *device = user;

	return device->ns;
}

static const struct gsa_ops device_ops = {
	.reserve = op_reserve,
	.unreserve = op_unreserve,
	.create = op_create,
	.map = op_map,
	.set_access = op_set_access,
	.unmap = op_unmap,
	.release = op_release,
	.plain_alloc = op_plain_alloc,
	.plain_free = op_plain_free,
	.fence_stream = op_fence_stream,
	.fence_all = op_fence_all,
	.fence_poll = op_fence_poll,
	.fence_wait = op_fence_wait,
	.fence_drop = op_fence_drop,
	.now_ns = op_now_ns,
};

/* --- what is held for what --------------------------------------------------------------------------------------- */

struct tally {
	const struct device *device;
	struct peak *peak;
};

/* Of a free block: what lies in handles that are wholly free is *whole*. Neighbouring free blocks of different tags
 * count apart, so a handle that two of them share counts as partly used. */
static uint64_t whole_bytes(const struct device *device, uint64_t address, uint64_t size_bytes)
{
	uint64_t unit = (address - ARENA_ADDRESS + UNIT_BYTES - 1) / UNIT_BYTES;
	uint64_t end = (address - ARENA_ADDRESS + size_bytes) / UNIT_BYTES;
	uint64_t units = 0;

	while (unit < end) {
		uint64_t handle_units = device->handle_units[unit];

		if (handle_units != 0 && unit + handle_units <= end)
			units += handle_units;
		unit += handle_units != 0 ? handle_units : 1;
	}
	return units * UNIT_BYTES;
}

static void tally_segment(void *user, enum gsa_segment_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct tally *tally = user;

	(void)kind;
	(void)address;
	tally->peak->held += size_bytes;
}

static void tally_block(void *user, enum gsa_block_state state, const struct gsa_block_info *info)
{
	struct tally *tally = user;

	if (state == GSA_BLOCK_LIVE) {
		tally->peak->live += info->reserved_bytes;
	} else if (state == GSA_BLOCK_PENDING) {
		tally->peak->pending += info->reserved_bytes;
	} else if (state == GSA_BLOCK_IDLE) {
		uint64_t whole = whole_bytes(tally->device, info->address, info->reserved_bytes);

		tally->peak->idle_whole += whole;
		tally->peak->idle_part += info->reserved_bytes - whole;
	}
}

static void look(struct model *model)
{
	struct tally tally = {&model->device, &model->peak};
	const struct gsa_visitor visitor = {tally_segment, tally_block, &tally};

	if (model->device.held_bytes <= model->peak.held)
		return;
	model->peak = (struct peak){.waiting = model->late};
	gsa_walk(model->allocator, &visitor);
}

/* --- the replay -------------------------------------------------------------------------------------------------- */

static uint64_t draw(struct model *model, uint64_t below)
{
	model->random ^= model->random << 13;
	model->random ^= model->random >> 7;
	model->random ^= model->random << 17;
	return (model->random * 0x2545f4914f6cdd1dull >> 16) % below;
}

static struct gsa_stream stream_of(uint64_t id)
{
	return (struct gsa_stream){.id = id, .handle = id, .owner = 1};
}

static void block_alloc(struct model *model, const struct op *op)
{
	struct gsa_stream stream = stream_of(op->stream + 1u);
	struct slot *slot = &model->slots[op->id];
	struct gsa_request request = {.size_bytes = op->size_bytes, .origin = GSA_ORIGIN_ASYNC, .stream = &stream, .owner = 1};
	struct gsa_block_info block;

	if (model->legacy) {
		request.origin = GSA_ORIGIN_LEGACY;
		request.stream = NULL;
	}
	if (model->vary != 0)
		request.size_bytes += request.size_bytes * draw(model, 2 * model->vary + 1) / 100 -
				      request.size_bytes * model->vary / 100;
	if (request.size_bytes == 0)
		request.size_bytes = 1;
	if (gsa_alloc(model->allocator, &request, &block) != GS_OK)
		die("an allocation of %" PRIu64 " bytes failed", request.size_bytes);
	slot->address = block.address;
	slot->size_bytes = request.size_bytes;
	model->live += request.size_bytes;
	if (model->live - model->late > model->most_live)
		model->most_live = model->live - model->late;
	if (model->live > model->most_needed)
		model->most_needed = model->live;
	look(model);
}

static void block_free(struct model *model, const struct op *op)
{
	struct slot *slot = &model->slots[op->id];
	struct gsa_stream stream = stream_of(op->stream + 1u);

	if (slot->address == 0)
		return;
	if (op->late && model->pending) {
		unsigned lane = model->idle_lane_count > 0 ? model->idle_lanes[--model->idle_lane_count] : model->lane_count++;

		if (lane >= MAX_LANES)
			die("more than %d blocks pending at once", MAX_LANES);
		model->device.closed[lane]++;
		slot->lane = lane + 1;
		stream = stream_of(TRACE_STREAMS_MAX + 1u + lane);
		model->late += slot->size_bytes;
	} else {
		model->live -= slot->size_bytes;
	}
	gsa_free(model->allocator, slot->address, model->legacy ? NULL : &stream, NULL);
	slot->address = 0;
}

static void block_complete(struct model *model, const struct op *op)
{
	struct slot *slot = &model->slots[op->id];

	if (slot->lane == 0)
		return;
	model->device.opened[slot->lane - 1] = model->device.closed[slot->lane - 1];
	model->idle_lanes[model->idle_lane_count++] = slot->lane - 1;
	slot->lane = 0;
	model->live -= slot->size_bytes;
	model->late -= slot->size_bytes;
}

/* Frees what the trace left alive and waits, so that every pass starts alike. */
static void pass_end(struct model *model)
{
	uint64_t serial;

	for (uint32_t id = 0; id < model->trace.id_count; id++) {
		struct op op = {.id = id, .kind = OP_FREE};

		block_complete(model, &op);
		block_free(model, &op);
	}
	serial = gsa_free_serial(model->allocator);
	gsa_device_idle(model->allocator, serial);
}

static void step(struct model *model, const struct op *op)
{
	model->device.ns += OP_NS;
	if (op->kind == OP_ALLOC)
		block_alloc(model, op);
	else if (op->kind == OP_FREE)
		block_free(model, op);
	else
		block_complete(model, op);
}

static struct pass pass_run(struct model *model)
{
	const struct trace *trace = &model->trace;
	struct device *device = &model->device;
	struct pass before = {.vmm_ns = device->vmm_ns,
			      .fence_ns = device->fence_ns,
			      .vmm_calls = device->vmm_calls,
			      .fence_calls = device->fence_calls};

	for (size_t i = 0; i < trace->count; i++) {
		if (i + 1 < trace->count && trace->ops[i].id != trace->ops[i + 1].id && model->vary != 0 &&
		    draw(model, 100) < model->vary) {
			step(model, &trace->ops[i + 1]);
			step(model, &trace->ops[i++]);
			continue;
		}
		step(model, &trace->ops[i]);
	}
	pass_end(model);
	gsa_check(model->allocator);
	return (struct pass){.held_peak = model->peak.held,
			     .vmm_ns = device->vmm_ns - before.vmm_ns,
			     .fence_ns = device->fence_ns - before.fence_ns,
			     .vmm_calls = device->vmm_calls - before.vmm_calls,
			     .fence_calls = device->fence_calls - before.fence_calls};
}

static double mib(uint64_t bytes)
{
	return (double)bytes / 1048576;
}

static void print_pass(unsigned number, const struct pass *pass, size_t ops)
{
	printf("pass %2u: held at most %9.1f MiB, VMM %8.0f us (%4.0f ns/op) in %5u calls, fences %6.0f us in %5u calls\n",
	       number + 1, mib(pass->held_peak), (double)pass->vmm_ns / 1e3, (double)pass->vmm_ns / (double)ops,
	       pass->vmm_calls, (double)pass->fence_ns / 1e3, pass->fence_calls);
}

static void run(struct model *model)
{
	const struct gsa_options options = {
		.arena_bytes = ARENA_BYTES, .granularity_bytes = UNIT_BYTES, .use_vmm = true, .expandable = true};
	struct pass first = {0}, last = {0};
	const struct peak *peak = &model->peak;
	double ratio;

	if (gsa_init(&model->allocator, &device_ops, &model->device, &options) != GS_OK)
		die("cannot start");
	for (unsigned pass = 0; pass < model->passes; pass++) {
		last = pass_run(model);
		if (pass == 0)
			first = last;
		if (!model->json)
			print_pass(pass, &last, model->trace.count);
	}
	ratio = (double)peak->held / (double)(model->pending ? model->most_needed : model->most_live);
	if (model->json)
		printf("{\"ratio\": %.4f, \"peak_held_bytes\": %" PRIu64 ", \"vmm_us_first\": %.0f, \"vmm_us_last\": %.0f, "
		       "\"vmm_calls_last\": %u, \"fence_calls_last\": %u}\n",
		       ratio, peak->held, (double)first.vmm_ns / 1e3, (double)last.vmm_ns / 1e3, last.vmm_calls,
		       last.fence_calls);
	else
		printf("held / %s %.4f; at the peak of %.1f MiB: live %.1f, pending %.1f (%.1f of it in truth), "
		       "idle %.1f in whole handles and %.1f in parts\n",
		       model->pending ? "(live + pending)" : "live", ratio, mib(peak->held), mib(peak->live),
		       mib(peak->pending), mib(peak->waiting), mib(peak->idle_whole), mib(peak->idle_part));
	gsa_fini(model->allocator);
	free(model->device.handle_sizes);
}

static void parse(struct model *model, int count, char **words, const char **ret_path)
{
	for (int i = 1; i < count; i++) {
		const char *value = i + 1 < count ? words[i + 1] : "";

		if (!strcmp(words[i], "--pending")) {
			model->pending = true;
		} else if (!strcmp(words[i], "--legacy")) {
			model->legacy = true;
		} else if (!strcmp(words[i], "--json")) {
			model->json = true;
		} else if (!strcmp(words[i], "--passes") && atoi(value) > 0) {
			model->passes = (unsigned)atoi(value);
			i++;
		} else if (!strcmp(words[i], "--vary") && atoi(value) > 0 && atoi(value) < 100) {
			model->vary = (unsigned)atoi(value);
			i++;
		} else if (!strcmp(words[i], "--seed") && atoi(value) > 0) {
			model->random += (uint64_t)atoi(value) * 0x9e3779b97f4a7c15ull;
			i++;
		} else if (words[i][0] != '-' && !*ret_path) {
			*ret_path = words[i];
		} else {
			*ret_path = NULL;
			break;
		}
	}
	if (!*ret_path)
		die("usage: trace-model TRACE.csv[.gz] [--passes N] [--pending] [--vary PERCENT] [--seed N] [--legacy] "
		    "[--json]");
}

int main(int count, char **words)
{
	static struct model model = {.passes = 5, .random = 88172645463325252ull};
	const char *path = NULL;
	char why[TRACE_WHY_BYTES];

	parse(&model, count, words, &path);
	if (!trace_load(&model.trace, path, why))
		die("%s %s", path, why);
	model.slots = calloc(model.trace.id_count, sizeof(*model.slots));
	if (!model.slots)
		die("out of host memory");
	run(&model);
	free(model.slots);
	trace_drop(&model.trace);
	return 0;
}
