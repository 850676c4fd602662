/* The threads of a program. One of them works at a time: it hands a job to another and waits for it, serving jobs for
 * itself meanwhile. So a program has several threads, each with its own current context and per-thread stream, and is
 * still one sequence of calls. Thread 0 is the main one. */
#ifndef SOAK_CREW_H
#define SOAK_CREW_H

enum { CREW = 3 };

void crew_start(void);
void crew_run(int thread, void (*job)(void *), void *argument);

/* All at once, each with its own argument; returns when the last is done. */
void crew_run_all(void (*job)(void *), void *const arguments[CREW]);
int crew_self(void);

#endif
