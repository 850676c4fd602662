/* A place of the program in a few words, for lines on standard error. */
#ifndef GS_WATCH_PLACE_H
#define GS_WATCH_PLACE_H

#include <stdint.h>

#include "shim/base/text.h"

/* "train.py:41 (step)": the innermost Python frame of the program's own code, or of a
 * library where there is none; else "solver+0x1234": the innermost native one of the
 * program; else "an unknown place". */
void gs_place_add(struct gsb_text *text, uint32_t stack);

#endif
