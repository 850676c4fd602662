/* What holds the steps of a loop up, from their figures: launching, waiting, copying or computing. It is told only where the
 * figures show it. */
#ifndef GSR_VERDICT_H
#define GSR_VERDICT_H

#include "report/model.h"
#include "report/text.h"

enum gsr_verdict {
#define VERDICT(name, key, title, advice) GSR_VERDICT_##name,
#include "report/verdict.def"
	GSR_VERDICTS
};

struct gsr_verdict_text {
	const char *key, *title, *advice;
};
extern const struct gsr_verdict_text gsr_verdict_texts[GSR_VERDICTS];

/* Of one step, in nanoseconds. */
struct gsr_step_time {
	uint64_t wall, launches, launch, device, queue, wait, idle, memory, load;
	uint64_t copy;	     /* host time in copies of some size that it waits for */
	bool device_known;   /* of most launches the time on the device is known */
};

/* typical: figures of a step, by column of the table `steps`. */
void gsr_step_time_read(const struct gsr_model *model, const uint64_t typical[GS_SNAP_steps_COLUMNS],
			struct gsr_step_time *ret_time);

enum gsr_verdict gsr_verdict_of(const struct gsr_step_time *time);

/* Why: "device busy 31 % (2.1 ms); the host launches 800 kernels for ...". */
char *gsr_verdict_evidence(const struct gsr_step_time *time, enum gsr_verdict verdict, char text[GSR_CELL_BYTES]);

/* The least that a step would take if its launches were one graph; an estimate. 0: not worth it, or not known. */
uint64_t gsr_verdict_graph_ns(const struct gsr_step_time *time, enum gsr_verdict verdict);

/* Timing such a step on the host, without a wait, shows less than the device takes. */
bool gsr_verdict_misleads(const struct gsr_step_time *time);

#endif
