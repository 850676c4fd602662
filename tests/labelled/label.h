/* Labelled programs: small programs that say in their comments what gpushim must find in them.
 *
 *   finds: KIND in FUNCTION     a problem of this kind (report/finding.def) is named in that function
 *   normal: KIND in FUNCTION    such a finding is there, and is not called a problem
 *   hazard: KIND in FUNCTION    a hazard of this kind (shim/watch/hazard.h), whose second line is in that function
 *
 *   may: KIND in FUNCTION       may be said or not
 *
 * Nothing else may be called a problem or a hazard; test_labelled.py runs and judges them (tests/lib/labels.py). KIND and FUNCTION may
 * be one of several, `a|b`; `settings: KEY:VALUE` and `policy: NAME` (scripts/sim-run) say how it runs, `finds on a GPU:` what
 * the simulated device cannot show. blind/ has programs whose labels were written before their author knew the detector. Time is the simulated
 * device's: `busy` gives a stream work for some milliseconds. */
#ifndef LABEL_H
#define LABEL_H

#include <time.h>

#include "tests/preload/kernel.h"

#define APART __attribute__((noinline, noclone))

enum { STEPS = 30, WORDS = 1 << 20, WORDS_BYTES = WORDS * 4 };

/* Fills as many words as take a processor about a millisecond. */
static inline void busy(uint32_t *words, cudaStream_t stream)
{
	kernel_fill(words, 1, WORDS, stream);
	kernel_fill(words, 2, WORDS, stream);
}

/* The host has something else to do for a moment. */
static inline void host_works(void)
{
	struct timespec moment = {0, 300000};

	nanosleep(&moment, NULL);
}

static inline uint32_t *words_new(void)
{
	uint32_t *words;

	NEED(cudaMalloc((void **)&words, WORDS_BYTES));
	return words;
}

#endif
