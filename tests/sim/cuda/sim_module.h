/* Modules and libraries, and the functions and kernels that programs get from them. One object serves as CUmodule and
 * CUlibrary, one as CUfunction and CUkernel: launches take either, as the driver's do. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "tests/sim/cuda/sim_ctx.h"
#include "tests/sim/cuda/sim_kernel.h"

struct sim_module;

/* The context ends, and its modules with it; libraries stay. */
void sim_module_forget(const struct sim_ctx *ctx);

struct sim_function {
	const struct sim_kernel *kernel;
	struct sim_module *module;
	bool from_library;	   /* a CUkernel: cuFuncGetParamInfo refuses it */
	struct sim_function *twin; /* of a CUkernel: the CUfunction it gives */
	struct sim_function *next; /* in its module */
	int attributes[CU_FUNC_ATTRIBUTE_MAX];
	struct {
		unsigned block[3];
		size_t param_bytes;
		_Alignas(16) unsigned char params[256];
	} old; /* what functions before 4.0 launch it with */
};

/* CUDA_ERROR_INVALID_HANDLE for what is no live function or kernel. */
CUresult sim_function_find(const void *handle, struct sim_function **ret_function);

#endif
