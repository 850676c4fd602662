/* See fence.h. */
#include "shim/base/fence.h"

#include "shim/base/hot.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

GSB_HOT _Atomic bool gsb_fence_lopsided;

void gsb_fence_start(void)
{
	int saved_errno = errno;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
		atomic_store(&gsb_fence_lopsided, true);
	errno = saved_errno;
}

void gsb_fence_heavy(void)
{
	int saved_errno = errno;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&gsb_fence_lopsided, memory_order_relaxed) &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
		atomic_store(&gsb_fence_lopsided, false);
	errno = saved_errno;
}
