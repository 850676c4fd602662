/* What fills a device, in a few words, for the line about running out of memory: one caller at a time. */
#ifndef GS_WATCH_LIVE_TOP_H
#define GS_WATCH_LIVE_TOP_H

#include "allocator/gsa.h"
#include "shim/base/text.h"

/* ", largest hole N": the most free memory in one piece. Nothing where nothing is free. */
void gs_live_top_add_hole(struct gsb_text *text, struct gsa *allocator);

/* "; most of it N in C blocks by PLACE, .." of up to three places of the program, by the stacks of the live blocks. */
void gs_live_top_add_places(struct gsb_text *text, struct gsa *allocator);

#endif
