/* gpushim-report --help-conf: the settings of GPUSHIM_ALLOC_CONF, from the rows of shim/core/conf.def. */
#ifndef GSR_HELP_CONF_H
#define GSR_HELP_CONF_H

#include <stdbool.h>
#include <stdio.h>

/* Plain text for a terminal, or the table of README.md. */
void gsr_help_conf(FILE *out, bool markdown);

#endif
