/* Marks in the work of all contexts, for shim/submit/lead.h: one has passed when all is finished that any stream had been given when it was
 * made.
 *
 * While a thread waits in the driver for room in a stream, events can be recorded for whole contexts and asked, but whoever
 * creates one waits, too (asked of a driver 580). So events are created in stock.
 *
 * Each mark is made by the queue's thread when it is free, and asked by one thread at a time afterwards. */
#ifndef GS_SUBMIT_MARK_H
#define GS_SUBMIT_MARK_H

#include <stdbool.h>

#define GS_MARKS 16u

/* Whether the driver can do it: from 12.5 on. */
bool gs_marks_possible(void);

/* Creates the events that are missing since contexts have come; by any thread that is not the queue's, without a lock. Waits where a thread
 * waits for room in a stream. */
void gs_marks_stock(void);

/* In the child of a fork. */
void gs_marks_reset(void);

/* False: it was not made, for want of events, or because of a capture. */
bool gs_mark_make(unsigned mark);

/* Whether it has passed; then it is free. A context that is gone has waited for its work. An error of the driver passes: the context
 * is broken, and nothing is put off any more. */
bool gs_mark_passed(unsigned mark);

#endif
