/* The error that stuck to a context, and the launches that may have caused it: grouped by kernel and line, the likeliest
 * first. Kernels come before copies; kernels that are not known to have ever run well from that line before those that
 * are; then the older ones, since the device stops at the first error. */
#ifndef GSR_ERRORS_H
#define GSR_ERRORS_H

#include "report/places.h"

/* Prints nothing where there was no error. rows: of candidates, at most. */
void gsr_errors_print(struct gsr_places *places, const struct gsr_model *model, unsigned rows);

/* A list, of no error or one, with all candidates. */
cJSON *gsr_errors_json(struct gsr_places *places, const struct gsr_model *model);

#endif
