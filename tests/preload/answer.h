/* Judges what a program was told about a driver function, against what the driver itself says.
 *
 * The row of shim/api/driver.def whose real function has the address that the driver gave is the only one whose entry
 * may be handed out; a function without a row must be a trampoline. So an answer never has another ABI than the
 * driver's own. Without the shim every answer must be the driver's. */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdint.h>

#include "tests/preload/own.h"

enum answer_kind { ANSWER_NONE, ANSWER_DRIVER, ANSWER_ENTRY, ANSWER_TRAMPOLINE, ANSWER_WRONG, ANSWER_KINDS };

static struct {
	void *driver; /* handles */
	void *shim;   /* NULL: runs without it */
	unsigned counts[ANSWER_KINDS];
} answers;

static const struct {
	const char *symbol;
} answer_rows[] = {
#define DRV(symbol, name, since, suffix, handler, parameters, arguments, disposition, call_class) {#symbol},
#include "shim/api/driver.def"
};

#define ANSWER_ROWS (sizeof(answer_rows) / sizeof(answer_rows[0]))

static void *answer_real[ANSWER_ROWS]; /* addresses in the driver and in the shim */
static void *answer_entry[ANSWER_ROWS];

/* Once libcuda is loaded. */
static inline void answers_init(void)
{
	void *shim_symbol = dlsym(RTLD_DEFAULT, "gpushim_version");
	Dl_info info;

	answers.driver = own_library("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (shim_symbol != NULL && dladdr(shim_symbol, &info) != 0)
		answers.shim = own_library(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	for (size_t i = 0; i < ANSWER_ROWS; i++) {
		answer_real[i] = own_dlsym(answers.driver, answer_rows[i].symbol);
		if (answers.shim != NULL)
			answer_entry[i] = own_dlsym(answers.shim, answer_rows[i].symbol);
	}
}

static inline enum answer_kind answer_judge(const void *answer, const void *driver_answer)
{
	if (driver_answer == NULL)
		return answer == NULL ? ANSWER_NONE : ANSWER_WRONG;
	if (answers.shim == NULL)
		return answer == driver_answer ? ANSWER_DRIVER : ANSWER_WRONG;
	for (size_t i = 0; i < ANSWER_ROWS; i++)
		if (answer_real[i] == driver_answer)
			return answer_entry[i] != NULL && answer == answer_entry[i] ? ANSWER_ENTRY : ANSWER_WRONG;
	for (size_t i = 0; i < ANSWER_ROWS; i++)
		if (answer == answer_entry[i])
			return ANSWER_WRONG;
	return own_is_shim(answer) ? ANSWER_TRAMPOLINE : ANSWER_WRONG;
}

/* Counts an answer, and prints it when it is wrong. */
static inline void answer_check(const char *name, int version, uint64_t flags, const void *answer,
				const void *driver_answer)
{
	enum answer_kind kind = answer_judge(answer, driver_answer);

	answers.counts[kind]++;
	if (kind == ANSWER_WRONG)
		printf("wrong: %s %d %llu: %p in %s, the driver says %p\n", name, version, (unsigned long long)flags,
		       answer, own_home(answer), driver_answer);
}

static inline void answers_print(const char *what)
{
	printf("%s: %u none, %u driver, %u entries, %u trampolines, %u wrong\n", what, answers.counts[ANSWER_NONE],
	       answers.counts[ANSWER_DRIVER], answers.counts[ANSWER_ENTRY], answers.counts[ANSWER_TRAMPOLINE],
	       answers.counts[ANSWER_WRONG]);
	memset(answers.counts, 0, sizeof(answers.counts));
}

#endif
