/* From a file to a model. */
#ifndef GSR_LOAD_H
#define GSR_LOAD_H

#include "report/model.h"

/* Reads a snapshot, plain or gzipped; "-" is standard input. 0, or GS_E_INVALID or GS_E_IO after one line on standard
 * error: "gpushim-report: FILE: what is wrong at byte N". */
int gsr_load(const char *path, struct gsr_model *ret_model);

#endif
