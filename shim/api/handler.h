/* Prototypes of the handlers of all HOOK rows, made from the table: gs_on_<symbol>(call, real, arguments...).
 *
 * A handler runs with the thread marked inside. It returns what the program gets. The per-thread-stream twin uses the
 * same handler: call->fn tells which one it is, and real is the twin's own function. */
#ifndef GS_API_HANDLER_H
#define GS_API_HANDLER_H

#include "shim/api/call.h"
#include "shim/api/cuda.h"

/* Puts a list in parentheses behind another argument: GS_AFTER_COMMA (a, b) is ", a, b"; of () it is nothing. */
#define GS_AFTER_COMMA(...) __VA_OPT__(, ) __VA_ARGS__

#define GS_HANDLER_PASS(handler, type, parameters)
#define GS_HANDLER_COPY(handler, type, parameters)
#define GS_HANDLER_SET(handler, type, parameters)
#define GS_HANDLER_HOOK(handler, type, parameters)                                                                     \
	CUresult gs_on_##handler(struct gs_call *call, type real GS_AFTER_COMMA parameters);

/* Twins share the handler of the plain function and so need no prototype of their own. */
#define DRV_TWIN(symbol, name, since, suffix, twin_since, parameters, arguments, disposition, call_class)              \
	DRV(symbol, name, since, , symbol, parameters, arguments, disposition, call_class)
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class)                      \
	GS_HANDLER_##disposition(handler, PFN_##name##_v##since##suffix, parameters)
#include "shim/api/driver.def"

#endif
