/* Kernel launches. Parameters are copied at the call, from kernelParams or from the packed buffer of `extra`. Every
 * pointer-sized parameter that points into a known range counts as a range the kernel reads and writes, up to the end
 * of the announced block or else of the range. */
#include "tests/sim/cuda/sim_launch.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/sim_capture.h"
#include "tests/sim/cuda/sim_module.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_sched.h"
#include "tests/sim/cuda/sim_shadow.h"
#include "tests/sim/cuda/sim_stream.h"

struct launch {
	const struct sim_kernel *kernel;
	struct sim_launch seen;
	void *params[SIM_PARAMS_MAX];
	_Alignas(16) unsigned char values[];
};

static void launch_run(struct sim_op *op)
{
	const struct launch *launch = (const struct launch *)op->payload;

	launch->kernel->fn(&launch->seen);
}

static CUresult params_from_extra(void **extra, const struct sim_kernel *kernel, unsigned char *values)
{
	const void *buffer = NULL;
	size_t size_bytes = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size_bytes = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!buffer || size_bytes < kernel->param_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(values, buffer, kernel->param_bytes);
	return CUDA_SUCCESS;
}

static CUresult params_copy(void **params, void **extra, const struct sim_kernel *kernel, unsigned char *values)
{
	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		return params_from_extra(extra, kernel, values);
	if (!params)
		return kernel->param_count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	for (unsigned i = 0; i < kernel->param_count; i++) {
		if (!params[i])
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(values + kernel->param_offsets[i], params[i], kernel->param_sizes[i]);
	}
	return CUDA_SUCCESS;
}

static void params_touch(struct sim_op *op, const struct launch *launch)
{
	for (unsigned i = 0; i < launch->kernel->param_count; i++) {
		const struct sim_range *range;
		uintptr_t value;

		if (launch->kernel->param_sizes[i] != sizeof(value))
			continue;
		memcpy(&value, launch->params[i], sizeof(value));
		range = sim_range_find(value);
		if (range)
			sim_op_touch(op, value, sim_shadow_end(value, range->start + range->size_bytes) - value, true);
	}
}

static CUresult launch_check(const CUDA_KERNEL_NODE_PARAMS_v3 *launch, struct sim_function **ret_function)
{
	SIM_TRY(
	    sim_function_find(launch->func ? (const void *)launch->func : (const void *)launch->kern, ret_function));
	if (!launch->gridDimX || !launch->gridDimY || !launch->gridDimZ || !launch->blockDimX || !launch->blockDimY ||
	    !launch->blockDimZ || launch->gridDimY > 65535 || launch->gridDimZ > 65535)
		return CUDA_ERROR_INVALID_VALUE;
	if ((uint64_t)launch->blockDimX * launch->blockDimY * launch->blockDimZ > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (launch->sharedMemBytes >
	    (unsigned)(*ret_function)->attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES])
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_launch_op(const CUDA_KERNEL_NODE_PARAMS_v3 *params, struct sim_op **ret_op)
{
	struct sim_function *function;
	struct launch *launch;
	struct sim_op *op;
	CUresult result;

	SIM_TRY(launch_check(params, &function));
	op = sim_op_new(SIM_OP_KERNEL, sizeof(*launch) + function->kernel->param_bytes);
	launch = (struct launch *)op->payload;
	result = params_copy(params->kernelParams, params->extra, function->kernel, launch->values);
	if (result != CUDA_SUCCESS) {
		sim_op_free(op);
		return result;
	}
	launch->kernel = function->kernel;
	for (unsigned i = 0; i < function->kernel->param_count; i++)
		launch->params[i] = launch->values + function->kernel->param_offsets[i];
	launch->seen = (struct sim_launch){
	    .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
	    .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
	    .shared_bytes = params->sharedMemBytes,
	    .param_count = function->kernel->param_count,
	    .params = launch->params,
	};
	op->run = launch_run;
	params_touch(op, launch);
	if (function->kernel->steps_param) {
		unsigned steps = *(uint32_t *)launch->params[function->kernel->steps_param - 1];

		op->steps = steps ? steps : 1;
	}
	if (function->kernel->fails_param)
		op->fails = *(uint32_t *)launch->params[function->kernel->fails_param - 1];
	*ret_op = op;
	return CUDA_SUCCESS;
}

CUresult sim_launch_keep(CUDA_KERNEL_NODE_PARAMS_v3 *launch, void **ret_owned)
{
	struct sim_function *function;
	const struct sim_kernel *kernel;
	unsigned char *values;
	void **pointers;
	CUresult result;

	SIM_TRY(launch_check(launch, &function));
	kernel = function->kernel;
	pointers = calloc(1, (kernel->param_count + 2) / 2 * 2 * sizeof(void *) + kernel->param_bytes);
	if (!pointers)
		abort();
	values = (unsigned char *)(pointers + (kernel->param_count + 2) / 2 * 2);
	result = params_copy(launch->kernelParams, launch->extra, kernel, values);
	if (result != CUDA_SUCCESS) {
		free(pointers);
		return result;
	}
	for (unsigned i = 0; i < kernel->param_count; i++)
		pointers[i] = values + kernel->param_offsets[i];
	launch->kernelParams = pointers;
	launch->extra = NULL;
	*ret_owned = pointers;
	return CUDA_SUCCESS;
}

/* Each launch returns when it is done. */
static bool launches_block(void)
{
	const char *value = getenv("CUDA_LAUNCH_BLOCKING");

	return value && *value && *value != '0';
}

static CUresult launch_submit(const CUlaunchConfig *config, CUfunction function, void **params, void **extra,
			      bool per_thread)
{
	CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_KERNEL,
				  .kernel = {.func = function,
					     .gridDimX = config->gridDimX,
					     .gridDimY = config->gridDimY,
					     .gridDimZ = config->gridDimZ,
					     .blockDimX = config->blockDimX,
					     .blockDimY = config->blockDimY,
					     .blockDimZ = config->blockDimZ,
					     .sharedMemBytes = config->sharedMemBytes,
					     .kernelParams = params,
					     .extra = extra}};
	struct sim_stream *stream;
	struct sim_op *op;

	SIM_TRY(sim_capture_find_stream(config->hStream, per_thread, &stream));
	if (stream->capture)
		return sim_capture_add(stream, &node);
	SIM_TRY(sim_launch_op(&node.kernel, &op));
	sim_stream_submit(stream, op);
	if (!launches_block())
		return CUDA_SUCCESS;
	sim_sched_reach(sim_stream_tail(stream));
	return stream->ctx->sticky;
}

SIM_TWIN(cuLaunchKernel, _ptsz,
	 (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
	  unsigned block_z, unsigned shared, CUstream stream, void **params, void **extra),
	 (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params, extra))
{
	CUlaunchConfig config = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, NULL, 0};

	return launch_submit(&config, function, params, extra, per_thread);
}

SIM_TWIN(cuLaunchCooperativeKernel, _ptsz,
	 (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
	  unsigned block_z, unsigned shared, CUstream stream, void **params),
	 (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params))
{
	CUlaunchConfig config = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, NULL, 0};

	return launch_submit(&config, function, params, NULL, per_thread);
}

/* The blocks of the grid in whole clusters. */
static bool clusters_fit(const CUlaunchConfig *config)
{
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttributeValue *value = &config->attrs[i].value;

		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
		    (value->clusterDim.x == 0 || value->clusterDim.y == 0 || value->clusterDim.z == 0 ||
		     config->gridDimX % value->clusterDim.x || config->gridDimY % value->clusterDim.y ||
		     config->gridDimZ % value->clusterDim.z))
			return false;
	}
	return true;
}

SIM_TWIN(cuLaunchKernelEx, _ptsz, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra),
	 (config, function, params, extra))
{
	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	if (!clusters_fit(config))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return launch_submit(config, function, params, extra, per_thread);
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS_v1 *list, unsigned count, unsigned flags)
{
	SIM_ENTER(cuLaunchCooperativeKernelMultiDevice);
	if (!list || count == 0 || flags > 3)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		SIM_TRY(launch_submit(&(CUlaunchConfig){list[i].gridDimX, list[i].gridDimY, list[i].gridDimZ,
							list[i].blockDimX, list[i].blockDimY, list[i].blockDimZ,
							list[i].sharedMemBytes, list[i].hStream, NULL, 0},
				      list[i].function, list[i].kernelParams, NULL, false));
	return CUDA_SUCCESS;
}

/* --- as it was before 4.0: what a function is launched with belongs to it ------------------------------------------ */

CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
	struct sim_function *function;

	SIM_ENTER(cuFuncSetBlockShape);
	SIM_TRY(sim_function_find(handle, &function));
	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	function->old.block[0] = (unsigned)x;
	function->old.block[1] = (unsigned)y;
	function->old.block[2] = (unsigned)z;
	return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction handle, unsigned size_bytes)
{
	struct sim_function *function;

	SIM_ENTER(cuParamSetSize);
	SIM_TRY(sim_function_find(handle, &function));
	if (size_bytes > sizeof(function->old.params))
		return CUDA_ERROR_INVALID_VALUE;
	function->old.param_bytes = size_bytes;
	return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction handle, int offset, unsigned value)
{
	struct sim_function *function;

	SIM_ENTER(cuParamSeti);
	SIM_TRY(sim_function_find(handle, &function));
	if (offset < 0 || (size_t)offset > sizeof(function->old.params) - sizeof(value))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(function->old.params + offset, &value, sizeof(value));
	return CUDA_SUCCESS;
}

static CUresult launch_old(CUfunction handle, int width, int height, CUstream stream)
{
	struct sim_function *function;

	SIM_TRY(sim_function_find(handle, &function));
	if (width <= 0 || height <= 0 || function->old.block[0] == 0)
		return CUDA_ERROR_INVALID_VALUE;
	return launch_submit(&(CUlaunchConfig){(unsigned)width, (unsigned)height, 1, function->old.block[0],
					       function->old.block[1], function->old.block[2], 0, stream, NULL, 0},
			     handle, NULL,
			     (void *[]){CU_LAUNCH_PARAM_BUFFER_POINTER, function->old.params,
					CU_LAUNCH_PARAM_BUFFER_SIZE, &function->old.param_bytes, CU_LAUNCH_PARAM_END},
			     false);
}

CUresult cuLaunch(CUfunction handle)
{
	SIM_ENTER(cuLaunch);
	return launch_old(handle, 1, 1, NULL);
}

CUresult cuLaunchGrid(CUfunction handle, int width, int height)
{
	SIM_ENTER(cuLaunchGrid);
	return launch_old(handle, width, height, NULL);
}

CUresult cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream)
{
	SIM_ENTER(cuLaunchGridAsync);
	return launch_old(handle, width, height, stream);
}
