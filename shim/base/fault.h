/* Named points at which a test can make gpushim's own resources run out.
 *
 * A test arms a point with the number of passes that still succeed; the next `times` passes then fail. In builds
 * without GSB_FAULTS the points are constant false and cost nothing. Driver calls have fault points of their own in
 * the simulated driver, one per row of the table. */
#ifndef GSB_FAULT_H
#define GSB_FAULT_H

#include <stdbool.h>

/*  X(name): what runs out there */
#define GSB_FAULTS_LIST(X)                                                                                             \
	X(PAGES)   /* pages of any kind */                                                                             \
	X(SLAB)    /* pages for metadata nodes */                                                                      \
	X(THREAD)  /* the counters of a thread */                                                                      \
	X(RING)    /* the event ring */                                                                                \
	X(STACK)   /* tables of interned stacks */                                                                     \
	X(LIVE)    /* the table of tracked addresses */

enum gsb_fault_point {
#define GSB_FAULT_ENUM(name) GSB_FAULT_##name,
	GSB_FAULTS_LIST(GSB_FAULT_ENUM)
#undef GSB_FAULT_ENUM
	GSB_FAULT_COUNT
};

#ifdef GSB_FAULTS
/* True when the caller must behave as if the resource had run out. */
bool gsb_fault(enum gsb_fault_point point);

/* passes: how many passes succeed first; times: how many then fail (0 disarms). */
void gsb_fault_arm(enum gsb_fault_point point, unsigned passes, unsigned times);

/* How often the point failed since it was armed: a loop over passes ends when this stays 0. */
unsigned gsb_fault_fired(enum gsb_fault_point point);
#else
static inline bool gsb_fault(enum gsb_fault_point point)
{
	(void)point;
	return false;
}
#endif

#endif
