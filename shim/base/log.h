/* Lines on standard error: "gpushim: <text>", one write each, never more than GSB_LOG_LINE_BYTES.
 *
 * Allocates nothing, keeps errno, raises no signal, may be called with any lock held except LOG. Silent until the level
 * allows it: the level is WARN until the configuration says otherwise. */
#ifndef GSB_LOG_H
#define GSB_LOG_H

#include <stdatomic.h>

enum gsb_log_level { GSB_LOG_ERROR, GSB_LOG_WARN, GSB_LOG_INFO, GSB_LOG_DEBUG };

#define GSB_LOG_LINE_BYTES 1024

/* Notes what stderr is, once, at load. From then on a file or a socket that took its number later is the program's:
 * nothing is printed into it, unless it is a file opened to append. */
void gsb_log_init(void);

void gsb_log_set_level(enum gsb_log_level level);

/* Prints when level is within the current one. */
void gsb_log(enum gsb_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints whatever the level: for the line a user asked for (the exit line, a message for bad configuration). */
void gsb_log_always(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As gsb_log, but only the first time this place is reached in the process. */
#define gsb_log_once(level, ...)                                                                                       \
	do {                                                                                                           \
		static atomic_flag gsb_log_said = ATOMIC_FLAG_INIT;                                                    \
		if (!atomic_flag_test_and_set_explicit(&gsb_log_said, memory_order_relaxed))                           \
			gsb_log(level, __VA_ARGS__);                                                                   \
	} while (0)

#endif
