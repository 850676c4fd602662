/* gpushim-report: reads snapshots, offline. What there is to call is in command.def. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/command.h"
#include "report/load.h"
#include "report/output.h"

static int file_run(const struct gsr_command *command, const char *path, const struct gsr_options *options, bool *first)
{
	struct gsr_model model;
	int status;

	if (gsr_load(path, &model) != 0)
		return GSR_UNUSABLE;
	if (!*first && !options->json)
		puts("");
	*first = false;
	status = command->files(path, &model, options);
	gsr_model_drop(&model);
	return status;
}

static int command_run(const struct gsr_command *command, char *const *words, int count, const struct gsr_options *options)
{
	int worst = GSR_FINE;
	bool first = true;

	if (command->all != NULL)
		return command->all(words, count, options);
	for (int i = 0; i < count; i++) {
		int status = command->files != NULL ? file_run(command, words[i], options, &first)
						    : command->words(words[i], options);

		worst = status > worst ? status : worst;
	}
	return worst;
}

/* A snapshot may get its names in place; anything else would be lost. */
static bool is_lost(const struct gsr_command *command, char *const *words, int count, const struct gsr_options *options)
{
	for (int i = 0; i < count && command->files != gsr_symbolize; i++)
		if (gsr_output_differs(options->output, words[i]) != 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct gsr_options options = {0};
	const struct gsr_command *command;
	int first, done = gsr_options_read(argc, argv, &options, &command, &first);

	if (done != 0)
		return done < 0 ? GSR_UNUSABLE : gsr_output_close(GSR_FINE);
	if (first == argc) {
		const char *words = command->words_text;

		fprintf(stderr, "gpushim-report: %s: no %s\n", command->name,
			strstr(words, "FILE") != NULL || strchr(words, ' ') != NULL ? "file" : strncmp(words, "PID", 3) == 0 ? "process" : words);
		return GSR_UNUSABLE;
	}
	if (options.output == NULL && (command->files == gsr_import || command->files == gsr_symbolize) && isatty(STDOUT_FILENO)) {
		fprintf(stderr, "gpushim-report: %s: a snapshot is nothing to read on a terminal: give it a name with -o\n", command->name);
		return GSR_UNUSABLE;
	}
	if (is_lost(command, argv + first, argc - first, &options))
		return GSR_UNUSABLE;
	if (gsr_output_open(options.output, options.force, gsr_output_mode(argv + first, argc - first)) != 0)
		return GSR_UNUSABLE;
	gsr_text_init(options.color);
	return gsr_output_close(command_run(command, argv + first, argc - first, &options));
}
