/* A way out of a wait that may never end. A thread that ends the process from a signal handler may have been interrupted
 * while it held what it comes to wait for: it makes its last steps with a way out, and leaves them where they wait too
 * long. What it holds by then it holds for ever. */
#ifndef GSB_ESCAPE_H
#define GSB_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the step. False: it was left in the middle, after all its waits together had lasted so long. For one thread of the
 * process, once at a time. */
bool gsb_escape_try(void (*step)(void), uint64_t patience_ns);

/* After a part of a wait: does not return where the thread leaves. */
void gsb_escape_look(uint64_t waited_ns);

/* Whether some thread has a way out: until then nobody needs to look. */
bool gsb_escape_possible(void);

#endif
