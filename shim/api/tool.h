/* Profilers: see tool.def and shim/wrap/tool.c. */
#ifndef GS_API_TOOL_H
#define GS_API_TOOL_H

#include <stdbool.h>

/* The function of that name begins to show a profiler the calls of the process. */
bool gs_tool_asks(const char *name);

#endif
