/* See thread.h. */
#include "shim/core/thread.h"

#include <stdatomic.h>

#include "shim/base/os.h"

_Thread_local struct gs_thread gs_thread __attribute__((tls_model("initial-exec")));

uint32_t gs_thread_id(void)
{
	if (gs_thread.tid == 0)
		gs_thread.tid = gsb_os_tid();
	return gs_thread.tid;
}

uint32_t gs_thread_serial(void)
{
	static _Atomic uint32_t last;

	if (gs_thread.serial == 0)
		gs_thread.serial = atomic_fetch_add(&last, 1) + 1;
	return gs_thread.serial;
}

void gs_thread_reset(void)
{
	gs_thread = (struct gs_thread){0};
}
