/* See stack.h. */
#include "shim/stack/stack.h"

#include <stdatomic.h>

#include "shim/stack/intern.h"

static unsigned stack_flags; /* fixed at init */
static _Atomic uint64_t capture_count;

void gs_stack_init(unsigned flags)
{
	stack_flags = flags;
}

uint32_t gs_stack_capture(const void *call_site)
{
	(void)call_site;
	if (stack_flags != GS_STACK_OFF)
		atomic_fetch_add_explicit(&capture_count, 1, memory_order_relaxed);
	return 0;
}

void gs_stack_counters_read(struct gs_stack_counters *ret_counters)
{
	*ret_counters = (struct gs_stack_counters){
	    .captures = atomic_load_explicit(&capture_count, memory_order_relaxed),
	    .python = "none",
	    .native = "off",
	};
}

void gs_stack_reset_locks(void)
{
	gs_intern_reset_locks();
}
