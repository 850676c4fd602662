/* Memory that streams use without an order between them, as the table `crossings` has it: what, where, how often, and what to do. */
#ifndef GSR_HAZARD_H
#define GSR_HAZARD_H

#include "report/places.h"

/* Prints nothing where there is none. */
void gsr_hazards_print(const struct gsr_model *model, struct gsr_places *places);

/* A list, empty where there is none. */
cJSON *gsr_hazards_json(const struct gsr_model *model, struct gsr_places *places);

#endif
