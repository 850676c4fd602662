/* What the waits of the host mean, place by place: rows of the table `waits` that have a line in common, and are
 * of one class or are copies and waits, are one finding,
 * named by the rules of finding.def and priced with the host time that was measured. */
#ifndef GSR_FINDING_H
#define GSR_FINDING_H

#include <cjson/cJSON.h>

#include "report/places.h"

enum gsr_finding_kind {
#define FINDING(name, key, weight, title, advice) GSR_FINDING_##name,
#include "report/finding.def"
	GSR_FINDING_KINDS
};

struct gsr_finding_text {
	const char *key, *title, *advice;
	bool problem;
};
extern const struct gsr_finding_text gsr_finding_texts[GSR_FINDING_KINDS];

struct gsr_finding {
	enum gsr_finding_kind kind;
	bool problem;		   /* not normal by kind, of some price, and part of a loop */
	bool clear;		   /* waits by name that found nothing to wait for */
	bool timely;		   /* waits by name that the device had work up to, and again right afterwards or queued behind */
	uint64_t stack;		   /* one of its stacks */
	uint64_t calls;		   /* of the function that was called most */
	uint64_t host_ns;	   /* of all calls there */
	uint64_t longest_ns;
	uint64_t clear_ns;	   /* of host_ns, in waits by name that found nothing to wait for */
	uint64_t followed;	   /* waits for events with more work behind them */
	uint64_t drained, idle_ns; /* waits that left the device without work, and until it was given some, at least */
	uint64_t copies, size_bytes;
	const char *memory;	   /* host memory of the copies; "" = none, or several kinds */
	size_t tried;		   /* of AUTOTUNE and LOAD: kernels launched from the line */
	char *kernels;		   /* some of them; NULL */
	char *functions;	   /* "cuMemcpyDtoHAsync_v2, cuStreamSynchronize" */
};

struct gsr_findings {
	uint64_t host_ns; /* all waits, also those without a place */
	uint64_t idle_ns; /* after all of them */
	size_t count;
	struct gsr_finding *findings; /* problems first, the dearest first */
};

void gsr_findings_read(const struct gsr_model *model, struct gsr_places *places, struct gsr_findings *ret_findings);
void gsr_findings_drop(struct gsr_findings *findings);

/* What to do instead; that a cache helps is no advice where it was on already. */
const char *gsr_finding_advice(const struct gsr_model *model, const struct gsr_finding *finding);

/* Adds what programs read of a finding, but for its place. */
void gsr_finding_json(const struct gsr_finding *finding, cJSON *object);

#endif
