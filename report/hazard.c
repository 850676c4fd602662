/* See hazard.h. */
#include "report/hazard.h"

#include <string.h>

static const struct {
	const char *key, *title, *advice;
} texts[] = {
	{"freed_in_use", "memory is freed on one stream while work of another that uses it may still run",
	 "let the stream of the free wait for an event of the other first (cudaStreamWaitEvent, wait_stream)"},
	{"reused_in_use", "a tensor gets the memory of another one that work of another stream may still use",
	 "tell the allocator: tensor.record_stream(stream), or let the tensor's own stream wait before it is freed"},
	{"unordered_write", "two streams use the same memory, one of them writes it, and nothing orders them",
	 "let the later stream wait for an event of the earlier one (cudaStreamWaitEvent, wait_stream)"},
	{"pinned_freed", "pinned memory is given back while a copy that uses it may still run",
	 "wait for an event after the copy first; that the call itself waits is not promised"},
};

/* Index of the text; -1: it is no hazard, or of a kind that this version does not know. */
static int text_of(const struct gsr_model *model, size_t row)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(texts[i].key, GSR_NAME(model, crossings, kind, row)) == 0)
			return (int)i;
	return -1;
}

static void line_print(const char *what, const struct gsr_model *model, struct gsr_places *places, uint64_t stack,
		       uint64_t name)
{
	char place[GSR_CELL_BYTES], kernel[GSR_CELL_BYTES];

	gsr_line("            %s: %s, %s", what, gsr_frame_text(places, gsr_places_line(places, stack), place),
		 gsr_kernel_text(model, name, kernel));
}

static void hazard_print(const struct gsr_model *model, struct gsr_places *places, size_t row, int text)
{
	char count[GSR_CELL_BYTES], size[GSR_CELL_BYTES], place[GSR_CELL_BYTES];
	uint64_t stack = GSR_CELL(model, crossings, stack, row);

	gsr_line("%s", "");
	gsr_heading("%10s  %s", "hazard", gsr_frame_text(places, gsr_places_line(places, stack), place));
	gsr_line("%8s x  %s", gsr_number(count, GSR_CELL(model, crossings, calls, row)), texts[text].title);
	line_print("here", model, places, stack, GSR_CELL(model, crossings, name, row));
	line_print("after", model, places, GSR_CELL(model, crossings, other_stack, row),
		   GSR_CELL(model, crossings, other_name, row));
	gsr_line("            memory: 0x%llx, %s", (unsigned long long)GSR_CELL(model, crossings, address, row),
		 gsr_bytes(size, GSR_CELL(model, crossings, size_bytes, row)));
	gsr_line("            instead: %s", texts[text].advice);
}

void gsr_hazards_print(const struct gsr_model *model, struct gsr_places *places)
{
	for (size_t row = 0; row < GSR_ROWS(model, crossings); row++) {
		int text = text_of(model, row);

		if (text >= 0)
			hazard_print(model, places, row, text);
	}
}

cJSON *gsr_hazards_json(const struct gsr_model *model, struct gsr_places *places)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t row = 0; row < GSR_ROWS(model, crossings); row++) {
		cJSON *object;
		char text[GSR_CELL_BYTES];

		if (text_of(model, row) < 0)
			continue;
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "kind", GSR_NAME(model, crossings, kind, row));
		cJSON_AddStringToObject(
			object, "place",
			gsr_frame_text(places, gsr_places_line(places, GSR_CELL(model, crossings, stack, row)), text));
		cJSON_AddStringToObject(object, "name",
					gsr_kernel_text(model, GSR_CELL(model, crossings, name, row), text));
		cJSON_AddStringToObject(
			object, "other_place",
			gsr_frame_text(places, gsr_places_line(places, GSR_CELL(model, crossings, other_stack, row)), text));
		cJSON_AddStringToObject(object, "other_name",
					gsr_kernel_text(model, GSR_CELL(model, crossings, other_name, row), text));
		cJSON_AddNumberToObject(object, "calls", (double)GSR_CELL(model, crossings, calls, row));
		cJSON_AddNumberToObject(object, "size_bytes", (double)GSR_CELL(model, crossings, size_bytes, row));
		cJSON_AddItemToArray(list, object);
	}
	return list;
}
