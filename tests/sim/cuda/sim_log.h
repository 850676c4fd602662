/* The decision log: every choice that the simulator was free to make, in order, and its replay.
 *
 * A choice is that a stream makes a step nobody waits for, that another thread goes on (SIM_THREADS=baton), or that a
 * stream changes its rank (SIM_POLICY=priority). What the program forces by waiting is no choice and in no log. With
 * SIM_LOG=file the choices are written there (%p in the name: the process id), also when the process is killed; a hash
 * of them is always kept. With SIM_REPLAY=file nothing happens but what that file lists, everything else as late as
 * possible; a listed choice that is impossible is passed over. So a log stays meaningful with lines taken out, which
 * is how scripts/sim-shrink shortens one. Lines, after a head:
 *
 *   step CALL MOMENT FUNCTION stream STREAM KIND NUMBER   the stream made a step of that operation
 *   thread POINT to THREAD from THREAD WHERE              that thread went on
 *   rank CALL stream STREAM                               of all streams the last one from now on (told only)
 *
 * CALL counts driver calls of the process. MOMENT 0 is the start of that call, n the moment after its nth submission.
 * POINT counts the places where threads may change. */
#ifndef SIM_LOG_H
#define SIM_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct sim_stream;

/* At the first driver call; at a choice before that by itself. */
void sim_log_begin(void);

/* The head operation of the stream is about to make a step by choice. */
void sim_log_step(const struct sim_stream *stream, unsigned moment);
void sim_log_rank(const struct sim_stream *stream);
void sim_log_thread(unsigned long point, unsigned to, unsigned from, const char *where);

/* SIM_REPLAY holds for this process. */
bool sim_log_replays(void);

/* The next stream that the replayed log steps at this moment, by id; 0 = no further one. */
uint64_t sim_log_next_step(unsigned moment);

/* The thread that the replayed log lets go on at this point; 0 = none listed. */
unsigned sim_log_next_thread(unsigned long point);

/* Of all choices so far. */
uint64_t sim_log_hash(void);
unsigned long sim_log_count(void);

/* For the end of every error line: seed, policy, build, and how to see it again. */
const char *sim_log_how(void);

#endif
