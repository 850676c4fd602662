/* The picture of gpushim-report timeline --svg. */
#ifndef GSR_TIMELINE_SVG_H
#define GSR_TIMELINE_SVG_H

#include "report/series.h"

void gsr_timeline_svg(const struct gsr_view *view, const struct gsr_series *series);

#endif
