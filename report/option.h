/* What the command line says, by the tables option.def and command.def. */
#ifndef GSR_OPTION_H
#define GSR_OPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/text.h"
#include "report/usage.h"

struct gsr_model;

enum gsr_option_id {
#define OPTION(name, letter, text, argument, line) GSR_OPTION_##name,
#include "report/option.def"
	GSR_OPTION_COUNT
};

struct gsr_option {
	char letter;
	const char *name, *argument, *line;
};
extern const struct gsr_option gsr_option_table[GSR_OPTION_COUNT];

#define GSR_OPTIONS_COMMON (~(uint64_t)0 << GSR_OPTION_JSON)

#define GSR_LIMITS_MAX 64

struct gsr_options {
	bool json;	      /* one object a line, one line a file */
	unsigned rows;	      /* of the main table; 0 = all */
	unsigned sorts;	      /* bits of enum gsr_sort; 0 = what fits the snapshot */
	enum gsr_group_by by; /* how to sum up */
	enum gsr_order order;
	const char *categories; /* file of rules; NULL = as the snapshot's settings say */
	const char *output;	/* NULL = standard output */
	bool force;
	bool svg;
	const char *root; /* NULL = not given */
	unsigned limit_count;
	const char *limits[GSR_LIMITS_MAX];
	const char *limits_file;
	const char *fail_over; /* NULL = not given */
	double fail_over_value;
	bool fail_over_is_share;
	enum gsr_color color;
	uint64_t given; /* bits of enum gsr_option_id */
};

struct gsr_command {
	const char *name;
	/* One of them. They return enum gsr_status. */
	int (*files)(const char *path, const struct gsr_model *model, const struct gsr_options *options);
	int (*words)(const char *word, const struct gsr_options *options);
	int (*all)(char *const *words, int count, const struct gsr_options *options);
	unsigned rows; /* default of --rows */
	const char *words_text;
	uint64_t options; /* bits of enum gsr_option_id */
	const char *line, *example;
};
extern const struct gsr_command gsr_command_table[];
extern const unsigned gsr_command_count;

/* The command of that name, or NULL after one line on standard error. */
const struct gsr_command *gsr_command_find(const char *name);

/* Moves what is no option to the end of argv and returns in *ret_first where that begins; the first such word is a command, which
 * *ret_command names (NULL: there is none). 0: go on; 1: what was asked for is printed already; -1: wrong usage, said. */
int gsr_options_read(int argc, char **argv, struct gsr_options *ret_options, const struct gsr_command **ret_command,
		     int *ret_first);

/* Help for one command, or for all (NULL). */
void gsr_help_print(const struct gsr_command *command);

/* "12.5 MiB", "7GiB", "3 %", "800": a number and its unit, which is "", "%", B, or one of K M G T, also as KiB and KB; those are
 * 1024s, as in the settings. false: it is none. */
bool gsr_quantity_read(const char *text, double *ret_value, bool *ret_is_share);

#endif
