/* Files of other tools as models, so that every command works on them: PyTorch's snapshots (pickles of
 * torch.cuda.memory._dump_snapshot), logs of RMM. */
#ifndef GSR_IMPORT_H
#define GSR_IMPORT_H

#include "report/build.h"

/* What the bytes look like. */
enum gsr_foreign { GSR_FOREIGN_NONE, GSR_FOREIGN_TORCH, GSR_FOREIGN_RMM };
enum gsr_foreign gsr_foreign_of(const char *bytes, size_t length);

/* 0, or GS_E_INVALID with the place of the mistake and why. */
int gsr_import_torch(const char *bytes, size_t length, struct gsr_model *ret_model, size_t *ret_error_at, const char **ret_why);
int gsr_import_rmm(const char *bytes, size_t length, struct gsr_model *ret_model, size_t *ret_error_at, const char **ret_why);

/* Memory that begins and ends in a history that is imported, of one class. */
struct gsr_tally {
	uint64_t bytes, peak_bytes, count, peak_count, total_count;
};
void gsr_tally_add(struct gsr_tally *tally, uint64_t size_bytes);
void gsr_tally_take(struct gsr_tally *tally, uint64_t size_bytes);

#endif
