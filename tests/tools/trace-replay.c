/* trace-replay TRACE.csv[.gz] [--api async|sync|torch|none] [--passes N] [--pending] [--outside] [--json]
 *
 * Replays an allocation trace of a real program through cudaMallocAsync and cudaFreeAsync, through cudaMalloc and
 * cudaFree, through PyTorch's allocator as PYTORCH_ALLOC_CONF chooses it, or not at all, for what the replay costs
 * itself (route.h). Says what an operation costs and what the process then holds on the device. Runs with and without the
 * shim, on a real or a simulated device.
 *
 * What a trace is: trace.h. Free requested and free completed differ when another stream still used the block. With
 * --pending the replay keeps that: the free goes to a stream (a *lane*) that a gate keeps busy until c, so that the
 * memory is pending exactly as long as it was. Gates are stream memory operations, which the timings then include.
 *
 * What the process holds: by the shim's own figures where it is loaded, because its cudaMemGetInfo counts idle memory
 * as free; otherwise what is missing from cudaMemGetInfo, looked at where most is live and at the end of each pass,
 * which is true only if nothing else uses the device. With --outside somebody else looks: the line "ready" on standard
 * output says that all is set up, and the replay begins when it reads a line. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/gpushim.h"
#include "tests/tools/route.h"
#include "tests/tools/trace.h"

enum { MAX_LANES = 1024 };

/* What is known about one id during a pass. */
struct slot {
	void *address; /* NULL = not live */
	uint32_t lane; /* of a late free: number of its lane + 1 */
};

struct lane {
	cudaStream_t stream;
	uint32_t closed; /* its gate is open once gates[lane] has reached this */
};

struct settings {
	const char *path;
	const struct route *route;
	unsigned passes;
	bool pending, outside, json;
};

struct figures {
	double first_ns, last_ns; /* per operation */
	double least_ns;	  /* of the passes after the first; 0: there was none */
	uint64_t ops;             /* of one pass */
	uint64_t held_bytes;      /* highest seen */
	uint64_t failures;
	uint64_t driver_calls; /* allocations of the last pass that were not served from held memory; only with the shim */
};

struct replay {
	const struct settings *settings;
	const struct trace *trace;
	struct slot *slots;
	cudaStream_t streams[TRACE_STREAMS_MAX]; /* [0] = the default stream, as PyTorch numbers them */
	struct lane lanes[MAX_LANES];
	uint32_t idle_lanes[MAX_LANES];
	uint32_t lane_count, idle_lane_count;
	volatile uint32_t *gates; /* pinned; one word a lane */
	__typeof__(&cuStreamWaitValue32) wait_value;
	__typeof__(&gpushim_stats) shim_stats; /* NULL: the shim is not loaded */
	size_t free_bytes_before;
	struct figures figures;
};

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("trace-replay: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(2);
}

static void check(cudaError_t rc, const char *what)
{
	if (rc != cudaSuccess)
		die("%s: %s", what, cudaGetErrorString(rc));
}

/* --- lanes ------------------------------------------------------------------------------------------------------- */

static void lanes_prepare(struct replay *replay)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *gates;

	if (driver)
		replay->wait_value = (__typeof__(replay->wait_value))dlsym(driver, "cuStreamWaitValue32_v2");
	if (!replay->wait_value)
		die("--pending needs stream memory operations, which this driver does not have");
	check(cudaHostAlloc(&gates, MAX_LANES * sizeof(*replay->gates), cudaHostAllocPortable), "cudaHostAlloc");
	memset(gates, 0, MAX_LANES * sizeof(*replay->gates));
	replay->gates = gates;
}

/* A stream that stays busy until lane_open. */
static uint32_t lane_close(struct replay *replay)
{
	uint32_t number;
	struct lane *lane;

	if (!replay->idle_lane_count) {
		if (replay->lane_count == MAX_LANES)
			die("more than %d blocks pending at once", MAX_LANES);
		number = replay->lane_count++;
		check(cudaStreamCreateWithFlags(&replay->lanes[number].stream, cudaStreamNonBlocking),
		      "cudaStreamCreate");
	} else {
		number = replay->idle_lanes[--replay->idle_lane_count];
	}
	lane = &replay->lanes[number];
	lane->closed++;
	if (replay->wait_value(lane->stream, (CUdeviceptr)(uintptr_t)&replay->gates[number], lane->closed,
			       CU_STREAM_WAIT_VALUE_GEQ))
		die("--pending needs stream memory operations, which this device does not have");
	return number;
}

static void lane_open(struct replay *replay, uint32_t number)
{
	replay->gates[number] = replay->lanes[number].closed;
	replay->idle_lanes[replay->idle_lane_count++] = number;
}

/* --- one pass ---------------------------------------------------------------------------------------------------- */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct gpushim_stats shim_stats_read(const struct replay *replay)
{
	struct gpushim_stats stats = {0};

	replay->shim_stats(0, &stats, sizeof(stats));
	return stats;
}

static void look_at_held(struct replay *replay)
{
	size_t free_bytes, total_bytes;

	if (replay->shim_stats) {
		replay->figures.held_bytes = shim_stats_read(replay).reserved_peak_bytes;
		return;
	}
	check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
	if (free_bytes < replay->free_bytes_before &&
	    replay->free_bytes_before - free_bytes > replay->figures.held_bytes)
		replay->figures.held_bytes = replay->free_bytes_before - free_bytes;
}

static void block_alloc(struct replay *replay, const struct op *op)
{
	size_t size_bytes = op->size_bytes ? op->size_bytes : 1;
	void **address = &replay->slots[op->id].address;

	if (!replay->settings->route->alloc(address, size_bytes, replay->streams[op->stream])) {
		*address = NULL;
		replay->figures.failures++;
		cudaGetLastError();
	}
}

static void block_free(struct replay *replay, const struct op *op)
{
	struct slot *slot = &replay->slots[op->id];
	cudaStream_t stream = replay->streams[op->stream];

	if (!slot->address)
		return;
	if (op->late && replay->settings->pending) {
		uint32_t lane = lane_close(replay);

		slot->lane = lane + 1;
		stream = replay->lanes[lane].stream;
	}
	if (!replay->settings->route->free(slot->address, stream))
		replay->figures.failures++;
	slot->address = NULL;
}

static void block_complete(struct replay *replay, const struct op *op)
{
	struct slot *slot = &replay->slots[op->id];

	if (slot->lane)
		lane_open(replay, slot->lane - 1);
	slot->lane = 0;
}

/* Frees what the trace left alive and waits, so that every pass starts alike. */
static void pass_end(struct replay *replay)
{
	for (uint32_t id = 0; id < replay->trace->id_count; id++) {
		struct op op = {.id = id, .kind = OP_FREE};

		block_complete(replay, &op);
		block_free(replay, &op);
	}
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

static uint64_t shim_misses(const struct replay *replay)
{
	struct gpushim_stats stats = {0};

	if (replay->shim_stats)
		stats = shim_stats_read(replay);
	return stats.allocations - stats.hits;
}

/* Returns the time of an operation; looking at what is held is not part of it. */
static double pass_run(struct replay *replay)
{
	const struct trace *trace = replay->trace;
	size_t peak_index = replay->settings->pending ? trace->peak_live_pending_index : trace->peak_live_index;
	uint64_t misses = shim_misses(replay), ops = 0;
	double start = now_ns(), aside = 0, end;

	for (size_t i = 0; i < trace->count; i++) {
		const struct op *op = &trace->ops[i];

		if (op->kind == OP_COMPLETE) {
			block_complete(replay, op);
		} else {
			if (op->kind == OP_ALLOC)
				block_alloc(replay, op);
			else
				block_free(replay, op);
			ops++;
		}
		if (i == peak_index) {
			double looking = now_ns();

			look_at_held(replay);
			aside += now_ns() - looking;
		}
	}
	end = now_ns();
	replay->figures.ops = ops;
	replay->figures.driver_calls = shim_misses(replay) - misses;
	look_at_held(replay);
	return (end - start - aside) / (double)ops;
}

/* Tells who samples from outside that the operations come next, and waits for the answer. */
static void await_outside(void)
{
	puts("ready");
	fflush(stdout);
	for (int byte = 0; byte != '\n';) {
		byte = getchar();
		if (byte == EOF)
			die("--outside: standard input ended before a line came");
	}
}

static void replay_run(struct replay *replay)
{
	const struct settings *settings = replay->settings;
	const char *why;
	size_t total_bytes;

	replay->slots = calloc(replay->trace->id_count, sizeof(*replay->slots));
	if (!replay->slots)
		die("out of host memory");
	replay->shim_stats = (__typeof__(replay->shim_stats))dlsym(RTLD_DEFAULT, "gpushim_stats");
	check(cudaFree(NULL), "cannot start CUDA");
	for (unsigned i = 1; i < replay->trace->stream_count; i++)
		check(cudaStreamCreateWithFlags(&replay->streams[i], cudaStreamNonBlocking), "cudaStreamCreate");
	why = settings->route->prepare();
	if (why)
		die("--api %s: %s", settings->route->name, why);
	if (settings->pending)
		lanes_prepare(replay);
	if (settings->outside)
		await_outside();
	check(cudaMemGetInfo(&replay->free_bytes_before, &total_bytes), "cudaMemGetInfo");
	for (unsigned pass = 0; pass < settings->passes; pass++) {
		replay->figures.last_ns = pass_run(replay);
		if (pass == 0)
			replay->figures.first_ns = replay->figures.last_ns;
		else if (pass == 1 || replay->figures.last_ns < replay->figures.least_ns)
			replay->figures.least_ns = replay->figures.last_ns;
		pass_end(replay);
	}
}

/* --- the program ------------------------------------------------------------------------------------------------- */

static void print_figures(const struct replay *replay)
{
	const struct trace *trace = replay->trace;
	const struct figures *figures = &replay->figures;
	uint64_t needed =
		replay->settings->pending ? trace->peak_live_pending_bytes : trace->peak_live_bytes;
	double ratio = (double)figures->held_bytes / (double)needed;
	char driver_calls[32] = "null";

	if (replay->shim_stats)
		snprintf(driver_calls, sizeof(driver_calls), "%" PRIu64, figures->driver_calls);
	if (replay->settings->json)
		printf("{\"ns_per_op_first\": %.1f, \"ns_per_op\": %.1f, \"ns_per_op_least\": %.1f, \"ops\": %" PRIu64 ", \"peak_live_bytes\": %" PRIu64
		       ", \"peak_live_pending_bytes\": %" PRIu64 ", \"peak_held_bytes\": %" PRIu64
		       ", \"ratio\": %.4f, \"driver_calls_last_pass\": %s, \"failures\": %" PRIu64 "}\n",
		       figures->first_ns, figures->last_ns, figures->least_ns, figures->ops, trace->peak_live_bytes,
		       trace->peak_live_pending_bytes, figures->held_bytes, ratio, driver_calls, figures->failures);
	else
		printf("%s: %" PRIu64 " operations, %.0f ns each (first pass %.0f); held %.1f MiB = %.4f x %s; "
		       "driver calls in the last pass: %s; %" PRIu64 " failures\n",
		       replay->settings->route->name, figures->ops, figures->last_ns, figures->first_ns,
		       (double)figures->held_bytes / 1048576, ratio,
		       replay->settings->pending ? "(live + pending)" : "live", driver_calls, figures->failures);
}

#define USAGE "trace-replay TRACE.csv[.gz] [--api async|sync|torch|none] [--passes N] [--pending] [--outside] [--json]"

static struct settings parse_arguments(int count, char **words)
{
	struct settings settings = {.passes = 5, .route = route_find("async")};

	for (int i = 1; i < count; i++) {
		const char *value = i + 1 < count ? words[i + 1] : "";

		if (!strcmp(words[i], "--pending")) {
			settings.pending = true;
		} else if (!strcmp(words[i], "--outside")) {
			settings.outside = true;
		} else if (!strcmp(words[i], "--json")) {
			settings.json = true;
		} else if (!strcmp(words[i], "--api") && route_find(value)) {
			settings.route = route_find(value);
			i++;
		} else if (!strcmp(words[i], "--passes") && atoi(value) > 0) {
			settings.passes = (unsigned)atoi(value);
			i++;
		} else if (words[i][0] != '-' && !settings.path) {
			settings.path = words[i];
		} else {
			die("%s? usage: " USAGE, words[i]);
		}
	}
	if (!settings.path)
		die("usage: " USAGE);
	if (settings.pending && !settings.route->frees_on_any_stream)
		die("--pending needs --api async: others do not free on a stream that the replay keeps busy");
	return settings;
}

int main(int count, char **words)
{
	struct settings settings = parse_arguments(count, words);
	static struct replay replay;
	struct trace trace;
	char why[TRACE_WHY_BYTES];

	if (!trace_load(&trace, settings.path, why))
		die("%s %s", settings.path, why);
	replay.settings = &settings;
	replay.trace = &trace;
	replay_run(&replay);
	print_figures(&replay);
	return replay.figures.failures != 0;
}
