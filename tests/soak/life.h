/* The ends of things, and what is refused: contexts, pools, forks, calls that have to fail. */
#ifndef SOAK_LIFE_H
#define SOAK_LIFE_H

/* Makes a context with streams and events of its own, or destroys one with everything in it. */
void life_context(int stream);

/* A context for a moment: it allocates, frees, and goes, while another one allocates what the first has freed. */
void life_short_context(int stream);

/* At the end: the device is reset, and used once more. */
void life_after_reset(void);

/* Attributes, trimming, the device's current pool, an own pool made and destroyed. */
void life_pool(int stream);

/* A child that tries CUDA, which does not work there, and ends. */
void life_fork(int stream);

/* One call that has to fail. */
void life_refused(int stream);

/* What the driver says about memory. */
void life_ask(int stream);

#endif
