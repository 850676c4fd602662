/* Copies between host and device, by direction and kind of host memory: bytes, host time, and how fast those were of which it is known:
 * copies that the host waited for, with nothing before them to wait for. */
#ifndef GSR_TRANSFER_H
#define GSR_TRANSFER_H

#include "report/model.h"

/* Prints nothing where nothing was copied. */
void gsr_transfers_print(const struct gsr_model *model);
cJSON *gsr_transfers_json(const struct gsr_model *model);

#endif
