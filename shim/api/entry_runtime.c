/* The exported runtime functions, made from the table: lend their name and caller to what happens below, and call the
 * real function of the runtime that the caller is linked to. */
#include "shim/api/call.h"
#include "shim/api/handler.h"
#include "shim/api/quick.h"
#include "shim/api/runtime.h"

/* What a program gets whose runtime cannot be found or lacks the function. */
#define NO_RUNTIME cudaErrorNotSupported

/* Asked before the runtime is known, and after. */
#define AT_DOOR_PASS(symbol, caller, arguments) false
#define ANSWERED_PASS(real) false
#define ENTERING_PASS() (void)0
#define LEFT_PASS(symbol, real, result) (void)0
#define AT_DOOR_QUICK(symbol, caller, arguments) gs_quick_##symbol(caller GS_AFTER_COMMA arguments)
#define ANSWERED_QUICK(real) false
#define ENTERING_QUICK() gs_quick_entering()
#define LEFT_QUICK(symbol, real, result) gs_quick_left(real, GS_QUICK_##symbol, result)
#define AT_DOOR_DEVICE(symbol, caller, arguments) false
#define ANSWERED_DEVICE(real) gs_quick_device(real, device)
#define ENTERING_DEVICE() (void)0
#define LEFT_DEVICE(symbol, real, result) gs_quick_device_left(real, result, device)

#define RT(symbol, suffix, parameters, arguments, disposition, call_class)                                             \
	GS_EXPORT cudaError_t symbol parameters                                                                        \
	{                                                                                                              \
		const void *caller = __builtin_return_address(0);                                                      \
		const struct gs_runtime *real;                                                                         \
		struct gs_runtime_call call;                                                                           \
		cudaError_t result;                                                                                    \
                                                                                                                       \
		if (AT_DOOR_##disposition(symbol, caller, arguments))                                                  \
			return cudaSuccess;                                                                            \
		real = gs_runtime_of(caller);                                                                          \
		if (__builtin_expect(real == NULL || real->symbol == NULL, 0))                                         \
			return NO_RUNTIME;                                                                             \
		if (ANSWERED_##disposition(real))                                                                      \
			return cudaSuccess;                                                                            \
		if (!gs_runtime_call_begin(&call, GS_FN_##symbol, caller))                                             \
			return real->symbol arguments;                                                                 \
		ENTERING_##disposition();                                                                              \
		result = real->symbol arguments;                                                                       \
		LEFT_##disposition(symbol, real, result);                                                              \
		gs_runtime_call_end(&call);                                                                            \
		return result;                                                                                         \
	}
#include "shim/api/runtime.def"
