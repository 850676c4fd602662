/* From a model to a file. */
#ifndef GSR_WRITE_H
#define GSR_WRITE_H

#include <stdio.h>

#include "report/model.h"

/* A whole snapshot, as libgpushim.so writes them. */
void gsr_model_write(FILE *out, const struct gsr_model *model);

#endif
