/* What the page shows, taken from a snapshot: columns and header of a pack, as report/page/snapshot.js reads them. */
#ifndef GSR_HTML_DATA_H
#define GSR_HTML_DATA_H

#include "report/command.h"
#include "report/html_pack.h"

void gsr_html_data(const char *path, const struct gsr_model *model, struct gsr_categories *categories,
		   struct gsr_places *places, struct gsr_pack *pack);

#endif
