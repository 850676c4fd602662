/* What the driver holds for the process, counted: tests compare it with what a program should have left. */
#include "tests/sim/cuda/sim_call.h"
#include "tests/sim/cuda/sim_handle.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_vmm.h"
#include "tests/sim/sim.h"

SIM_EXPORT size_t sim_held(enum sim_held_kind kind);

static size_t held(enum sim_held_kind kind)
{
	switch (kind) {
	case SIM_HELD_STREAMS:
		return sim_handle_count(SIM_KIND_STREAM);
	case SIM_HELD_EVENTS:
		return sim_handle_count(SIM_KIND_EVENT);
	case SIM_HELD_POOLS:
		return sim_handle_count(SIM_KIND_POOL);
	case SIM_HELD_GRAPHS:
		return sim_handle_count(SIM_KIND_GRAPH);
	case SIM_HELD_PHYSICAL:
		return sim_handle_count(SIM_KIND_PHYSICAL);
	case SIM_HELD_RANGES:
		return sim_range_count();
	case SIM_HELD_RESERVATIONS:
		return sim_vmm_reservation_count();
	default:
		return 0;
	}
}

size_t sim_held(enum sim_held_kind kind)
{
	size_t count;

	sim_baton_take();
	count = held(kind);
	sim_baton_give();
	return count;
}
