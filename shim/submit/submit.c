/* See submit.h. */
#include "shim/submit/submit.h"

#include <stdlib.h>
#include <string.h>

#include "graph/launch.h"
#include "graph/queue.h"
#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/processors.h"
#include "shim/core/conf.h"
#include "shim/core/device.h"
#include "shim/core/epoch.h"
#include "shim/core/order.h"
#include "shim/core/params.h"
#include "shim/submit/graph.h"
#include "shim/submit/known.h"
#include "shim/submit/make.h"

#define RING_BYTES (4u << 20)
#define SPIN_NS 100000u	    /* longer than most programs take from one launch to the next */
#define SPIN_SHORT_NS 20000u /* where a spinning thread takes the processor away from somebody */
#define SPIN_PROCESSORS 4u
#ifdef GSB_DEBUG
#define HOLD_NS 1000000u /* tests are slow, and want to see graphs */
#define HOLD_LATE_NS 1000000000u
#else
#define HOLD_NS 5000u	     /* to wait for the rest of a graph's launches: about what it takes to make one */
#define HOLD_LATE_NS 100000u /* the same for a stream while others get launches, if no deadline is set */
#endif
#define ATTRIBUTE_LIMIT 8u
#define SAMPLE_TICKS 1000000000u /* to turn a time into ticks */

enum { RECORD_LAUNCH = 1, RECORD_DROP };

_Atomic bool gs_submit_on, gs_submit_started;
_Atomic int gs_submit_failed;

static struct gsg_queue queue;
static bool graphs; /* launches go by way of graph.h: constant once the queue has started */
static _Atomic uint64_t changes; /* of what launches depend on, beside the epoch */

/* --- on and off ---------------------------------------------------------------------------------------------------- */

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

/* NULL: it can work. */
static const char *obstacle(void)
{
	if (is_set("CUDA_LAUNCH_BLOCKING"))
		return "CUDA_LAUNCH_BLOCKING is set";
	if (is_set("CUDA_INJECTION64_PATH"))
		return "a tool is injected";
	if (!gs_params_known() || gs_driver.cuFuncGetName == NULL || gs_driver.cuKernelGetName == NULL)
		return "the driver is older than 12.4"; /* H24 */
	if (gsb_processors() < 2)
		return "the process has one processor";
	return NULL;
}

void gs_submit_start(void)
{
	const char *why, *key = gs_conf.graph == GS_GRAPH_AUTO ? "graph:auto" : "submit:thread";

	if (gs_conf.submit != GS_SUBMIT_THREAD && gs_conf.graph != GS_GRAPH_AUTO)
		return;
	why = obstacle();
	if (why != NULL)
		gsb_log(GSB_LOG_INFO, "%s does nothing here: %s", key, why);
	else
		atomic_store(&gs_submit_on, true);
}

void gs_submit_stop(const char *why)
{
	if (atomic_exchange(&gs_submit_on, false))
		gsb_log(GSB_LOG_INFO, "launches are no longer put off: %s", why);
}

static void tell_graphs(void)
{
	static const char *const texts[GSG_PLAIN_COUNT] = {
#define TEXT(name, key, text) [GSG_PLAIN_##name] = (text),
		GSG_PLAIN_REASONS(TEXT)
#undef TEXT
	};
	const struct gsg_replay_stats *stats = gs_graph_stats();

	if (stats == NULL || atomic_load(&stats->launches) == 0)
		return;
	gsb_log(GSB_LOG_DEBUG, "%llu of %llu launches were made by %llu graphs, %llu of them with other arguments, in %llu launches",
		(unsigned long long)atomic_load(&stats->replayed), (unsigned long long)atomic_load(&stats->launches),
		(unsigned long long)atomic_load(&stats->built), (unsigned long long)atomic_load(&stats->patched),
		(unsigned long long)atomic_load(&stats->graph_launches));
	for (unsigned reason = 0; reason < GSG_PLAIN_COUNT; reason++)
		if (atomic_load(&stats->plain[reason]) != 0)
			gsb_log(GSB_LOG_DEBUG, "%llu were made one by one: %s", (unsigned long long)atomic_load(&stats->plain[reason]),
				texts[reason]);
}

void gs_submit_drop_graphs(void)
{
	if (!atomic_load(&gs_submit_started) || !graphs)
		return;
	if (gsg_queue_put_begin(&queue, RECORD_DROP, sizeof(struct gsg_record), __builtin_ia32_rdtsc()) != NULL)
		gsg_queue_put_end(&queue);
	gsg_queue_catch_up(&queue);
}

void gs_submit_end_graphs(const char *why)
{
	gs_graph_stop(why);
	gs_submit_drop_graphs();
}

uint64_t gs_submit_trim(void)
{
	uint64_t bytes = atomic_load(&gs_submit_started) && graphs ? atomic_load(&gs_graph_stats()->live_bytes) : 0;

	if (bytes != 0)
		gs_submit_drop_graphs();
	return bytes;
}

void gs_submit_end(void)
{
	atomic_store(&gs_submit_on, false);
	if (!atomic_load(&gs_submit_started))
		return;
	gs_submit_drop_graphs();
	gsg_queue_close(&queue);
	tell_graphs();
	if (atomic_load(&queue.stats.records) != 0)
		gsb_log(GSB_LOG_DEBUG, "%llu launches were put off, %llu flushes waited %llu us for them",
			(unsigned long long)atomic_load(&queue.stats.records),
			(unsigned long long)atomic_load(&queue.stats.flushes),
			(unsigned long long)atomic_load(&queue.stats.flush_wait_ns) / 1000);
}

void gs_submit_after_fork(void)
{
	atomic_store(&gs_submit_on, false);
	if (atomic_load(&gs_submit_started))
		gsg_queue_forget(&queue);
	atomic_store(&gs_submit_started, false);
	gs_attribute_reset_locks();
}

void gs_submit_flush_queue(void)
{
	gsg_queue_flush(&queue);
}

uint64_t gs_submit_epoch(void)
{
	return gs_epoch() + atomic_load(&changes); /* both only grow */
}

void gs_submit_forget(void)
{
	atomic_fetch_add(&changes, 1);
}

void gs_submit_code_gone(void)
{
	if (!atomic_load(&gs_submit_on))
		return;
	gs_attribute_forget();
	gs_submit_forget();
}

bool gs_submit_attribute_stays(const struct gs_attribute *attribute, int value)
{
	if (atomic_load(&gs_submit_on) && gs_attribute_is(attribute, value))
		return true;
	gs_submit_flush();
	gs_submit_drop_graphs();
	return false;
}

void gs_submit_attribute_set(const struct gs_attribute *attribute, int value)
{
	if (!atomic_load(&gs_submit_on))
		return;
	gs_attribute_keep(attribute, value);
	gs_submit_forget();
}

/* --- the queue's thread -------------------------------------------------------------------------------------------- */

bool gs_make_enter(uint64_t context_id, void *context)
{
	static uint64_t current_id; /* of the queue's thread, which alone comes here */

	if (context_id == current_id)
		return true;
	if (gs_driver.cuCtxSetCurrent(context) != CUDA_SUCCESS)
		return false;
	current_id = context_id;
	return true;
}

static CUresult launch_packed(const struct gsg_shape *shape, const CUlaunchConfig *config, void *values)
{
	size_t size_bytes = shape->values_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, values, CU_LAUNCH_PARAM_BUFFER_SIZE, &size_bytes,
			 CU_LAUNCH_PARAM_END};

	return gs_driver.cuLaunchKernelEx(config, shape->function, NULL, extra);
}

static CUresult launch(const struct gsg_launch *record)
{
	const struct gsg_shape *shape = &record->shape;
	const struct gs_params *layout = shape->layout;
	unsigned char *values = (unsigned char *)(uintptr_t)gsg_launch_values(record); /* the driver only reads */
	CUlaunchConfig config = {
		.gridDimX = shape->grid[0],
		.gridDimY = shape->grid[1],
		.gridDimZ = shape->grid[2],
		.blockDimX = shape->block[0],
		.blockDimY = shape->block[1],
		.blockDimZ = shape->block[2],
		.sharedMemBytes = shape->shared_bytes,
		.hStream = shape->stream,
		.numAttrs = shape->attribute_bytes / sizeof(CUlaunchAttribute),
	};
	void *params[GS_PARAMS_LIMIT];

	if (config.numAttrs != 0)
		config.attrs = (CUlaunchAttribute *)((uintptr_t)gsg_launch_attributes(record));
	if (layout == NULL)
		return launch_packed(shape, &config, values);
	for (uint32_t i = 0; i < layout->count; i++)
		params[i] = values + layout->each[i].offset;
	return gs_driver.cuLaunchKernelEx(&config, shape->function, params, NULL);
}

void gs_make_launch(const struct gsg_launch *record)
{
	CUresult result = CUDA_ERROR_INVALID_CONTEXT;
	int none = 0;

	if (gs_make_enter(record->shape.context_id, record->context))
		result = launch(record);
	if (result == CUDA_SUCCESS)
		return;
	atomic_compare_exchange_strong(&gs_submit_failed, &none, (int)result);
	gs_submit_stop("the driver refused one");
}

static uint64_t run(void *user, const struct gsg_record *head, uint64_t position)
{
	(void)user;
	gs_thread.inside = 1;
	if (head->kind == RECORD_DROP)
		gs_graph_forget();
	else if (graphs)
		return gs_graph_launch((const struct gsg_launch *)head, position);
	else
		gs_make_launch((const struct gsg_launch *)head);
	return GSG_NONE_HELD;
}

static uint64_t ticks_of(uint64_t ns)
{
	uint64_t sample_ns = gs_ticks_to_ns(SAMPLE_TICKS);

	return sample_ns != 0 ? ns * SAMPLE_TICKS / sample_ns : 0;
}

/* The first thread that comes starts it; who comes meanwhile makes its launches itself. */
static bool start_queue(void)
{
	static atomic_flag tried = ATOMIC_FLAG_INIT;
	struct gsg_queue_options options = {.ring_bytes = RING_BYTES};

	if (atomic_load(&gs_submit_started))
		return true;
	if (atomic_flag_test_and_set(&tried))
		return false;
	options.spin_ns = gsb_processors() >= SPIN_PROCESSORS ? SPIN_NS : SPIN_SHORT_NS;
	options.late_ticks = ticks_of(gs_conf.submit_deadline_us * 1000);
	options.settle = gs_graph_settle;
	options.hold_ns = HOLD_NS;
	graphs = gs_graph_start(options.late_ticks != 0 ? options.late_ticks : ticks_of(HOLD_LATE_NS));
#ifdef GSB_DEBUG
	options.eager = true;
#endif
	if (gsg_queue_start(&queue, run, NULL, &options) != GS_OK) {
		gs_submit_stop("no thread could be made");
		return false;
	}
	atomic_store(&gs_submit_started, true);
	return true;
}

/* --- what may be put off ------------------------------------------------------------------------------------------- */

/* Attributes that say how a kernel runs, and nothing of what else happens: no event, no node, no other kernel. */
static bool attribute_allowed(const CUlaunchAttribute *attribute)
{
	switch (attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		return true;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		return attribute->value.cooperative == 0;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		return attribute->value.programmaticStreamSerializationAllowed == 0;
	default:
		return false;
	}
}

static bool attributes_allowed(const CUlaunchConfig *config)
{
	if (config->numAttrs > ATTRIBUTE_LIMIT || (config->numAttrs != 0 && config->attrs == NULL))
		return false;
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (!attribute_allowed(&config->attrs[i]))
			return false;
	return true;
}

static bool is_allowed(const struct gs_call *call, const struct gs_submit_launch *launch)
{
	return launch->config != NULL && launch->config->hStream != CU_STREAM_PER_THREAD &&
	       !gs_fn_info[call->fn].per_thread && (launch->params == NULL || launch->extra == NULL) &&
	       attributes_allowed(launch->config) && !gs_order_capturing() && !gs_order_broken() && !gs_order_blind();
}

static bool key_of(const struct gs_submit_launch *launch, struct gs_context *ret_context, struct gs_known_key *ret_key)
{
	const CUlaunchConfig *config = launch->config;

	if (!gs_context_current(ret_context))
		return false;
	*ret_key = (struct gs_known_key){
		.epoch = launch->epoch,
		.context_id = ret_context->id,
		.function = launch->function,
		.stream = config->hStream,
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.shared_bytes = config->sharedMemBytes,
		.attribute_count = config->numAttrs,
		.attributes = gs_known_hash(config->attrs, config->numAttrs * sizeof(*config->attrs)),
	};
	return true;
}

/* The program's own packed buffer. */
static bool packed_of(void **extra, const void **ret_values, size_t *ret_bytes)
{
	*ret_values = NULL;
	*ret_bytes = 0;
	for (unsigned i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (i == 4)
			return false;
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*ret_values = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*ret_bytes = *(const size_t *)extra[i + 1];
		else
			return false;
	}
	return *ret_bytes <= GS_PARAMS_BYTES_LIMIT && (*ret_bytes == 0 || *ret_values != NULL);
}

/* The gaps between them, too, so that equal parameters are equal bytes. */
static void copy_values(unsigned char *values, const struct gs_params *params, void *const *pointers)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < params->count; i++) {
		const struct gs_param *param = &params->each[i];

		for (; end < param->offset; end++)
			values[end] = 0;
		memcpy(values + param->offset, pointers[i], param->size_bytes);
		end = param->offset + param->size_bytes;
	}
}

static bool put(const struct gs_call *call, const struct gs_submit_launch *work, const struct gs_context *context,
		const struct gs_params *params)
{
	const CUlaunchConfig *config = work->config;
	uint32_t attribute_bytes = config->numAttrs * (uint32_t)sizeof(CUlaunchAttribute);
	uint64_t values_offset = gsg_launch_values_offset(attribute_bytes);
	size_t values_bytes = params->size_bytes;
	const void *packed = NULL;
	struct gsg_launch *record;
	unsigned char *values;

	if (work->extra != NULL && !packed_of(work->extra, &packed, &values_bytes))
		return false;
	if (work->extra == NULL && work->params == NULL)
		return false;
	record = (struct gsg_launch *)gsg_queue_put_begin(&queue, RECORD_LAUNCH, values_offset + values_bytes,
							  call->start_ticks != 0 ? call->start_ticks
										 : __builtin_ia32_rdtsc());
	if (record == NULL)
		return false;
	record->context = context->handle;
	record->values_offset = values_offset;
	record->shape = (struct gsg_shape){
		.context_id = context->id,
		.function = work->function,
		.stream = config->hStream,
		.layout = work->extra != NULL ? NULL : params,
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.shared_bytes = config->sharedMemBytes,
		.attribute_bytes = attribute_bytes,
		.values_bytes = (uint32_t)values_bytes,
		.flags = graphs ? gs_graph_flags(config) : 0,
	};
	values = (unsigned char *)record + values_offset;
	if (attribute_bytes != 0)
		memcpy(record + 1, config->attrs, attribute_bytes);
	if (work->extra == NULL)
		copy_values(values, params, work->params);
	else if (values_bytes != 0)
		memcpy(values, packed, values_bytes);
	gsg_queue_put_end(&queue);
	return true;
}

bool gs_submit_put(const struct gs_call *call, const struct gs_submit_launch *launch)
{
	const struct gs_params *params;
	struct gs_context context;
	struct gs_known_key key;

	if (!launch->now && atomic_load(&gs_submit_started) && atomic_load(&gs_submit_failed) == 0 && is_allowed(call, launch) && key_of(launch, &context, &key) && (params = gs_known_find(&key)) != NULL &&
	    params != &gs_known_never && gsg_queue_wants(&queue) && put(call, launch, &context, params))
		return true;
	if (atomic_load_explicit(&gs_submit_started, memory_order_relaxed))
		gsg_queue_catch_up(&queue);
	return false;
}

/* Kernels that wait for kernels of other processes or devices: one that is late there can keep all of them (H15). */
static bool waits_for_others(CUfunction function)
{
	static const char *const marks[] = {"nccl", "nvshmem", "rccl", "msccl"};
	const char *name = NULL;

	if (gs_driver.cuFuncGetName(&name, function) != CUDA_SUCCESS &&
	    gs_driver.cuKernelGetName(&name, (CUkernel)function) != CUDA_SUCCESS)
		return true;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (name == NULL || strstr(name, marks[i]) != NULL)
			return true;
	return false;
}

void gs_submit_learn(const struct gs_call *call, const struct gs_submit_launch *launch)
{
	const struct gs_params *params = NULL;
	struct gs_context context;
	struct gs_known_key key;

	if (launch->epoch != gs_submit_epoch() || !is_allowed(call, launch) || !key_of(launch, &context, &key) ||
	    gs_known_find(&key) != NULL || !start_queue())
		return;
	if (!waits_for_others(launch->function))
		params = gs_params_of(launch->function);
	gs_known_add(&key, params != NULL ? params : &gs_known_never);
}
