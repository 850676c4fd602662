/* See fault.h. */
#include "shim/base/fault.h"

#ifdef GSB_FAULTS
#include <stdatomic.h>

static struct {
	_Atomic int passes; /* passes that still succeed; counts below 0 once exhausted */
	_Atomic int times;  /* failures still to hand out */
	_Atomic unsigned fired;
} points[GSB_FAULT_COUNT];

void gsb_fault_arm(enum gsb_fault_point point, unsigned passes, unsigned times)
{
	atomic_store(&points[point].passes, (int)passes);
	atomic_store(&points[point].fired, 0);
	atomic_store(&points[point].times, (int)times);
}

bool gsb_fault(enum gsb_fault_point point)
{
	if (atomic_load(&points[point].times) <= 0 || atomic_fetch_sub(&points[point].passes, 1) > 0)
		return false;
	if (atomic_fetch_sub(&points[point].times, 1) <= 0)
		return false;
	atomic_fetch_add(&points[point].fired, 1);
	return true;
}

unsigned gsb_fault_fired(enum gsb_fault_point point)
{
	return atomic_load(&points[point].fired);
}
#else
/* ISO C wants a declaration in every translation unit. */
typedef int gsb_fault_not_built;
#endif
