/* See escape.h. */
#include "shim/base/escape.h"

#include <setjmp.h>
#include <stdatomic.h>

#include "shim/base/os.h"

static _Atomic uint32_t owner; /* the thread; 0: none. What follows is its own */
static uint64_t left_ns;
static sigjmp_buf way_out;

bool gsb_escape_try(void (*step)(void), uint64_t patience_ns)
{
	bool made = false;

	left_ns = patience_ns;
	if (sigsetjmp(way_out, 1) == 0) {
		atomic_store(&owner, gsb_os_tid());
		step();
		made = true;
	}
	atomic_store(&owner, 0);
	return made;
}

bool gsb_escape_possible(void)
{
	return atomic_load_explicit(&owner, memory_order_relaxed) != 0;
}

void gsb_escape_look(uint64_t waited_ns)
{
	if (atomic_load_explicit(&owner, memory_order_relaxed) != gsb_os_tid())
		return;
	if (waited_ns >= left_ns)
		siglongjmp(way_out, 1);
	left_ns -= waited_ns;
}
