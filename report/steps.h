/* The steps of a program, read from the tables `loops` and `steps`: its loops, and what differed in steps that took long. */
#ifndef GSR_STEPS_H
#define GSR_STEPS_H

#include "report/places.h"

/* A loop with fewer steps tells nothing. */
#define GSR_STEPS_LEAST 5

/* The loop in which the program spent most of its time, of those with enough steps; one that the program marked comes before all
 * others. False: there is none. */
bool gsr_steps_main(const struct gsr_model *model, size_t *ret_loop);

/* All of them, as text and as JSON. The places are those of the model. */
void gsr_steps_print(const struct gsr_model *model, struct gsr_places *places, unsigned rows);
cJSON *gsr_steps_json(const struct gsr_model *model, struct gsr_places *places);

/* One line on the main loop, for the summary. Nothing where there is none. */
void gsr_steps_line(const struct gsr_model *model, struct gsr_places *places);

#endif
