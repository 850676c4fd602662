/* cudaGetDriverEntryPoint and its kin: cuGetProcAddress, with the stream mode of the caller's twin. */
#include "tests/sim/cudart/rt.h"

#define NO_MODE_MASK (cudaEnableLegacyStream | cudaEnablePerThreadDefaultStream)
#define RUNTIME_VERSION (SIM_CUDART_MAJOR == 12 ? 12080 : 13000)

#pragma GCC visibility push(default)
__typeof__(cudaGetDriverEntryPoint) cudaGetDriverEntryPoint_ptsz;
__typeof__(cudaGetDriverEntryPointByVersion) cudaGetDriverEntryPointByVersion_ptsz;
#pragma GCC visibility pop

static cudaError_t entry_find(const char *symbol, void **pointer, int version, unsigned long long flags,
			      enum cudaDriverEntryPointQueryResult *status, bool per_thread)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cudaError_t started = rt_start();
	CUresult result;

	if (started != cudaSuccess)
		return rt_result((CUresult)started);
	if (!symbol || !pointer)
		return rt_result(CUDA_ERROR_INVALID_VALUE);
	if (!(flags & NO_MODE_MASK) && per_thread)
		flags |= cudaEnablePerThreadDefaultStream;
	result = rt_proc_address()(symbol, pointer, version, flags, &found);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	if (result == CUDA_SUCCESS && found != CU_GET_PROC_ADDRESS_SUCCESS && !status)
		result = (CUresult)cudaErrorSymbolNotFound;
	return rt_result(result);
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **pointer, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *status)
{
	return entry_find(symbol, pointer, RUNTIME_VERSION, flags, status, false);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **pointer, unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *status)
{
	return entry_find(symbol, pointer, RUNTIME_VERSION, flags, status, true);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **pointer, unsigned version,
					     unsigned long long flags, enum cudaDriverEntryPointQueryResult *status)
{
	return entry_find(symbol, pointer, (int)version, flags, status, false);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **pointer, unsigned version,
						  unsigned long long flags,
						  enum cudaDriverEntryPointQueryResult *status)
{
	return entry_find(symbol, pointer, (int)version, flags, status, true);
}
