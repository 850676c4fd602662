/* gpushim-report: reads snapshots, offline. The command table, the options, the help. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/command.h"
#include "report/help_conf.h"
#include "report/load.h"

static const struct command {
	const char *name;
	int (*run)(const char *path, const struct gsr_model *model, const struct gsr_options *options);
	int (*ask)(const char *word, const struct gsr_options *options); /* instead: of something else than a snapshot */
	unsigned rows;							/* default of -n */
	const char *line;
} commands[] = {
    {"summary", gsr_summary, NULL, 5, "a snapshot on one screen"},
    {"top", gsr_top, NULL, 20, "the places that hold the most memory"},
    {"leaks", gsr_leaks, NULL, 20, "the places whose memory keeps growing; status 1 if there are any"},
    {"sync", gsr_sync, NULL, 10, "where the host waited for a device, what it cost, what to do instead"},
    {"launch", gsr_launch, NULL, 10, "what was launched, by kernel and by line, and what launching cost the host"},
    {"recover", NULL, gsr_recover, 0, "makes a snapshot of the .ring file that a killed process left, prints its name"},
    {"live", NULL, gsr_live, 0, "PID: what a running process holds, a line a second (-n lines)"},
    {"snapshot", NULL, gsr_snapshot, 0, "PID: makes a running process write a snapshot, prints its name"},
};

static const char *const group_names[] = {"line", "stack", "function", "class", "category", NULL}; /* enum gsr_group_by */
static const char *const order_names[] = {"live", "peak", "total", "count", NULL};     /* enum gsr_order from LIVE on */
static const char *const conf_names[] = {"text", "markdown", NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL}; /* enum gsr_color */

static void help_print(void)
{
	puts("usage: gpushim-report COMMAND [OPTION].. FILE..|PID..\n"
	     "\n"
	     "Reads snapshots that libgpushim.so has written (plain or .gz; - is standard input).\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		printf("  %-12s %s\n", commands[i].name, commands[i].line);
	puts(
	    "\n"
	    "  -b, --by live|peak|total|count             order (live, or peak where nothing is alive)\n"
	    "  -g, --group line|stack|function|class|category  what to sum up (line)\n"
	    "      --categories FILE  rules for categories, before the built-in ones: CATEGORY python|native|thread FILE [FUNCTION]\n"
	    "  -w, --what block|tensor|driver|host|managed|handle|all\n"
	    "                     sort of memory, several joined by + (tensors under PyTorch, else blocks and driver)\n"
	    "  -n, --rows N       rows of the table; 0 = all\n"
	    "      --json         one JSON object a line for each file\n"
	    "      --color auto|always|never\n"
	    "      --help-conf[=text|markdown]  the settings of GPUSHIM_ALLOC_CONF\n"
	    "      --version      -h, --help\n"
	    "\n"
	    "example: LD_PRELOAD=/path/to/libgpushim.so python train.py; gpushim-report top --by peak gpushim.4711.json\n"
	    "\n"
	    "exit status: 0 fine, 1 leaks were found, 2 wrong usage or an unreadable file");
}

/* --- options ----------------------------------------------------------------------------------------------------- */

static int choice_read(const char *option, const char *text, const char *const *names, unsigned *ret_choice)
{
	for (unsigned i = 0; names[i] != NULL; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_choice = i;
			return 0;
		}
	fprintf(stderr, "gpushim-report: --%s: \"%s\" is none of", option, text);
	for (unsigned i = 0; names[i] != NULL; i++)
		fprintf(stderr, " %s", names[i]);
	fputs("\n", stderr);
	return -1;
}

static int sorts_read(char *text, unsigned *ret_sorts)
{
	static const char *const names[] = {
#define SORT_NAME(name, text) text,
	    GSR_SORTS(SORT_NAME)
#undef SORT_NAME
		"all",
	    NULL};
	unsigned sorts = 0, sort;
	char *rest = NULL;

	for (char *word = strtok_r(text, "+", &rest); word != NULL; word = strtok_r(NULL, "+", &rest)) {
		if (choice_read("what", word, names, &sort) != 0)
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

enum { OPTION_JSON = 256, OPTION_CATEGORIES, OPTION_COLOR, OPTION_CONF, OPTION_VERSION };

/* 0: go on; 1: done already; -1: wrong usage, said. */
static int options_read(int argc, char **argv, struct gsr_options *options, bool *rows_given)
{
	static const struct option known[] = {{"by", required_argument, NULL, 'b'},
					      {"group", required_argument, NULL, 'g'},
					      {"what", required_argument, NULL, 'w'},
					      {"rows", required_argument, NULL, 'n'},
					      {"json", no_argument, NULL, OPTION_JSON},
					      {"categories", required_argument, NULL, OPTION_CATEGORIES},
					      {"color", required_argument, NULL, OPTION_COLOR},
					      {"help-conf", optional_argument, NULL, OPTION_CONF},
					      {"version", no_argument, NULL, OPTION_VERSION},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	unsigned color = GSR_COLOR_AUTO, choice = 0;
	int option, error = 0;

	while (error == 0 && (option = getopt_long(argc, argv, "b:g:w:n:h", known, NULL)) != -1) {
		switch (option) {
		case 'b':
			error = choice_read("by", optarg, order_names, &choice);
			options->order = (enum gsr_order)(GSR_ORDER_LIVE + choice);
			break;
		case 'g':
			error = choice_read("group", optarg, group_names, &choice);
			options->by = (enum gsr_group_by)choice;
			break;
		case 'w':
			error = sorts_read(optarg, &options->sorts);
			break;
		case 'n':
			error = rows_read(optarg, &options->rows);
			*rows_given = true;
			break;
		case OPTION_JSON:
			options->json = true;
			break;
		case OPTION_CATEGORIES:
			options->categories = optarg;
			break;
		case OPTION_COLOR:
			error = choice_read("color", optarg, color_names, &color);
			break;
		case OPTION_CONF:
			choice = 0;
			if (optarg != NULL && choice_read("help-conf", optarg, conf_names, &choice) != 0)
				return -1;
			gsr_help_conf(stdout, choice != 0);
			return 1;
		case OPTION_VERSION:
			puts("gpushim-report " GPUSHIM_VERSION);
			return 1;
		case 'h':
			help_print();
			return 1;
		default:
			return -1;
		}
	}
	gsr_text_init((enum gsr_color)color);
	return error;
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(name, commands[i].name) == 0)
			return &commands[i];
	fprintf(stderr, "gpushim-report: there is no command \"%s\"; gpushim-report --help lists them\n", name);
	return NULL;
}

/* The status, or GSR_UNUSABLE when not everything could be printed. */
static int output_end(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fputs("gpushim-report: cannot write the output\n", stderr);
	return GSR_UNUSABLE;
}

int main(int argc, char **argv)
{
	struct gsr_options options = {0};
	const struct command *command;
	bool rows_given = false;
	int status = GSR_FINE, done = options_read(argc, argv, &options, &rows_given);

	if (done != 0)
		return done < 0 ? GSR_UNUSABLE : output_end(GSR_FINE);
	if (optind == argc) {
		fputs("gpushim-report: no command; gpushim-report --help lists them\n", stderr);
		return GSR_UNUSABLE;
	}
	command = command_find(argv[optind++]);
	if (command == NULL)
		return GSR_UNUSABLE;
	if (optind == argc) {
		fprintf(stderr, "gpushim-report: %s: no %s\n", command->name, command->ask != NULL && command->ask != gsr_recover ? "process" : "file");
		return GSR_UNUSABLE;
	}
	if (!rows_given)
		options.rows = command->rows;
	for (bool first = true; optind < argc; optind++) {
		struct gsr_model model;

		int answer;

		if (command->ask != NULL) {
			answer = command->ask(argv[optind], &options);
			status = answer > status ? answer : status;
			continue;
		}
		if (gsr_load(argv[optind], &model) != 0) {
			status = GSR_UNUSABLE;
			continue;
		}
		if (!first && !options.json)
			puts("");
		first = false;
		answer = command->run(argv[optind], &model, &options);
		status = answer > status ? answer : status;
		gsr_model_drop(&model);
	}
	return output_end(status);
}
