/* gpushim-report symbolize: a snapshot with the names of native functions in it, which can then be read where the files of the modules
 * are not. Files are found by their path, below --root first, and count only if their build-id is the recorded one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/command.h"
#include "report/symbols.h"
#include "report/write.h"

struct naming {
	const struct gsr_model *model;
	struct gsr_symbols *symbols;
	uint64_t *functions; /* the column of frames, with the new rows of strings */
	const char **texts;
	size_t text_first, text_count; /* from the first on: made here */
	size_t named, unnamed;
};

/* "solve+0x1c": with the distance, so that lines of one function stay apart. */
static void frame_name(struct naming *naming, size_t frame)
{
	uint64_t module = GSR_CELL(naming->model, frames, module, frame), distance;
	const char *function;
	char *text;

	if (naming->functions[frame] != 0 || strcmp(GSR_NAME(naming->model, frames, kind, frame), "native") != 0)
		return;
	function = module == 0 ? NULL
			       : gsr_symbols_find(naming->symbols, module, GSR_CELL(naming->model, frames, offset, frame), &distance);
	if (function == NULL) {
		naming->unnamed++;
		return;
	}
	if (asprintf(&text, "%s+0x%llx", function, (unsigned long long)distance) < 0)
		abort();
	naming->named++;
	naming->functions[frame] = naming->text_count;
	naming->texts[naming->text_count++] = text;
}

int gsr_symbolize(const char *path, const struct gsr_model *model, const struct gsr_options *options)
{
	struct gsr_model changed = *model;
	size_t frames = GSR_ROWS(model, frames), strings = model->strings.count;
	struct naming naming = {.model = &changed,
				.functions = calloc(frames + 1, sizeof(uint64_t)),
				.texts = calloc(strings + frames + 2, sizeof(char *)),
				.text_count = strings};

	if (naming.functions == NULL || naming.texts == NULL)
		abort();
	changed.root = options->root;
	naming.symbols = gsr_symbols_new(&changed);
	if (strings > 0)
		memcpy(naming.texts, model->strings.text, strings * sizeof(char *));
	else
		naming.texts[naming.text_count++] = "";
	naming.text_first = naming.text_count;
	if (frames > 0)
		memcpy(naming.functions, GSR_TABLE(model, frames)->column[GS_SNAP_frames_function], frames * sizeof(uint64_t));
	for (size_t frame = 0; frame < frames; frame++)
		frame_name(&naming, frame);
	changed.strings.text = naming.texts;
	changed.strings.count = naming.text_count;
	GSR_TABLE(&changed, frames)->column[GS_SNAP_frames_function] = naming.functions;
	gsr_model_write(stdout, &changed);
	fprintf(stderr, "gpushim-report: %s: %zu native frames have got names, %zu have none\n", path, naming.named, naming.unnamed);
	gsr_symbols_drop(naming.symbols);
	for (size_t text = naming.text_first; text < naming.text_count; text++)
		free((char *)naming.texts[text]);
	free(naming.functions);
	free(naming.texts);
	return GSR_FINE;
}
