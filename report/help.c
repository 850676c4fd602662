/* The help, and what shells complete: both from the tables option.def and command.def. */
#include <stdio.h>
#include <string.h>

#include "report/command.h"

#define LINE_WIDTH 100

static bool takes(const struct gsr_command *command, unsigned id)
{
	return ((command->options | GSR_OPTIONS_COMMON) >> id & 1) != 0;
}

/* Words of text from this column on; a line that is full is followed by one that is indented likewise. */
static void wrapped_print(const char *text, int column)
{
	int at = column;

	while (*text != '\0') {
		int length = (int)strcspn(text, " ");

		if (at > column && at + 1 + length > LINE_WIDTH) {
			printf("\n%*s", column, "");
			at = column;
		}
		at += printf("%s%.*s", at > column ? " " : "", length, text);
		text += length + (text[length] == ' ');
	}
	puts("");
}

static void option_print(const struct gsr_option *option)
{
	char text[256];
	const char *argument = option->argument;
	bool optional = argument != NULL && argument[0] == '[';
	int length = snprintf(text, sizeof(text), "  %c%c%c --%s%s%s%.*s%s", option->letter != '\0' ? '-' : ' ',
			      option->letter != '\0' ? option->letter : ' ', option->letter != '\0' ? ',' : ' ', option->name, optional ? "[" : "",
			      argument == NULL ? "" : optional ? "=" : " ",
			      argument == NULL ? 0 : (int)strlen(argument) - 2 * optional,
			      argument == NULL ? "" : argument + optional, optional ? "]" : "");

	if (length > 24)
		printf("%s\n%26s", text, "");
	else
		printf("%-26s", text);
	wrapped_print(option->line, 26);
}

static void command_print(const struct gsr_command *command)
{
	printf("usage: gpushim-report %s [OPTION].. %s\n\n", command->name, command->words_text);
	wrapped_print(command->line, 0);
	puts("");
	for (unsigned id = 0; id < GSR_OPTION_CONF; id++)
		if (takes(command, id))
			option_print(&gsr_option_table[id]);
	if (command->files == gsr_check)
		gsr_check_help();
	if (command->all == gsr_export)
		gsr_export_help();
	printf("\nexample: %s\n", command->example);
}

void gsr_help_print(const struct gsr_command *command)
{
	if (command != NULL) {
		command_print(command);
		return;
	}
	puts("usage: gpushim-report COMMAND [OPTION].. FILE..|PID..\n"
	     "\n"
	     "Reads snapshots that libgpushim.so has written (plain or .gz; - is standard input).\n");
	for (unsigned i = 0; i < gsr_command_count; i++) {
		printf("  %-12s ", gsr_command_table[i].name);
		wrapped_print(gsr_command_table[i].line, 15);
	}
	puts("");
	for (unsigned id = 0; id < GSR_OPTION_COUNT; id++)
		option_print(&gsr_option_table[id]);
	puts("\n"
	     "example: LD_PRELOAD=/path/to/libgpushim.so python train.py; gpushim-report top --by peak gpushim.4711.json\n"
	     "\n"
	     "exit status: 0 fine, 1 something was found or a check failed, 2 wrong usage or an unreadable file");
}

/* --- completion -------------------------------------------------------------------------------------------------- */

static bool is_list(const char *argument)
{
	return argument != NULL && strchr(argument, '|') != NULL;
}

/* An argument that is neither one of a list nor a file. */
static bool is_plain(const char *argument)
{
	return strcmp(argument, "FILE") != 0 && strcmp(argument, "FOLDER") != 0;
}

/* The words of a list, with blanks between. */
static void list_print(const char *argument)
{
	for (; *argument != '\0'; argument++)
		if (strchr("[]", *argument) == NULL)
			putchar(*argument == '|' ? ' ' : *argument);
}

/* What the first word after a command can be; NULL = a file or a process. */
static const char *words_of(const struct gsr_command *command)
{
	if (command->all == gsr_export)
		return gsr_export_names();
	return is_list(command->words_text) && strchr(command->words_text, ' ') == NULL ? command->words_text : NULL;
}

/* Whether files can follow. */
static bool takes_files(const struct gsr_command *command)
{
	return strstr(command->words_text, "FILE") != NULL || strchr(command->words_text, ' ') != NULL;
}

/* In single quotes; no name has one. */
static void options_print(const struct gsr_command *command)
{
	for (unsigned id = 0; id < GSR_OPTION_COUNT; id++)
		if (command == NULL ? id >= GSR_OPTION_HELP : takes(command, id) && id <= GSR_OPTION_HELP)
			printf(" --%s", gsr_option_table[id].name);
}

static void bash_print(void)
{
	puts("# bash completion of gpushim-report; made by gpushim-report completion bash\n"
	     "_gpushim_report() {\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
	     "\tCOMPREPLY=()\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\t[[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }\n"
	     "\tdone\n"
	     "\tcase $before in");
	for (unsigned id = 0; id < GSR_OPTION_COUNT; id++) {
		const struct gsr_option *option = &gsr_option_table[id];

		if (option->argument == NULL)
			continue;
		printf("\t--%s", option->name);
		if (option->letter != '\0')
			printf("|-%c", option->letter);
		if (is_list(option->argument)) {
			fputs(") mapfile -t COMPREPLY < <(compgen -W '", stdout);
			list_print(option->argument);
			puts("' -- \"$word\"); return ;;");
		} else if (is_plain(option->argument)) {
			puts(") return ;;");
		} else {
			puts(") mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return ;;");
		}
	}
	puts("\tesac\n"
	     "\tcase $command in");
	for (unsigned i = 0; i < gsr_command_count; i++) {
		const struct gsr_command *command = &gsr_command_table[i];

		printf("\t%s) [[ $word == -* ]] && mapfile -t COMPREPLY < <(compgen -W '", command->name);
		options_print(command);
		fputs("' -- \"$word\") || mapfile -t COMPREPLY < <(compgen", stdout);
		if (takes_files(command))
			fputs(" -f", stdout);
		if (words_of(command) != NULL) {
			fputs(" -W '", stdout);
			list_print(words_of(command));
			fputs("'", stdout);
		}
		puts(" -- \"$word\") ;;");
	}
	fputs("\t*) mapfile -t COMPREPLY < <(compgen -W '", stdout);
	for (unsigned i = 0; i < gsr_command_count; i++)
		printf("%s%s", i > 0 ? " " : "", gsr_command_table[i].name);
	options_print(NULL);
	puts("' -- \"$word\") ;;\n"
	     "\tesac\n"
	     "}\n"
	     "complete -o filenames -F _gpushim_report gpushim-report");
}

/* Texts of zsh's lists, in single quotes: colons and brackets mean something there. */
static void zsh_text_print(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			printf("%s%c", strchr(":[]\\", *text) != NULL ? "\\" : "", *text);
}

/* In single quotes of fish. */
static void fish_text_print(const char *text)
{
	putchar('\'');
	for (; *text != '\0'; text++)
		printf("%s%c", strchr("'\\", *text) != NULL ? "\\" : "", *text);
	putchar('\'');
}

static void zsh_option_print(const struct gsr_option *option)
{
	const char *argument = option->argument;

	printf(" \\\n\t\t\t'--%s%s[", option->name, argument == NULL ? "" : "=");
	zsh_text_print(option->line);
	fputs("]", stdout);
	if (is_list(argument)) {
		printf(":%s:(", option->name);
		list_print(argument);
		fputs(")", stdout);
	} else if (argument != NULL) {
		printf(":%s:%s", option->name, is_plain(argument) ? "" : "_files");
	}
	fputs("'", stdout);
}

static void zsh_print(void)
{
	puts("#compdef gpushim-report\n"
	     "# zsh completion of gpushim-report; made by gpushim-report completion zsh\n"
	     "_gpushim_report() {\n"
	     "\tlocal -a commands=(");
	for (unsigned i = 0; i < gsr_command_count; i++) {
		printf("\t\t'%s:", gsr_command_table[i].name);
		zsh_text_print(gsr_command_table[i].line);
		puts("'");
	}
	puts("\t)\n"
	     "\tif ((CURRENT == 2)); then\n"
	     "\t\t_describe command commands\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tlocal command=$words[2]\n"
	     "\twords=(\"${(@)words[2,-1]}\")\n"
	     "\t((CURRENT--))\n"
	     "\tcase $command in");
	for (unsigned i = 0; i < gsr_command_count; i++) {
		const struct gsr_command *command = &gsr_command_table[i];

		printf("\t%s)\n\t\t_arguments", command->name);
		for (unsigned id = 0; id <= GSR_OPTION_HELP; id++)
			if (takes(command, id))
				zsh_option_print(&gsr_option_table[id]);
		if (words_of(command) != NULL) {
			fputs(" \\\n\t\t\t'1:word:(", stdout);
			list_print(words_of(command));
			fputs(")'", stdout);
		}
		puts(takes_files(command) ? " \\\n\t\t\t'*:file:_files' ;;" : " ;;");
	}
	puts("\tesac\n"
	     "}\n"
	     "_gpushim_report \"$@\"");
}

static void fish_print(void)
{
	puts("# fish completion of gpushim-report; made by gpushim-report completion fish");
	for (unsigned i = 0; i < gsr_command_count; i++) {
		const struct gsr_command *command = &gsr_command_table[i];

		printf("complete -c gpushim-report -n __fish_use_subcommand -a %s -d ", command->name);
		fish_text_print(command->line);
		puts("");
		if (words_of(command) != NULL) {
			printf("complete -c gpushim-report -n '__fish_seen_subcommand_from %s' -a '", command->name);
			list_print(words_of(command));
			puts("'");
		}
	}
	for (unsigned id = 0; id < GSR_OPTION_COUNT; id++) {
		const struct gsr_option *option = &gsr_option_table[id];

		fputs("complete -c gpushim-report", stdout);
		if (id < GSR_OPTION_JSON) {
			fputs(" -n '__fish_seen_subcommand_from", stdout);
			for (unsigned i = 0; i < gsr_command_count; i++)
				if (takes(&gsr_command_table[i], id))
					printf(" %s", gsr_command_table[i].name);
			fputs("'", stdout);
		}
		printf(" -l %s", option->name);
		if (option->letter != '\0')
			printf(" -s %c", option->letter);
		if (is_list(option->argument)) {
			printf(" -x -a '");
			list_print(option->argument);
			fputs("'", stdout);
		} else if (option->argument != NULL) {
			fputs(is_plain(option->argument) ? " -x" : " -r", stdout);
		}
		fputs(" -d ", stdout);
		fish_text_print(option->line);
		puts("");
	}
}

int gsr_completion(const char *shell, const struct gsr_options *options)
{
	(void)options;
	if (strcmp(shell, "bash") == 0) {
		bash_print();
	} else if (strcmp(shell, "zsh") == 0) {
		zsh_print();
	} else if (strcmp(shell, "fish") == 0) {
		fish_print();
	} else {
		fprintf(stderr, "gpushim-report: completion: \"%s\" is none of bash zsh fish\n", shell);
		return GSR_UNUSABLE;
	}
	return GSR_FINE;
}
