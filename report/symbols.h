/* Names of native functions: from the symbol tables of the module files, looked up offline.
 *
 * A module whose file is missing, or whose build-id is not the recorded one, has no names: a wrong name is worse than
 * an offset. Files are read at first need and stay loaded. */
#ifndef GSR_SYMBOLS_H
#define GSR_SYMBOLS_H

#include "report/model.h"

struct gsr_symbols;

struct gsr_symbols *gsr_symbols_new(const struct gsr_model *model);
void gsr_symbols_drop(struct gsr_symbols *symbols);

/* The function that contains the call before a return address, demangled, and how far into it the return address is.
 * NULL when it is not known. module is not 0. The text lives as long as symbols. */
const char *gsr_symbols_find(struct gsr_symbols *symbols, uint64_t module, uint64_t return_offset,
			     uint64_t *ret_distance);

#endif
