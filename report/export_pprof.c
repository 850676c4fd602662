/* A profile as go tool pprof reads it. Names of fields are those of its profile.proto. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/export.h"
#include "report/proto.h"

enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING_TABLE,
       PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS, PROFILE_DEFAULT_SAMPLE_TYPE = 14 };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILENAME, MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS };
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION_ID = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILENAME };

struct writing {
	const struct gsr_view *view;
	struct gsr_proto profile, strings, part, inner;
	uint64_t string_count;
};

/* Texts are added as they come: readers need no two that are alike to be one. */
static uint64_t string_add(struct writing *writing, const char *text)
{
	gsr_proto_text(&writing->strings, PROFILE_STRING_TABLE, text);
	return writing->string_count++;
}

static uint64_t sample_type_add(struct writing *writing, const char *type, const char *unit)
{
	uint64_t string = string_add(writing, type);

	gsr_proto_number(&writing->part, VALUE_TYPE, string);
	gsr_proto_number(&writing->part, VALUE_UNIT, string_add(writing, unit));
	gsr_proto_message(&writing->profile, PROFILE_SAMPLE_TYPE, &writing->part);
	return string;
}

/* Rows of our tables are the numbers; row 0 means none there, as it does here. */
static void mappings_add(struct writing *writing)
{
	const struct gsr_model *model = &writing->view->model;

	for (size_t row = 1; row < GSR_ROWS(model, modules); row++) {
		gsr_proto_number(&writing->part, MAPPING_ID, row);
		gsr_proto_number(&writing->part, MAPPING_START, GSR_CELL(model, modules, start, row));
		gsr_proto_number(&writing->part, MAPPING_LIMIT, GSR_CELL(model, modules, end, row));
		gsr_proto_number(&writing->part, MAPPING_OFFSET,
				 GSR_CELL(model, modules, start, row) - GSR_CELL(model, modules, base, row));
		gsr_proto_number(&writing->part, MAPPING_FILENAME,
				 string_add(writing, gsr_string(model, GSR_CELL(model, modules, path, row))));
		gsr_proto_number(&writing->part, MAPPING_BUILD_ID,
				 string_add(writing, gsr_string(model, GSR_CELL(model, modules, build_id, row))));
		gsr_proto_number(&writing->part, MAPPING_HAS_FUNCTIONS, 1);
		gsr_proto_message(&writing->profile, PROFILE_MAPPING, &writing->part);
	}
}

static void frame_add(struct writing *writing, uint64_t frame)
{
	const struct gsr_model *model = &writing->view->model;
	uint64_t module = GSR_CELL(model, frames, module, frame);
	const char *file, *function;
	char text[GSR_CELL_BYTES];

	gsr_frame_names(writing->view->places, frame, &file, &function);
	gsr_proto_number(&writing->part, FUNCTION_ID, frame);
	gsr_proto_number(&writing->part, FUNCTION_NAME,
			 string_add(writing, function[0] != '\0' ? function : gsr_frame_text(writing->view->places, frame, text)));
	gsr_proto_number(&writing->part, FUNCTION_FILENAME, string_add(writing, file));
	gsr_proto_message(&writing->profile, PROFILE_FUNCTION, &writing->part);
	gsr_proto_number(&writing->part, LOCATION_ID, frame);
	if (module != 0) {
		gsr_proto_number(&writing->part, LOCATION_MAPPING_ID, module);
		gsr_proto_number(&writing->part, LOCATION_ADDRESS,
				 GSR_CELL(model, modules, base, module) + GSR_CELL(model, frames, offset, frame));
	}
	gsr_proto_number(&writing->inner, LINE_FUNCTION_ID, frame);
	gsr_proto_number(&writing->inner, LINE_LINE, GSR_CELL(model, frames, line, frame));
	gsr_proto_message(&writing->part, LOCATION_LINE, &writing->inner);
	gsr_proto_message(&writing->profile, PROFILE_LOCATION, &writing->part);
}

static void samples_add(struct writing *writing)
{
	const struct gsr_view *view = writing->view;
	uint64_t sort_key = string_add(writing, "memory"), thread_key = string_add(writing, "thread");
	struct gsr_trail trail = {0};
	char text[GSR_CELL_BYTES];

	for (size_t i = 0; i < view->replay.origin_count; i++) {
		const struct gsr_origin *origin = &view->replay.origins[i];
		const struct gsr_use *use = &origin->use;
		const uint64_t values[] = {use->total_count, use->total_bytes, use->peak_bytes, use->live_count, use->live_bytes};

		gsr_trail_read(&view->model, origin->stack, &trail);
		gsr_proto_numbers(&writing->part, SAMPLE_LOCATION_ID, trail.frames, trail.count);
		gsr_proto_numbers(&writing->part, SAMPLE_VALUE, values, sizeof(values) / sizeof(values[0]));
		gsr_proto_number(&writing->inner, LABEL_KEY, sort_key);
		gsr_proto_number(&writing->inner, LABEL_STR, string_add(writing, gsr_sort_names[origin->sort]));
		gsr_proto_message(&writing->part, SAMPLE_LABEL, &writing->inner);
		gsr_proto_number(&writing->inner, LABEL_KEY, thread_key);
		gsr_proto_number(&writing->inner, LABEL_STR,
				 string_add(writing, gsr_cell(text, "%llu %s", (unsigned long long)origin->thread,
							      gsr_thread_name(&view->model, origin->thread))));
		gsr_proto_message(&writing->part, SAMPLE_LABEL, &writing->inner);
		gsr_proto_message(&writing->profile, PROFILE_SAMPLE, &writing->part);
	}
	gsr_trail_drop(&trail);
}

int gsr_export_pprof(const struct gsr_view *view, const struct gsr_options *options)
{
	struct writing writing = {.view = view};
	uint64_t best;

	(void)options;
	string_add(&writing, "");
	sample_type_add(&writing, "alloc_objects", "count");
	sample_type_add(&writing, "alloc_space", "bytes");
	best = sample_type_add(&writing, "peak_space", "bytes");
	sample_type_add(&writing, "inuse_objects", "count");
	if (view->usage.sum.live_bytes > 0)
		best = sample_type_add(&writing, "inuse_space", "bytes");
	else
		sample_type_add(&writing, "inuse_space", "bytes");
	mappings_add(&writing);
	for (size_t frame = 1; frame < GSR_ROWS(&view->model, frames); frame++)
		frame_add(&writing, frame);
	samples_add(&writing);
	gsr_proto_number(&writing.profile, PROFILE_TIME_NANOS, gsr_decimal(view->model.meta, GS_KEY(meta, start_wall_ns)));
	gsr_proto_number(&writing.profile, PROFILE_DURATION_NANOS, gsr_count(view->model.meta, GS_KEY(meta, elapsed_ns)));
	gsr_proto_number(&writing.profile, PROFILE_DEFAULT_SAMPLE_TYPE, best);
	fwrite(writing.profile.bytes, 1, writing.profile.length, stdout);
	fwrite(writing.strings.bytes, 1, writing.strings.length, stdout);
	gsr_proto_drop(&writing.profile);
	gsr_proto_drop(&writing.strings);
	gsr_proto_drop(&writing.part);
	gsr_proto_drop(&writing.inner);
	return GSR_FINE;
}
