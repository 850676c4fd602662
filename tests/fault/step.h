/* The record of one run of a scenario: every step that the program took, with what came of it. A scenario goes on after
 * an error; what it cannot do without (no memory, so no work on it) it leaves out, and so the record shows it.
 *
 * The record lies in memory shared with the process that started the run, so it survives whatever ends the run. */
#ifndef STEP_H
#define STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { STEPS_MAX = 1000, STEP_TEXT_BYTES = 60 };

struct step {
	char text[STEP_TEXT_BYTES];
	int code;
};

struct record {
	unsigned count;
	struct step steps[STEPS_MAX];
};

static struct record *step_record; /* of the running process */

/* True where the code says success. */
static inline bool step_note(const char *text, int code)
{
	struct step *step = &step_record->steps[step_record->count < STEPS_MAX ? step_record->count++ : STEPS_MAX - 1];
	size_t length = strnlen(text, STEP_TEXT_BYTES - 1);

	memcpy(step->text, text, length);
	step->code = code;
	return code == 0;
}

#define STEP(call) step_note(#call, (int)(call))

static inline uint64_t record_hash(const struct record *record)
{
	uint64_t hash = 14695981039346656037ull;

	for (unsigned i = 0; i < record->count; i++) {
		for (const char *at = record->steps[i].text; *at != '\0'; at++)
			hash = (hash ^ (unsigned char)*at) * 1099511628211ull;
		hash = (hash ^ (unsigned)record->steps[i].code) * 1099511628211ull;
	}
	return hash;
}

/* The first step in which they differ; the lower count where one ends earlier. */
static inline unsigned record_difference(const struct record *one, const struct record *other)
{
	unsigned i = 0;

	while (i < one->count && i < other->count && one->steps[i].code == other->steps[i].code &&
	       strcmp(one->steps[i].text, other->steps[i].text) == 0)
		i++;
	return i;
}

#endif
