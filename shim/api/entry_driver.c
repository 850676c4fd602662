/* The exported driver functions, made from the table: count, time, and either call the real function (PASS; COPY: and note
 * what is copied; SET) or leave the call to gs_on_<symbol> of shim/wrap/ (HOOK), which gets the real function as its second argument. */
#include "shim/api/call.h"
#include "shim/api/driver.h"
#include "shim/api/handler.h"
#include "shim/core/order.h"
#include "shim/submit/submit.h"
#include "shim/watch/hazard.h"
#include "shim/watch/launch.h"

/* What a program gets that calls the driver where there is none. */
#define NO_DRIVER CUDA_ERROR_NO_DEVICE

#define DO_PASS(handler, call, real, arguments) real arguments
#define DO_SET(handler, call, real, arguments) real arguments
#define DO_COPY(handler, call, real, arguments)                                                                        \
	(note_copy(call, gs_copy_of_##handler arguments, LAST_STREAM(arguments)), real arguments)
#define DO_HOOK(handler, call, real, arguments) gs_on_##handler(call, real GS_AFTER_COMMA arguments)

static inline void note_copy(struct gs_call *call, struct gs_copy copy, CUstream stream)
{
	if (call->start_ticks != 0)
		gs_wait_copies(call, &copy, stream);
}

/* Asynchronous copies and memsets are noted in the launch log. All of them have their stream last. */
#define NOTED(call_class) (GS_CLASS_##call_class == GS_CLASS_COPY_ASYNC || GS_CLASS_##call_class == GS_CLASS_SET_ASYNC)
#define NOTED_KIND(call_class) (GS_CLASS_##call_class == GS_CLASS_COPY_ASYNC ? GS_WORK_COPY : GS_WORK_SET)
#define LAST(arguments) (0 GS_AFTER_COMMA arguments)
#define LAST_STREAM(arguments) _Generic(LAST(arguments), CUstream: LAST(arguments), default: (CUstream)NULL)
#pragma GCC diagnostic ignored "-Wunused-value"

/* Other work of streams: of the default one where the call names none, else of the stream that comes first. */
#define SUBMITTED(call_class)                                                                                          \
	(GS_CLASS_##call_class == GS_CLASS_COPY || GS_CLASS_##call_class == GS_CLASS_SET ||                            \
	 GS_CLASS_##call_class == GS_CLASS_HOST_FUNC || GS_CLASS_##call_class == GS_CLASS_MEM_OP)
#define FIRST_OF(first, ...) (first)
#define FIRST_OR_ZERO(...) FIRST_OF(__VA_ARGS__ __VA_OPT__(, ) 0, 0)
#define FIRST(arguments) FIRST_OR_ZERO arguments
#define FIRST_STREAM(arguments) _Generic(FIRST(arguments), CUstream: FIRST(arguments), default: (CUstream)NULL)

/* Work for the calling thread's own default stream. (Of launches, which have their stream in the middle: shim/wrap/launch.c.) */
#define IS_SUFFIXED(suffix) (sizeof(#suffix) > 1)
#define PER_THREAD(suffix, arguments)                                                                                  \
	(IS_SUFFIXED(suffix) || LAST_STREAM(arguments) == CU_STREAM_PER_THREAD || FIRST_STREAM(arguments) == CU_STREAM_PER_THREAD)

/* Work for the legacy stream, or of which it is not known that it is for another one. */
#define MAY_BE_LEGACY(suffix, arguments)                                                                               \
	(!IS_SUFFIXED(suffix) && gs_order_is_legacy(LAST_STREAM(arguments)) && gs_order_is_legacy(FIRST_STREAM(arguments)))

/* What memsets and asynchronous copies use. */
#define USED_COPY(handler, arguments)                                                                                  \
	do {                                                                                                           \
		struct gs_copy copy = gs_copy_of_##handler arguments;                                                  \
                                                                                                                       \
		gs_hazard_copied(&call, &copy);                                                                        \
	} while (0)
#define USED_SET(handler, arguments)                                                                                   \
	do {                                                                                                           \
		struct gs_set set = gs_set_of_##handler arguments;                                                     \
                                                                                                                       \
		gs_hazard_set(set.to, set.flat ? set.width * set.element_bytes : 0);                                   \
	} while (0)
#define USED_PASS(handler, arguments) ((void)0)
#define USED_HOOK(handler, arguments) ((void)0)
#define USES(call_class)                                                                                               \
	(GS_CLASS_##call_class == GS_CLASS_COPY_ASYNC || GS_CLASS_##call_class == GS_CLASS_SET ||                      \
	 GS_CLASS_##call_class == GS_CLASS_SET_ASYNC)

/* What may be put off, of that which has no handler: asynchronous memsets, and flat copies with both ends on a device as far as
 * the function says. */
#define WORK_PASS(handler, call_class, arguments) ((struct gs_submit_work){0})
#define WORK_HOOK(handler, call_class, arguments) ((struct gs_submit_work){0})
#define WORK_SET(handler, call_class, arguments)                                                                       \
	((struct gs_submit_work){                                                                                      \
	    .kind = GS_CLASS_##call_class == GS_CLASS_SET_ASYNC ? GS_SUBMIT_SET : GS_SUBMIT_NOTHING,                   \
	    .stream = LAST_STREAM(arguments),                                                                          \
	    .set = gs_set_of_##handler arguments})
#define WORK_COPY(handler, call_class, arguments)                                                                      \
	(GS_FN_##handler == GS_FN_cuMemcpyAsync || GS_FN_##handler == GS_FN_cuMemcpyDtoDAsync_v2                       \
	     ? copy_work(gs_copy_of_##handler arguments, LAST_STREAM(arguments))                                       \
	     : (struct gs_submit_work){0})

static inline struct gs_submit_work copy_work(struct gs_copy copy, CUstream stream)
{
	return (struct gs_submit_work){
	    .kind = GS_SUBMIT_COPY,
	    .stream = stream,
	    .copy = {(CUdeviceptr)(uintptr_t)copy.to, (CUdeviceptr)(uintptr_t)copy.from, copy.size_bytes},
	};
}

/* In place of the real function, once the work was put off: the rest of the entry is the same. */
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class)                      \
	__attribute__((unused)) static CUresult put_off_##symbol parameters                                            \
	{                                                                                                              \
		return CUDA_SUCCESS;                                                                                   \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "shim/api/driver.def"
#pragma GCC diagnostic pop

/* Copies that return when they are done, and not before all that the legacy stream waits for. */
#define DONE(handler) (GS_FN_##handler == GS_FN_cuMemcpyDtoH_v2 || GS_FN_##handler == GS_FN_cuMemcpyAtoH_v2)

#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class)                      \
	GS_EXPORT CUresult symbol parameters                                                                           \
	{                                                                                                              \
		struct gs_call call;                                                                                   \
		CUresult result;                                                                                       \
                                                                                                                       \
		if (!gs_call_ready())                                                                                  \
			return NO_DRIVER;                                                                              \
		if (__builtin_expect(gs_driver.symbol == NULL, 0))                                                     \
			return CUDA_ERROR_NOT_SUPPORTED;                                                               \
		if (!gs_call_begin(&call, GS_FN_##symbol, GS_CLASS_##call_class, GS_TIMED_##call_class,                \
				   GS_SUBMITS_##call_class, __builtin_return_address(0)))                              \
			return gs_driver.symbol arguments;                                                             \
		struct gs_submit_work work = WORK_##disposition(handler, call_class, arguments);                       \
		bool put = GS_FLUSHES_##call_class && gs_submit_work(&call, &work);                                    \
		__typeof__(gs_driver.symbol) real = put ? put_off_##symbol : gs_driver.symbol;                             \
                                                                                                                       \
		if (GS_SUBMITS_##call_class && PER_THREAD(suffix, arguments))                                          \
			gs_order_note_blocking();                                                                     \
		if (GS_SUBMITS_##call_class && GS_CLASS_##call_class != GS_CLASS_LAUNCH && MAY_BE_LEGACY(suffix, arguments)) \
			gs_order_note_legacy();                                                                        \
		if (GS_FORGETS_##call_class)                                                                           \
			gs_submit_drop_graphs();                                                                       \
		result = DO_##disposition(handler, &call, real, arguments);                                            \
		if (!put)                                                                                              \
			gs_submit_worked(&call, &work, result);                                                        \
		if (GS_TAKES_##call_class && result == CUDA_ERROR_OUT_OF_MEMORY && gs_devices_trim(true) > 0)          \
			result = DO_##disposition(handler, &call, real, arguments);                                    \
		if (GS_FORGETS_##call_class)                                                                           \
			gs_submit_forget();                                                                            \
		if (GS_TELLS_##call_class)                                                                             \
			result = gs_submit_settle(result);                                                             \
		if (NOTED(call_class))                                                                                 \
			gs_launch_note(&call, NOTED_KIND(call_class), NULL, LAST_STREAM(arguments), result);           \
		if (SUBMITTED(call_class) && !DONE(handler))                                                           \
			gs_launch_submitted(&call, FIRST_STREAM(arguments), result);                                   \
		if (__builtin_expect(gs_hazards, 0) && result == CUDA_SUCCESS && USES(call_class))                     \
			USED_##disposition(handler, arguments);                                                        \
		if (DONE(handler) && result == CUDA_SUCCESS)                                                           \
			gs_launch_copied(&call);                                                                       \
		gs_call_end(&call, result, GS_CLASS_##call_class, GS_TIMED_##call_class, GS_SUBMITS_##call_class, GS_TO_HOST_##call_class); \
		return result;                                                                                         \
	}
#include "shim/api/driver.def"
