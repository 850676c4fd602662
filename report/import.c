/* See import.h; and gpushim-report import, which writes what was read. */
#include "report/import.h"

#include <string.h>

#include "report/command.h"
#include "report/write.h"

enum gsr_foreign gsr_foreign_of(const char *bytes, size_t length)
{
	static const char log[] = "Thread,Time,Action,";

	if (length > 1 && (unsigned char)bytes[0] == 0x80 && (unsigned char)bytes[1] >= 2)
		return GSR_FOREIGN_TORCH;
	if (length > strlen(log) && memcmp(bytes, log, strlen(log)) == 0)
		return GSR_FOREIGN_RMM;
	return GSR_FOREIGN_NONE;
}

void gsr_tally_add(struct gsr_tally *tally, uint64_t size_bytes)
{
	tally->bytes += size_bytes;
	tally->count++;
	tally->total_count++;
	if (tally->bytes > tally->peak_bytes)
		tally->peak_bytes = tally->bytes;
	if (tally->count > tally->peak_count)
		tally->peak_count = tally->count;
}

void gsr_tally_take(struct gsr_tally *tally, uint64_t size_bytes)
{
	tally->bytes -= size_bytes < tally->bytes ? size_bytes : tally->bytes;
	tally->count -= tally->count > 0;
}

int gsr_import(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	(void)path;
	(void)options;
	gsr_model_write(stdout, model);
	return GSR_FINE;
}
