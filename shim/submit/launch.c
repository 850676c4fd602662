/* Launches of kernels that may be put off: those like one that has succeeded, with parameters of a known layout, and attributes
 * that say how a kernel runs and nothing else. Kernels that wait for those of other processes never are (H15). */
#include <stddef.h>
#include <string.h>

#include "graph/launch.h"
#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/core/params.h"
#include "shim/submit/graph.h"
#include "shim/submit/known.h"
#include "shim/submit/lead.h"
#include "shim/submit/make.h"
#include "shim/submit/put.h"
#include "shim/submit/submit.h"

#define ATTRIBUTE_LIMIT 8u

/* How many bytes of an attribute's value count, of those that say how a kernel runs and nothing of what else happens: no event,
 * no node, no other kernel. 0: any other. A programmatic launch may begin before the one ahead of it has ended: so it does
 * where it is made later, in the same order. */
static size_t attribute_value_bytes(const CUlaunchAttribute *attribute)
{
	switch (attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		return offsetof(CUaccessPolicyWindow, missProp) + sizeof(attribute->value.accessPolicyWindow.missProp);
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		return sizeof(attribute->value.clusterDim);
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return sizeof(attribute->value.clusterSchedulingPolicyPreference);
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		return sizeof(attribute->value.priority);
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return sizeof(attribute->value.memSyncDomainMap);
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		return sizeof(attribute->value.memSyncDomain);
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		return sizeof(attribute->value.programmaticStreamSerializationAllowed);
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
		return 1;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		return attribute->value.cooperative == 0 ? sizeof(attribute->value.cooperative) : 0;
	default:
		return 0;
	}
}

/* Without what lies behind a value: equal attributes are equal bytes. */
static void copy_attributes(CUlaunchAttribute *to, const CUlaunchConfig *config)
{
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *from = &config->attrs[i];

		memset(&to[i], 0, sizeof(to[i]));
		to[i].id = from->id;
		if (from->id != CU_LAUNCH_ATTRIBUTE_IGNORE)
			memcpy(&to[i].value, &from->value, attribute_value_bytes(from));
	}
}

static bool attributes_allowed(const CUlaunchConfig *config)
{
	if (config->numAttrs > ATTRIBUTE_LIMIT || (config->numAttrs != 0 && config->attrs == NULL))
		return false;
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (attribute_value_bytes(&config->attrs[i]) == 0)
			return false;
	return true;
}

static enum gs_submit_reason may(const struct gs_call *call, const struct gs_submit_launch *launch)
{
	enum gs_submit_reason reason;

	if (launch->config == NULL || (launch->params != NULL && launch->extra != NULL))
		return GS_SUBMIT_FOR_ATTRIBUTES;
	reason = gs_put_may(call, launch->config->hStream);
	return reason == GS_SUBMIT_MAY && !attributes_allowed(launch->config) ? GS_SUBMIT_FOR_ATTRIBUTES : reason;
}

static bool key_of(const struct gs_submit_launch *launch, struct gs_context *ret_context, struct gs_known_key *ret_key)
{
	const CUlaunchConfig *config = launch->config;
	CUlaunchAttribute attributes[ATTRIBUTE_LIMIT];

	if (!gs_context_current(ret_context))
		return false;
	copy_attributes(attributes, config);
	*ret_key = (struct gs_known_key){
		.epoch = launch->epoch,
		.context_id = ret_context->id,
		.function = launch->function,
		.stream = config->hStream,
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.shared_bytes = config->sharedMemBytes,
		.attribute_count = config->numAttrs,
		.detail = gs_known_hash(attributes, config->numAttrs * sizeof(*attributes)),
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
	record = (struct gsg_launch *)gs_put_begin(call, GS_SUBMIT_LAUNCH, values_offset + values_bytes);
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
		.flags = gs_put_replays() ? gs_graph_flags(config) : 0,
	};
	values = (unsigned char *)record + values_offset;
	copy_attributes((CUlaunchAttribute *)(record + 1), config);
	if (work->extra == NULL)
		copy_values(values, params, work->params);
	else if (values_bytes != 0)
		memcpy(values, packed, values_bytes);
	gs_put_end();
	return true;
}

/* What is quick to find out comes first: where nothing is gained, nothing should be lost. */
bool gs_submit_put(const struct gs_call *call, struct gs_submit_launch *launch)
{
	const struct gs_params *params;
	struct gs_context context;
	struct gs_known_key key;
	enum gs_submit_reason reason = may(call, launch);
	bool ready;

	if (reason != GS_SUBMIT_MAY)
		return gs_put_not(reason);
	if (launch->now)
		return gs_put_not(GS_SUBMIT_FOR_SAMPLED);
	ready = gs_put_ready();
	if (ready && !gs_put_wants(call))
		return gs_put_not(GS_SUBMIT_FOR_RESTS);
	if (!ready || !gs_put_sees_all(call) || !key_of(launch, &context, &key) || (params = gs_known_find(&key)) == NULL) {
		launch->unknown = true;
		return gs_put_not(gs_submit_failed != 0 ? GS_SUBMIT_FOR_ENDED : GS_SUBMIT_FOR_UNKNOWN);
	}
	if (params == &gs_known_never)
		return gs_put_not(GS_SUBMIT_FOR_KERNEL);
	if (!gs_lead_may_put(params->size_bytes))
		return gs_put_not(GS_SUBMIT_FOR_LEAD);
	return put(call, launch, &context, params) || gs_put_not(GS_SUBMIT_FOR_ATTRIBUTES);
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

	if (launch->epoch != gs_submit_epoch() || may(call, launch) != GS_SUBMIT_MAY || !key_of(launch, &context, &key) ||
	    gs_known_find(&key) != NULL || !gs_put_start())
		return;
	if (!waits_for_others(launch->function))
		params = gs_params_of(launch->function);
	gs_known_add(&key, params != NULL ? params : &gs_known_never);
}

/* --- the queue's thread -------------------------------------------------------------------------------------------- */

/* Without attributes by the function that has less to look at. */
static CUresult launch_made(const struct gsg_shape *shape, const CUlaunchConfig *config, void **params, void **extra)
{
	if (config->numAttrs != 0)
		return gs_driver.cuLaunchKernelEx(config, shape->function, params, extra);
	return gs_driver.cuLaunchKernel(shape->function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
					config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, params, extra);
}

static CUresult launch_packed(const struct gsg_shape *shape, const CUlaunchConfig *config, void *values)
{
	size_t size_bytes = shape->values_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, values, CU_LAUNCH_PARAM_BUFFER_SIZE, &size_bytes,
			 CU_LAUNCH_PARAM_END};

	return launch_made(shape, config, NULL, extra);
}

CUresult gs_put_launch_make(const struct gsg_record *head)
{
	const struct gsg_launch *record = (const struct gsg_launch *)head;
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
	CUresult entered = gs_make_enter(shape->context_id, record->context);

	if (entered != CUDA_SUCCESS)
		return entered;
	if (config.numAttrs != 0)
		config.attrs = (CUlaunchAttribute *)((uintptr_t)gsg_launch_attributes(record));
	if (layout == NULL)
		return launch_packed(shape, &config, values);
	for (uint32_t i = 0; i < layout->count; i++)
		params[i] = values + layout->each[i].offset;
	return launch_made(shape, &config, params, NULL);
}
