/* Where results go: standard output, or a file, which then appears whole or not at all.
 *
 * While a file is open it is stdout: whatever prints need not know. */
#ifndef GSR_OUTPUT_H
#define GSR_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

/* path: NULL or "-" = standard output. A file that exists is replaced only with force; a name that ends in .gz gets packed data.
 * A new file gets the mode (less the umask), one that is replaced keeps its own. 0, or GS_E_IO after one line on standard error. */
int gsr_output_open(const char *path, bool force, mode_t mode);

/* The mode of a new file that is made from these: readable and writable for nobody for whom they are not, all of them. */
mode_t gsr_output_mode(char *const *inputs, int count);

/* Whether an input is another file than the output: 0, or GS_E_IO after one line on standard error. */
int gsr_output_differs(const char *path, const char *input);

/* Ends the output. status: enum gsr_status so far; where it says that nothing can be used, a file is dropped. Returns the status,
 * or GSR_UNUSABLE, with one line, when not everything could be written. */
int gsr_output_close(int status);

/* "reading events: 40 %" on standard error, if that is a terminal and this has taken a while. */
void gsr_progress(const char *what, const char *name, double share);
void gsr_progress_end(void);

#endif
