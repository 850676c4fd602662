/* Modules, libraries, functions: see sim_module.h. Images are not looked at. */
#include "tests/sim/cuda/sim_module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_handle.h"

struct sim_module {
	uint64_t ctx_id; /* of the context that it ends with; 0: a library */
	struct sim_function *functions;
	struct sim_module *next;
};

static struct sim_module *modules;

/* As a driver may, a new function gets the handle of the one that went last. */
static struct sim_function *spare_functions;

static struct sim_module *module_new(uint64_t ctx_id)
{
	struct sim_module *module = calloc(1, sizeof(*module));

	if (!module)
		abort();
	module->ctx_id = ctx_id;
	module->next = modules;
	modules = module;
	sim_handle_add(module, SIM_KIND_MODULE);
	return module;
}

static void module_free(struct sim_module *module)
{
	struct sim_module **link = &modules;

	while (*link != module)
		link = &(*link)->next;
	*link = module->next;
	while (module->functions) {
		struct sim_function *function = module->functions;

		module->functions = function->next;
		sim_handle_remove(function);
		function->next = spare_functions;
		spare_functions = function;
	}
	sim_handle_remove(module);
	free(module);
}

void sim_module_forget(const struct sim_ctx *ctx)
{
	struct sim_module *next;

	for (struct sim_module *module = modules; module; module = next) {
		next = module->next;
		if (module->ctx_id == ctx->id)
			module_free(module);
	}
}

static struct sim_function *function_new(struct sim_module *module, const struct sim_kernel *kernel, bool from_library)
{
	struct sim_function *function = spare_functions ? spare_functions : malloc(sizeof(*function));

	if (!function)
		abort();
	if (function == spare_functions)
		spare_functions = function->next;
	memset(function, 0, sizeof(*function));
	function->kernel = kernel;
	function->module = module;
	function->from_library = from_library;
	function->attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
	function->attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32;
	function->attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = 90;
	function->attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90;
	function->attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152;
	function->attributes[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
	function->next = module->functions;
	module->functions = function;
	sim_handle_add(function, SIM_KIND_FUNCTION);
	return function;
}

/* The same name gives the same handle. */
static CUresult module_function(struct sim_module *module, const char *name, bool from_library,
				struct sim_function **ret_function)
{
	const struct sim_kernel *kernel = name ? sim_kernel_find(name) : NULL;
	struct sim_function *function = module->functions;

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kernel)
		return CUDA_ERROR_NOT_FOUND;
	while (function && (function->kernel != kernel || function->from_library != from_library))
		function = function->next;
	*ret_function = function ? function : function_new(module, kernel, from_library);
	return CUDA_SUCCESS;
}

static CUresult module_find(const void *handle, struct sim_module **ret_module)
{
	SIM_TRY(sim_ready());
	if (!sim_handle_is(handle, SIM_KIND_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_module = (struct sim_module *)handle;
	return CUDA_SUCCESS;
}

CUresult sim_function_find(const void *handle, struct sim_function **ret_function)
{
	if (!sim_handle_is(handle, SIM_KIND_FUNCTION))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_function = (struct sim_function *)handle;
	return CUDA_SUCCESS;
}

static CUresult module_load(CUmodule *ret_module, const void *image)
{
	struct sim_ctx *ctx;

	SIM_TRY(sim_ctx_current(&ctx));
	if (!ret_module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_module = (CUmodule)module_new(ctx->id);
	return CUDA_SUCCESS;
}

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	SIM_ENTER(cuModuleLoad);
	if (path && access(path, R_OK) != 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	return module_load(module, path);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	SIM_ENTER(cuModuleLoadData);
	return module_load(module, image);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values)
{
	SIM_ENTER(cuModuleLoadDataEx);
	(void)count, (void)options, (void)values;
	return module_load(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	SIM_ENTER(cuModuleLoadFatBinary);
	return module_load(module, image);
}

CUresult cuModuleUnload(CUmodule handle)
{
	struct sim_module *module;

	SIM_ENTER(cuModuleUnload);
	SIM_TRY(module_find(handle, &module));
	if (!module->ctx_id)
		return CUDA_ERROR_INVALID_HANDLE;
	module_free(module);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	SIM_ENTER(cuModuleGetLoadingMode);
	SIM_TRY(sim_ready());
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *ret_function, CUmodule handle, const char *name)
{
	struct sim_module *module;

	SIM_ENTER(cuModuleGetFunction);
	SIM_TRY(module_find(handle, &module));
	if (!ret_function)
		return CUDA_ERROR_INVALID_VALUE;
	return module_function(module, name, false, (struct sim_function **)ret_function);
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule handle)
{
	struct sim_module *module;

	SIM_ENTER(cuModuleGetFunctionCount);
	SIM_TRY(module_find(handle, &module));
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = 0;
	for (const struct sim_kernel *kernel = sim_kernel_first(); kernel; kernel = kernel->next)
		++*count;
	return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *ret_library, const void *image, CUjit_option *options, void **values,
			   unsigned count, CUlibraryOption *library_options, void **library_values,
			   unsigned library_count)
{
	SIM_ENTER(cuLibraryLoadData);
	(void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
	SIM_TRY(sim_ready());
	if (!ret_library || !image)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_library = (CUlibrary)module_new(0);
	return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary handle)
{
	struct sim_module *module;

	SIM_ENTER(cuLibraryUnload);
	SIM_TRY(module_find(handle, &module));
	module_free(module);
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary handle, const char *name)
{
	struct sim_module *module;

	SIM_ENTER(cuLibraryGetKernel);
	SIM_TRY(module_find(handle, &module));
	if (!ret_kernel)
		return CUDA_ERROR_INVALID_VALUE;
	return module_function(module, name, true, (struct sim_function **)ret_kernel);
}

CUresult cuLibraryGetModule(CUmodule *ret_module, CUlibrary handle)
{
	struct sim_module *module;
	struct sim_ctx *ctx;

	SIM_ENTER(cuLibraryGetModule);
	SIM_TRY(module_find(handle, &module));
	SIM_TRY(sim_ctx_current(&ctx));
	if (!ret_module)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_module = (CUmodule)module;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *ret_function, CUkernel handle)
{
	struct sim_function *kernel;
	struct sim_ctx *ctx;

	SIM_ENTER(cuKernelGetFunction);
	SIM_TRY(sim_ctx_current(&ctx));
	SIM_TRY(sim_function_find(handle, &kernel));
	if (!ret_function)
		return CUDA_ERROR_INVALID_VALUE;
	if (!kernel->from_library)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!kernel->twin)
		kernel->twin = function_new(kernel->module, kernel->kernel, false);
	*ret_function = (CUfunction)kernel->twin;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *ret_library, CUkernel handle)
{
	struct sim_function *kernel;

	SIM_ENTER(cuKernelGetLibrary);
	SIM_TRY(sim_function_find(handle, &kernel));
	if (!ret_library)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_library = (CUlibrary)kernel->module;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule *ret_module, CUfunction handle)
{
	struct sim_function *function;

	SIM_ENTER(cuFuncGetModule);
	SIM_TRY(sim_function_find(handle, &function));
	if (!ret_module)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_module = (CUmodule)function->module;
	return CUDA_SUCCESS;
}

static CUresult function_name(const char **name, const void *handle)
{
	struct sim_function *function;

	SIM_TRY(sim_function_find(handle, &function));
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = function->kernel->name;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction handle)
{
	SIM_ENTER(cuFuncGetName);
	return function_name(name, handle);
}

CUresult cuKernelGetName(const char **name, CUkernel handle)
{
	SIM_ENTER(cuKernelGetName);
	return function_name(name, handle);
}

static CUresult function_param(const void *handle, bool from_library, size_t index, size_t *offset, size_t *size)
{
	struct sim_function *function;

	SIM_TRY(sim_function_find(handle, &function));
	if (function->from_library != from_library)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!offset || index >= function->kernel->param_count)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = function->kernel->param_offsets[index];
	if (size)
		*size = function->kernel->param_sizes[index];
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
	SIM_ENTER(cuFuncGetParamInfo);
	return function_param(handle, false, index, offset, size);
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *size)
{
	SIM_ENTER(cuKernelGetParamInfo);
	return function_param(handle, true, index, offset, size);
}

static CUresult attribute_of(const void *handle, CUfunction_attribute attribute, int **ret_slot)
{
	struct sim_function *function;

	SIM_TRY(sim_function_find(handle, &function));
	if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_slot = &function->attributes[attribute];
	return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
	int *slot;

	SIM_ENTER(cuFuncGetAttribute);
	SIM_TRY(attribute_of(handle, attribute, &slot));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	*value = *slot;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
	int *slot;

	SIM_ENTER(cuFuncSetAttribute);
	SIM_TRY(attribute_of(handle, attribute, &slot));
	if (attribute < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	*slot = value;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle, CUdevice ordinal)
{
	struct sim_device *device;
	int *slot;

	SIM_ENTER(cuKernelGetAttribute);
	SIM_TRY(sim_device_get(ordinal, &device));
	SIM_TRY(attribute_of(handle, attribute, &slot));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	*value = *slot;
	return CUDA_SUCCESS;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice ordinal)
{
	struct sim_device *device;
	int *slot;

	SIM_ENTER(cuKernelSetAttribute);
	SIM_TRY(sim_device_get(ordinal, &device));
	SIM_TRY(attribute_of(handle, attribute, &slot));
	*slot = value;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	struct sim_function *function;

	SIM_ENTER(cuFuncSetCacheConfig);
	(void)config;
	return sim_function_find(handle, &function);
}

CUresult cuFuncLoad(CUfunction handle)
{
	struct sim_function *function;

	SIM_ENTER(cuFuncLoad);
	return sim_function_find(handle, &function);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
	struct sim_function *function;

	SIM_ENTER(cuFuncIsLoaded);
	SIM_TRY(sim_function_find(handle, &function));
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int block_size, size_t shared)
{
	struct sim_function *function;

	SIM_ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
	SIM_TRY(sim_function_find(handle, &function));
	(void)shared;
	if (!blocks || block_size < 1 || block_size > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = 2048 / block_size < 32 ? 2048 / block_size : 32;
	return CUDA_SUCCESS;
}
