/* Matrix kernels by the precision that they work in, as their names tell it (report/precision.def). */
#ifndef GSR_PRECISION_H
#define GSR_PRECISION_H

#include "report/places.h"

enum gsr_precision {
#define PRECISION(name, key, title, advice) GSR_PRECISION_##name,
#include "report/precision.def"
	GSR_PRECISIONS
};

struct gsr_precision_share {
	uint64_t calls;
	uint64_t device_ns; /* estimated */
	uint64_t dearest;   /* row of kernels with the most of it */
};

struct gsr_precisions {
	struct gsr_precision_share share[GSR_PRECISIONS];
	uint64_t calls;
	uint64_t device_ns;
	bool timed; /* of most of them the time on the device is known */
};

void gsr_precisions_read(const struct gsr_model *model, struct gsr_precisions *ret_precisions);

/* Nothing where there are no matrix kernels. */
void gsr_precisions_print(const struct gsr_model *model);
cJSON *gsr_precisions_json(const struct gsr_model *model);

#endif
