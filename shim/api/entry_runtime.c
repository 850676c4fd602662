/* The exported runtime functions, made from the table: lend their name and caller to what happens below, and call the
 * real function of the runtime that the caller is linked to. */
#include "shim/api/call.h"
#include "shim/api/runtime.h"

/* What a program gets whose runtime cannot be found or lacks the function. */
#define NO_RUNTIME cudaErrorNotSupported

#define RT(symbol, suffix, parameters, arguments, disposition, call_class)                                             \
	GS_EXPORT cudaError_t symbol parameters                                                                        \
	{                                                                                                              \
		const void *caller = __builtin_return_address(0);                                                      \
		const struct gs_runtime *real = gs_runtime_of(caller);                                                 \
		struct gs_runtime_call call;                                                                           \
		cudaError_t result;                                                                                    \
                                                                                                                       \
		if (__builtin_expect(real == NULL || real->symbol == NULL, 0))                                         \
			return NO_RUNTIME;                                                                             \
		if (!gs_runtime_call_begin(&call, GS_FN_##symbol, caller))                                             \
			return real->symbol arguments;                                                                 \
		result = real->symbol arguments;                                                                       \
		gs_runtime_call_end(&call);                                                                            \
		return result;                                                                                         \
	}
#include "shim/api/runtime.def"
