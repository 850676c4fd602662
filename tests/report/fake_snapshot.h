/* A process that never was, for tests of the snapshot and of the report: fixed times, names, blocks, tensors, events
 * and stacks behind a struct gs_snapshot_source. FAKE_BLOCKS is a C++ program that uses cudaMalloc and
 * cudaMallocAsync; FAKE_TORCH is PyTorch under torch:observe; FAKE_BIG is FAKE_BLOCKS with a long history;
 * FAKE_ERROR is FAKE_BLOCKS after an illegal access. */
#ifndef TESTS_REPORT_FAKE_SNAPSHOT_H
#define TESTS_REPORT_FAKE_SNAPSHOT_H

#include <link.h>
#include <string.h>

#include "graph/replay.h"
#include "shim/base/err.h"
#include "shim/snap/source.h"

enum fake_scene { FAKE_BLOCKS, FAKE_TORCH, FAKE_BIG, FAKE_ERROR };

#define MIB (1024ull * 1024)
#define FAKE_START_NS 5000000000000ull

static struct {
	enum fake_scene scene;
	uint64_t event_count, event_first;
	uint64_t self_offset; /* of fake_known_function in this program */
	char self_path[1024];
	unsigned grow_walks; /* so many walks find one more block than the one before */
	struct gs_conf conf;
	bool runs; /* events that follow each other in time have numbers far apart */
} fake;

__attribute__((noinline)) void fake_known_function(void);
void fake_known_function(void)
{
	__asm__ volatile("");
}

#include "tests/report/fake_events.h"

/* --- stacks ------------------------------------------------------------------------------------------------------ */

enum {
	S_NONE,
	S_MODULE_PY,
	S_FORWARD,
	S_TRAIN_PY,
	S_MODEL_PY,
	S_LINEAR_PY,
	S_EXAMPLE_SO,
	S_EXAMPLE_ID,
	S_SOLVER,
	S_WEIRD,
	S_LOAD,
	S_COPY_UP,
	S_COPY_DOWN,
	S_STREAM_SYNC,
	S_LAUNCH,
	S_LONG_KERNEL,
	S_GRAPH,
	S_GOOD_KERNEL,
	S_BAD_KERNEL,
	S_COUNT
};

static const char *fake_string(uint32_t string)
{
	static const char *const strings[S_COUNT] = {
	    [S_NONE] = "",
	    [S_MODULE_PY] = "<module>",
	    [S_FORWARD] = "forward",
	    [S_TRAIN_PY] = "/home/user/job/train.py",
	    [S_MODEL_PY] = "/home/user/job/net/model.py",
	    [S_LINEAR_PY] = "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py",
	    [S_EXAMPLE_SO] = "/opt/example/libexample.so",
	    [S_EXAMPLE_ID] = "00112233445566778899aabbccddeeff00112233",
	    [S_WEIRD] = "quote\" back\\slash tab\t bell\a \xc3\xa9 bad\xff\xc0\xaf end",
	    [S_LOAD] = "load",
	    [S_COPY_UP] = "cuMemcpyDtoHAsync_v2",
	    [S_COPY_DOWN] = "cuMemcpyHtoDAsync_v2",
	    [S_STREAM_SYNC] = "cuStreamSynchronize",
	    [S_LAUNCH] = "cuLaunchKernel",
	    [S_LONG_KERNEL] = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_10AddFunctorIfEESt5arrayIPcLm3EEEEviT0_T1_",
	    [S_GRAPH] = "cuGraphLaunch",
	    [S_GOOD_KERNEL] = "_ZN3net4goodIfEEvPT_",
	    [S_BAD_KERNEL] = "bad",
	};

	return string == S_SOLVER ? fake.self_path : strings[string];
}

static void fake_module(uint32_t module, struct gs_module *ret)
{
	static const struct gs_module modules[] = {
	    {0, 0, 0, 0, 0},
	    {S_EXAMPLE_SO, S_EXAMPLE_ID, 0x7f0000000000, 0x7f0000001000, 0x7f0000200000},
	    {S_SOLVER, 0, 0x550000000000, 0x550000000000, 0x550000100000},
	};

	*ret = modules[module];
}

static void fake_frame(uint32_t frame, struct gs_frame *ret)
{
	const struct gs_frame frames[] = {
	    {GS_FRAME_NONE, 0, 0, 0, 0},
	    {GS_FRAME_PYTHON, S_MODULE_PY, S_TRAIN_PY, 60, 0},
	    {GS_FRAME_PYTHON, S_FORWARD, S_MODEL_PY, 41, 0},
	    {GS_FRAME_PYTHON, S_FORWARD, S_LINEAR_PY, 125, 0},
	    {GS_FRAME_PYTHON, S_LOAD, S_TRAIN_PY, 17, 0},
	    {GS_FRAME_NATIVE, 0, 1, 0, 0x1235},
	    {GS_FRAME_NATIVE, 0, 2, 0, fake.self_offset},
	};

	*ret = frames[frame];
}

/* 1: train.py:60 <module>; 2: 1 > model.py:41; 3: 2 > linear.py:125; 4: 1 > train.py:17 load;
 * 5: 3 > libexample+0x1235; 6: known function; 7: 6 > libexample+0x1235 */
static void fake_stack(uint32_t stack, uint32_t *ret_parent, uint32_t *ret_frame)
{
	static const uint32_t nodes[][2] = {{0, 0}, {0, 1}, {1, 2}, {2, 3}, {1, 4}, {3, 5}, {0, 6}, {6, 5}};

	*ret_parent = nodes[stack][0];
	*ret_frame = nodes[stack][1];
}

static size_t fake_stack_count(void)
{
	return 8;
}

static size_t fake_frame_count(void)
{
	return 7;
}

static size_t fake_string_count(void)
{
	return S_COUNT;
}

static size_t fake_module_count(void)
{
	return 3;
}

static void fake_stack_counters(struct gs_stack_counters *ret)
{
	*ret = (struct gs_stack_counters){1000, 8, 2, "3.12 (table)", "libunwind"};
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static int fake_device_count(void)
{
	return 2;
}

static int fake_device_read(int index, struct gs_device_info *ret)
{
	if (index < 0 || index >= fake_device_count())
		return GS_E_NOT_FOUND;
	*ret = (struct gs_device_info){.ordinal = index,
				       .name = "Example H200",
				       .total_bytes = 141 * 1024 * MIB,
				       .others_bytes = fake.scene == FAKE_ERROR ? 500 * MIB : 0,
				       .others_time_ns = fake.scene == FAKE_ERROR ? FAKE_START_NS + 5 : 0,
				       .allocator = index == 0 ? (struct gsa *)&fake : NULL};
	for (unsigned i = 0; i < 16; i++)
		ret->uuid[i] = (unsigned char)(i * 17 + (unsigned)index);
	return 0;
}

static void fake_stats(struct gsa *allocator, struct gsa_stats *ret)
{
	(void)allocator;
	*ret = (struct gsa_stats){.allocated_bytes = {100 * MIB, 160 * MIB},
				  .allocated_legacy_bytes = {64 * MIB, 64 * MIB},
				  .allocated_async_bytes = {36 * MIB, 96 * MIB},
				  .rounded_bytes = {104 * MIB, 164 * MIB},
				  .pending_bytes = {16 * MIB, 40 * MIB},
				  .idle_bytes = {8 * MIB, 60 * MIB},
				  .reserved_bytes = {128 * MIB, 180 * MIB},
				  .live_count = {3, 9},
				  .allocs = 5000,
				  .frees = 4997,
				  .hits = 4950,
				  .grows = 12,
				  .trims = 3,
				  .fences = 40};
}

static void fake_walk(struct gsa *allocator, const struct gsa_visitor *visitor)
{
	static unsigned walks;
	const uint64_t base = 0x7f1000000000;
	struct gsa_block_info live = {.address = base,
				      .size_bytes = 64 * MIB,
				      .reserved_bytes = 64 * MIB,
				      .segment_address = base,
				      .segment_bytes = 120 * MIB,
				      .owner = 0xc0ffee,
				      .serial = 1,
				      .time_ns = FAKE_START_NS + 1000,
				      .origin = GSA_ORIGIN_LEGACY,
				      .stack = fake.scene == FAKE_TORCH ? 5 : 7,
				      .thread = 4711};
	struct gsa_block_info other = live;
	unsigned extra = walks < fake.grow_walks ? ++walks : fake.grow_walks;

	(void)allocator;
	visitor->segment(visitor->user, GSA_SEGMENT_EXPANDABLE, base, 120 * MIB);
	visitor->block(visitor->user, GSA_BLOCK_LIVE, &live);
	other.address = base + 64 * MIB;
	other.size_bytes = 28 * MIB;
	other.reserved_bytes = 32 * MIB;
	other.origin = GSA_ORIGIN_ASYNC;
	other.stream_id = 7;
	other.pool = 0xabc;
	other.stack = fake.scene == FAKE_TORCH ? 4 : 6;
	other.serial = 2;
	visitor->block(visitor->user, GSA_BLOCK_LIVE, &other);
	other.address = base + 96 * MIB;
	other.size_bytes = other.reserved_bytes = 16 * MIB;
	other.serial = 3;
	visitor->block(visitor->user, GSA_BLOCK_PENDING, &other);
	other.address = base + 112 * MIB;
	other.size_bytes = other.reserved_bytes = 8 * MIB;
	other.serial = 4;
	visitor->block(visitor->user, GSA_BLOCK_IDLE, &other);
	visitor->segment(visitor->user, GSA_SEGMENT_PLAIN, 0x7f2000000000, 8 * MIB);
	live = other;
	live.address = 0x7f2000000000;
	live.serial = 5;
	live.plain = true;
	visitor->block(visitor->user, GSA_BLOCK_LIVE, &live);
	for (unsigned i = 0; i < extra * 100; i++) {
		live.address += MIB;
		visitor->block(visitor->user, GSA_BLOCK_IDLE, &live);
	}
}

static void fake_live_walk(void (*visit)(void *user, const struct gs_live *entry), void *user)
{
	struct gs_live entry = {.size_bytes = 4 * MIB, .time_ns = FAKE_START_NS + 2000, .thread = 4711};

	for (unsigned i = 0; fake.scene == FAKE_TORCH && i < 10; i++) {
		entry.address = 0x7f1000000000 + i * 6 * MIB;
		entry.stack = i < 7 ? 3 : 4;
		entry.live_class = GS_LIVE_TENSOR;
		visit(user, &entry);
	}
	entry = (struct gs_live){.address = 0x7fff00000000,
				 .size_bytes = MIB,
				 .time_ns = FAKE_START_NS + 500,
				 .stack = 6,
				 .thread = 4711,
				 .live_class = GS_LIVE_HOST,
				 .device = 255};
	visit(user, &entry);
}

static struct gs_live_total fake_live_total(enum gs_live_class live_class, uint8_t device)
{
	if (live_class == GS_LIVE_TENSOR && device == 0 && fake.scene == FAKE_TORCH)
		return (struct gs_live_total){40 * MIB, 48 * MIB, 10, 12, 30};
	if (live_class == GS_LIVE_HOST && device == 255)
		return (struct gs_live_total){MIB, 2 * MIB, 1, 2, 2};
	return (struct gs_live_total){0};
}

static uint64_t fake_live_dropped(void)
{
	return 0;
}

/* --- launches ---------------------------------------------------------------------------------------------------- */

static bool fake_error_read(struct gs_sticky_error *ret)
{
	*ret = (struct gs_sticky_error){CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaMalloc",
					FAKE_START_NS + 900000,	    4,				  4711, 0};
	return fake.scene == FAKE_ERROR;
}

/* With PyTorch: put off, and replayed. */
static uint64_t fake_put_off(enum gs_submit_kind kind)
{
	return fake.scene != FAKE_TORCH ? 0 : kind == GS_SUBMIT_LAUNCH ? 42418 : kind == GS_SUBMIT_RECORD ? 96 : 0;
}

static uint64_t fake_made_at_once(enum gs_submit_reason reason)
{
	return fake.scene != FAKE_TORCH ? 0 : reason == GS_SUBMIT_FOR_UNKNOWN ? 311 : reason == GS_SUBMIT_FOR_RESTS ? 12 : 0;
}

static size_t fake_flushes(struct gs_submit_flush *flushes, size_t limit, uint64_t *ret_count, uint64_t *ret_ns)
{
	if (fake.scene == FAKE_TORCH && limit >= 2) {
		flushes[0] = (struct gs_submit_flush){"cuStreamSynchronize", 179, 4100000};
		flushes[1] = (struct gs_submit_flush){"cuMemcpyHtoDAsync_v2", 173, 350000};
	}
	*ret_count = fake.scene == FAKE_TORCH ? 352 : 0;
	*ret_ns = fake.scene == FAKE_TORCH ? 4450000 : 0;
	return fake.scene == FAKE_TORCH ? 2 : 0;
}

static const struct gsg_replay_stats *fake_graph_stats(void)
{
	static struct gsg_replay_stats stats = {
		.launches = 42418,
		.replayed = 39000,
		.plain = {[GSG_PLAIN_NO_TRACE] = 3000, [GSG_PLAIN_MISMATCH] = 418},
		.falls = {[GSG_PLAIN_MISMATCH] = 33},
		.graph_launches = 609,
		.patched = 1200,
		.periods = 4,
		.built = 3,
		.suspended = 1,
		.live = 2,
		.live_bytes = 5 << 20,
		.build_ns = 1800000,
		.saved_ns = 51000000,
	};

	return fake.scene == FAKE_TORCH ? &stats : NULL;
}

/* Stream 7: good kernels, of which the first 20 are done, and in the end the bad one; a copy on stream 8. */
static size_t fake_launch_read(struct gs_launch *launches, size_t capacity, uint64_t *ret_lost)
{
	size_t count = fake.scene == FAKE_ERROR ? 26 : 0;

	for (size_t i = 0; i < count && i < capacity; i++)
		launches[i] = (struct gs_launch){.time_ns = FAKE_START_NS + 1000 * i,
						 .stream = i == 25 ? 8 : 7,
						 .name = i == 24 ? S_BAD_KERNEL : i == 25 ? S_LOAD : S_GOOD_KERNEL,
						 .stack = i == 24 ? 2 : i == 25 ? 4 : 3,
						 .thread = 4711,
						 .kind = i == 25 ? GS_WORK_COPY : GS_WORK_KERNEL,
						 .state = i < 20 ? GS_WORK_DONE : GS_WORK_OPEN};
	if (ret_lost != NULL)
		*ret_lost = 0;
	return count;
}

/* --- the rest ---------------------------------------------------------------------------------------------------- */

/* With PyTorch: item() in the layer, by a copy and a wait; a copy from pageable memory in load; a full queue. Short copies. */
static size_t fake_wait_count(void)
{
	return fake.scene == FAKE_TORCH ? 5 : 0;
}

static void fake_wait_read(size_t index, struct gs_wait *ret)
{
	static const struct gs_wait waits[] = {
		{S_COPY_UP, GS_CLASS_COPY_ASYNC, 3, GS_COPY_TO_HOST, GS_HOST_MEMORY_PAGEABLE, 300, 299, 100, 119000, 2400000, 90000, 1200, 0, 0, 0, 0, 0, 0, 0, 0},
		{S_STREAM_SYNC, GS_CLASS_SYNC, 3, GS_COPY_NONE, GS_HOST_MEMORY_NONE, 300, 299, 100, 119000, 2500000000, 31000000, 0,
		 10, 20000, 0, 290, 14500000, 0, 0, 0},
		{S_COPY_DOWN, GS_CLASS_COPY_ASYNC, 4, GS_COPY_TO_DEVICE, GS_HOST_MEMORY_PAGEABLE, 20, 19, 90, 100000, 400000000, 25000000,
		 20 * 64 * MIB, 0, 0, 0, 0, 0, 0, 0, 0},
		{S_LAUNCH, GS_CLASS_LAUNCH, 2, GS_COPY_NONE, GS_HOST_MEMORY_NONE, 900, 899, 0, 120000, 280000000, 700000, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{S_COPY_DOWN, GS_CLASS_COPY_ASYNC, 0, GS_COPY_TO_DEVICE, GS_HOST_MEMORY_PINNED, 1000, 0, 90, 90, 2000000, 5000, 1024 * MIB, 0, 0, 0, 0, 0, 0, 0, 0},
	};

	*ret = waits[index];
}

/* With PyTorch: a tensor of the layer is used by load, on another stream, while the layer may still work on it. */
static size_t fake_crossing_count(void)
{
	return fake.scene == FAKE_TORCH ? 1 : 0;
}

static void fake_crossing_read(size_t index, struct gs_crossing *ret)
{
	(void)index;
	*ret = (struct gs_crossing){GS_CROSSING_REUSED, 4, S_COPY_DOWN, 3, S_LONG_KERNEL, 8, 7, 0x7f1000000000, 4 * MIB, 12};
}

/* With PyTorch: a kernel with a long name from two lines, another one, a graph; a copy, which is no launch. */
static size_t fake_kernel_count(void)
{
	return fake.scene == FAKE_TORCH ? 5 : 0;
}

static void fake_kernel_read(size_t index, struct gs_kernel *ret)
{
	static const struct gs_kernel kernels[] = {
		{S_LONG_KERNEL, 3, GS_WORK_KERNEL, 70000, 200000000, 400, 20000000, 700, 1400000},
		{S_LONG_KERNEL, 4, GS_WORK_KERNEL, 10000, 40000000, 0, 0, 0, 0},
		{S_GOOD_KERNEL, 3, GS_WORK_KERNEL, 39000, 120000000, 500, 12000000, 390, 39000000},
		{S_GRAPH, 2, GS_WORK_GRAPH, 1000, 24000000, 0, 0, 10, 200000},
		{S_COPY_DOWN, 4, GS_WORK_COPY, 20, 400000000, 20, 400000000, 0, 0},
	};

	*ret = kernels[index];
}

/* With PyTorch: training, its layers, and a step that took long because memory was asked for. */
static size_t fake_loop_count(void)
{
	return fake.scene == FAKE_TORCH ? 2 : 0;
}

static void fake_loop_read(size_t index, struct gs_loop *ret)
{
	static const struct gs_loop loops[] = {
		{GS_LOOP_FOUND, S_LONG_KERNEL, 3, 4711, 300, 12000000000, 38000000, 60000000, 900000000,
		 {120000, 384000000, 4220000000, 32000000, 600, 2900000000, 300000000, 2, 860000000, 1, 300000, 20 * 64 * MIB, 1200}},
		{GS_LOOP_INNER, S_GOOD_KERNEL, 3, 4711, 24, 1000000, 40000, 50000, 60000, {0}},
	};

	*ret = loops[index];
}

static size_t fake_step_read(struct gs_step *steps, size_t capacity)
{
	size_t count = fake.scene == FAKE_TORCH ? 20 : 0;

	for (size_t i = 0; i < count && i < capacity; i++)
		steps[i] = (struct gs_step){
			.loop = 0,
			.number = i == 0 ? 7 : 280 + i,
			.begin_ns = FAKE_START_NS + 40000000 * (i == 0 ? 7 : 280 + i),
			.wall_ns = i == 0 ? 900000000 : 38000000 + 10000 * i,
			.figures = {i == 0 ? 420 : 400, 1280000, 14000000, 100000, 2, 9600000, 1000000, i == 0 ? 2 : 0, i == 0 ? 860000000 : 0,
				    0, 0, 4 * MIB, 4},
		};
	return count;
}

static size_t fake_counter_count(void)
{
	return 4;
}

static void fake_counter_read(size_t index, struct gs_counter *ret)
{
	static const struct gs_counter counters[] = {
	    {"cudaMalloc", "runtime", "alloc", 5000, 1500000},
	    {"cuLaunchKernel", "driver", "launch", 120000, 384000000},
	    {"cuMemAlloc_v2", "driver", "alloc", 0, 0},
	    {"cuStreamSynchronize", "driver", "sync", 300, 2500000000},
	};

	*ret = counters[index];
}

static void fake_process_read(struct gs_snapshot_process *process)
{
	static const char command[] = "python\0train.py\0--name=\xff\"x\"";

	process->start_wall_ns = 1800000000000000000ull;
	process->start_monotonic_ns = FAKE_START_NS;
	process->dump_wall_ns = process->start_wall_ns + 12345678901ull;
	process->dump_monotonic_ns = FAKE_START_NS + 12345678901ull;
	process->rank = 3;
	process->pid = 4711;
	process->ppid = 4000;
	strcpy(process->folder, "/home/user/job");
	strcpy(process->conf_text, "snapshot:exit+oom,stacks:python");
	strcpy(process->hostname, "node7");
	strcpy(process->executable, "/usr/bin/python3.12");
	memcpy(process->command, command, sizeof(command));
	process->command_bytes = sizeof(command);
}

static size_t fake_threads_read(struct gs_snapshot_thread *threads, size_t capacity)
{
	for (size_t i = 0; i < 2 && i < capacity; i++) {
		threads[i].tid = 4711 + (uint32_t)i;
		strcpy(threads[i].name, i == 0 ? "python" : "pt_autograd_0");
	}
	return 2;
}

static const struct gs_snapshot_source fake_source = {
    .conf = &fake.conf,
    .device_count = fake_device_count,
    .device_read = fake_device_read,
    .allocator_stats = fake_stats,
    .allocator_walk = fake_walk,
    .live_walk = fake_live_walk,
    .live_total = fake_live_total,
    .live_dropped = fake_live_dropped,
    .ring_begin = fake_ring_begin,
    .ring_end = fake_ring_end,
    .ring_added = fake_ring_added,
    .ring_read = fake_ring_read,
    .wait_count = fake_wait_count,
    .wait_read = fake_wait_read,
    .crossing_count = fake_crossing_count,
    .crossing_read = fake_crossing_read,
    .kernel_count = fake_kernel_count,
    .kernel_read = fake_kernel_read,
    .loop_count = fake_loop_count,
    .loop_read = fake_loop_read,
    .step_read = fake_step_read,
    .stack_count = fake_stack_count,
    .frame_count = fake_frame_count,
    .string_count = fake_string_count,
    .module_count = fake_module_count,
    .stack_read = fake_stack,
    .frame_read = fake_frame,
    .string_read = fake_string,
    .module_read = fake_module,
    .stack_counters = fake_stack_counters,
    .launch_read = fake_launch_read,
    .error_read = fake_error_read,
    .put_off = fake_put_off,
    .made_at_once = fake_made_at_once,
    .flushes = fake_flushes,
    .graph_stats = fake_graph_stats,
    .counter_count = fake_counter_count,
    .counter_read = fake_counter_read,
    .process_read = fake_process_read,
    .threads_read = fake_threads_read,
};

static int fake_self_base(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	*(uint64_t *)user = info->dlpi_addr;
	return 1; /* the first one is the program */
}

/* The return address of a call at the start of fake_known_function stands for its frame. */
static void fake_init(enum fake_scene scene, uint64_t event_count, uint64_t event_first)
{
	uint64_t base = 0;
	ssize_t length = readlink("/proc/self/exe", fake.self_path, sizeof(fake.self_path) - 1);

	fake.self_path[length < 0 ? 0 : length] = '\0';
	dl_iterate_phdr(fake_self_base, &base);
	fake.self_offset = (uint64_t)(uintptr_t)fake_known_function - base + 1;
	fake.scene = scene;
	fake.event_count = event_count;
	fake.event_first = event_first;
	fake.grow_walks = 0;
	memset(&fake.conf, 0, sizeof(fake.conf));
	gs_conf_init(&fake.conf);
	if (event_count == 0)
		fake.conf.history = 0;
}

#endif
