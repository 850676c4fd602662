/* See option.h. */
#include "report/option.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "report/command.h"
#include "report/help_conf.h"
#include "shim/base/span.h"

const struct gsr_option gsr_option_table[GSR_OPTION_COUNT] = {
#define OPTION(name, letter, text, argument, line) {letter, text, argument, line},
#include "report/option.def"
};

#define TAKES(name) (uint64_t)1 << GSR_OPTION_##name
#define FILES .files
#define WORDS .words
#define ALL .all
const struct gsr_command gsr_command_table[] = {
#define COMMAND(name_, takes_, function_, rows_, words_, options_, line_, example_)                                    \
	{#name_,                                                                                                       \
	 takes_ = function_,                                                                                           \
	 .rows = rows_,                                                                                                \
	 .words_text = words_,                                                                                         \
	 .options = options_,                                                                                          \
	 .line = line_,                                                                                                \
	 .example = example_},
#include "report/command.def"
};
const unsigned gsr_command_count = sizeof(gsr_command_table) / sizeof(gsr_command_table[0]);

#define LONG_CODE 256 /* of getopt, of options without a letter */

static int complain(const char *option, const char *text, const char *choices)
{
	fprintf(stderr, "gpushim-report: --%s: \"%s\" is none of", option, text);
	for (; *choices != '\0' && *choices != ']'; choices += *choices == '|') {
		int length = (int)strcspn(choices, "|]");

		fprintf(stderr, " %.*s", length, choices);
		choices += length;
	}
	fputs("\n", stderr);
	return -1;
}

/* Which of the words that the option's row lists. */
static int choice_read(enum gsr_option_id id, const char *text, unsigned *ret_choice)
{
	const char *choices = gsr_option_table[id].argument + (gsr_option_table[id].argument[0] == '[');
	size_t length = strlen(text);
	unsigned choice = 0;

	for (const char *at = choices; *at != '\0'; choice++) {
		size_t word = strcspn(at, "|]");

		if (word == length && strncmp(at, text, length) == 0) {
			*ret_choice = choice;
			return 0;
		}
		at += word + strspn(at + word, "|]");
	}
	return complain(gsr_option_table[id].name, text, choices);
}

static int sorts_read(char *text, unsigned *ret_sorts)
{
	unsigned sorts = 0, sort;
	char *rest = NULL;

	for (char *word = strtok_r(text, "+", &rest); word != NULL; word = strtok_r(NULL, "+", &rest)) {
		if (choice_read(GSR_OPTION_WHAT, word, &sort) != 0)
			return -1;
		sorts |= sort == GSR_SORT_COUNT ? (1u << GSR_SORT_COUNT) - 1 : 1u << sort;
	}
	*ret_sorts = sorts;
	return 0;
}

static int rows_read(const char *text, unsigned *ret_rows)
{
	char *end;
	unsigned long rows;

	errno = 0;
	rows = strtoul(text, &end, 10);
	if (end == text || *end != '\0' || text[0] == '-' || errno != 0 || rows > 1000000000) {
		fprintf(stderr, "gpushim-report: --rows: \"%s\" is no number of rows\n", text);
		return -1;
	}
	*ret_rows = (unsigned)rows;
	return 0;
}

bool gsr_quantity_read(const char *text, double *ret_value, bool *ret_is_share)
{
	static const char units[] = "KMGT";
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value >= -1e18 && value <= 1e18))
		return false;
	end += strspn(end, " ");
	*ret_is_share = strcmp(end, "%") == 0;
	if (!*ret_is_share && *end != '\0') {
		const char *unit = strchr(units, *end);

		if (unit != NULL) {
			value *= (double)(1024ull << 10 * (unit - units));
			end++;
			end += strncmp(end, "iB", 2) == 0;
		}
		if (strcmp(end, "B") != 0 && (unit == NULL || *end != '\0'))
			return false;
	}
	*ret_value = value;
	return true;
}

static int option_read(enum gsr_option_id id, char *argument, struct gsr_options *options, unsigned *color)
{
	unsigned choice = 0;

	options->given |= (uint64_t)1 << id;
	switch (id) {
	case GSR_OPTION_BY:
		if (choice_read(id, argument, &choice) != 0)
			return -1;
		options->order = (enum gsr_order)(GSR_ORDER_LIVE + choice);
		return 0;
	case GSR_OPTION_GROUP:
		if (choice_read(id, argument, &choice) != 0)
			return -1;
		options->by = (enum gsr_group_by)choice;
		return 0;
	case GSR_OPTION_WHAT:
		return sorts_read(argument, &options->sorts);
	case GSR_OPTION_ROWS:
		return rows_read(argument, &options->rows);
	case GSR_OPTION_JSON:
		options->json = true;
		return 0;
	case GSR_OPTION_CATEGORIES:
		options->categories = argument;
		return 0;
	case GSR_OPTION_FAIL_OVER:
		options->fail_over = argument;
		if (gsr_quantity_read(argument, &options->fail_over_value, &options->fail_over_is_share) &&
		    options->fail_over_value >= 0)
			return 0;
		fprintf(stderr, "gpushim-report: --fail-over: \"%s\" is neither a share nor an amount: 5%%, 100MiB\n", argument);
		return -1;
	case GSR_OPTION_LIMIT:
		if (options->limit_count == GSR_LIMITS_MAX) {
			fprintf(stderr, "gpushim-report: --limit: more than %d; put them into a file (--limits)\n", GSR_LIMITS_MAX);
			return -1;
		}
		options->limits[options->limit_count++] = argument;
		return 0;
	case GSR_OPTION_LIMITS:
		options->limits_file = argument;
		return 0;
	case GSR_OPTION_ROOT:
		options->root = argument;
		return 0;
	case GSR_OPTION_SVG:
		options->svg = true;
		return 0;
	case GSR_OPTION_OUTPUT:
		options->output = argument;
		return 0;
	case GSR_OPTION_FORCE:
		options->force = true;
		return 0;
	case GSR_OPTION_COLOR:
		return choice_read(id, argument, color);
	case GSR_OPTION_CONF:
		if (argument != NULL && choice_read(id, argument, &choice) != 0)
			return -1;
		gsr_help_conf(stdout, choice != 0);
		return 1;
	case GSR_OPTION_VERSION:
		puts("gpushim-report " GPUSHIM_VERSION);
		return 1;
	case GSR_OPTION_HELP:
	case GSR_OPTION_COUNT:
		break;
	}
	return 0;
}

const struct gsr_command *gsr_command_find(const char *name)
{
	struct gsb_nearest nearest = {.wanted = gsb_span_of(name)};

	for (unsigned i = 0; i < gsr_command_count; i++) {
		if (strcmp(name, gsr_command_table[i].name) == 0)
			return &gsr_command_table[i];
		gsb_nearest_offer(&nearest, gsb_span_of(gsr_command_table[i].name));
	}
	fprintf(stderr, "gpushim-report: there is no command \"%s\"; the nearest is \"%s\"; gpushim-report --help lists them\n", name,
		nearest.best.start);
	return NULL;
}

/* What getopt_long wants, from the table. */
static void known_make(struct option known[GSR_OPTION_COUNT + 1], char letters[2 * GSR_OPTION_COUNT + 1])
{
	for (unsigned id = 0; id < GSR_OPTION_COUNT; id++) {
		const struct gsr_option *option = &gsr_option_table[id];

		known[id].name = option->name;
		known[id].has_arg = option->argument == NULL	      ? no_argument
				    : option->argument[0] == '[' ? optional_argument
								 : required_argument;
		known[id].val = LONG_CODE + (int)id;
		if (option->letter != '\0') {
			*letters++ = option->letter;
			if (option->argument != NULL)
				*letters++ = ':';
		}
	}
	*letters = '\0';
}

static enum gsr_option_id id_of(int code)
{
	for (unsigned id = 0; id < GSR_OPTION_COUNT; id++)
		if (code == LONG_CODE + (int)id || (code != '\0' && code == gsr_option_table[id].letter))
			return (enum gsr_option_id)id;
	return GSR_OPTION_COUNT;
}

/* In one line, what getopt_long has found wrong with the word before optind, or within it. */
static int option_complain(char *const *argv)
{
	enum gsr_option_id id = id_of(optopt);

	if (optopt == 0)
		fprintf(stderr, "gpushim-report: unrecognized option '%s'", argv[optind - 1]);
	else if (id == GSR_OPTION_COUNT)
		fprintf(stderr, "gpushim-report: unrecognized option '-%c'", optopt);
	else
		fprintf(stderr, "gpushim-report: --%s takes %s", gsr_option_table[id].name,
			gsr_option_table[id].argument != NULL ? "a value" : "no value");
	fputs("; gpushim-report --help lists what there is\n", stderr);
	return -1;
}

/* Options that the command does not take are mistakes: they would do nothing. */
static int fit_check(const struct gsr_command *command, const struct gsr_options *options)
{
	uint64_t strange = options->given & ~(command->options | GSR_OPTIONS_COMMON);

	if (strange == 0)
		return 0;
	fprintf(stderr, "gpushim-report: %s takes no --%s; gpushim-report %s --help lists what it takes\n", command->name,
		gsr_option_table[__builtin_ctzll(strange)].name, command->name);
	return -1;
}

int gsr_options_read(int argc, char **argv, struct gsr_options *ret_options, const struct gsr_command **ret_command,
		     int *ret_first)
{
	struct option known[GSR_OPTION_COUNT + 1] = {0};
	char letters[2 * GSR_OPTION_COUNT + 1];
	unsigned color = GSR_COLOR_AUTO;
	int code, done = 0;

	*ret_command = NULL;
	known_make(known, letters);
	opterr = 0;
	while (done == 0 && (code = getopt_long(argc, argv, letters, known, NULL)) != -1)
		done = code == '?' ? option_complain(argv) : option_read(id_of(code), optarg, ret_options, &color);
	if (done != 0)
		return done;
	if (optind < argc && strcmp(argv[optind], "help") == 0) { /* help COMMAND is COMMAND --help */
		ret_options->given |= (uint64_t)1 << GSR_OPTION_HELP;
		optind++;
	}
	if (optind < argc) {
		*ret_command = gsr_command_find(argv[optind]);
		if (*ret_command == NULL)
			return -1;
	}
	if ((ret_options->given & (uint64_t)1 << GSR_OPTION_HELP) != 0) {
		gsr_help_print(*ret_command);
		return 1;
	}
	if (*ret_command == NULL) {
		fputs("gpushim-report: no command; gpushim-report --help lists them\n", stderr);
		return -1;
	}
	if (fit_check(*ret_command, ret_options) != 0)
		return -1;
	if ((ret_options->given & (uint64_t)1 << GSR_OPTION_ROWS) == 0)
		ret_options->rows = (*ret_command)->rows;
	ret_options->color = (enum gsr_color)color;
	*ret_first = optind + 1;
	return 0;
}
