/* The formats that gpushim-report export writes, each by one function, to stdout. */
#ifndef GSR_EXPORT_H
#define GSR_EXPORT_H

#include "report/view.h"

/* They return enum gsr_status. */
#define EXPORT(name, text, binary, line)                                                                               \
	int gsr_export_##name(const struct gsr_view *view, const struct gsr_options *options);
#include "report/export.def"

/* Frames of a stack, innermost first. */
struct gsr_trail {
	size_t count, capacity;
	uint64_t *frames;
};
void gsr_trail_read(const struct gsr_model *model, uint64_t stack, struct gsr_trail *trail);
void gsr_trail_drop(struct gsr_trail *trail);

/* A function of a frame for a flame graph: "forward (net/model.py:41)", "cublasSgemm (libcublas.so.12)". */
char *gsr_trail_text(struct gsr_places *places, const struct gsr_model *model, uint64_t frame, char text[GSR_CELL_BYTES]);

/* How much is held by gpushim on a device, event by event: begin with what it is at the start. */
struct gsr_held {
	size_t map, unmap; /* types of event */
	uint64_t bytes[256];
};
void gsr_held_begin(const struct gsr_model *model, struct gsr_held *ret_held);

/* Whether the event changed it. */
bool gsr_held_step(const struct gsr_model *model, size_t row, struct gsr_held *held);

/* Where an item lies: the device of its event, or for what is older than the history of the row that says it is alive. */
unsigned gsr_item_sort(const struct gsr_view *view, const struct gsr_item *item);
uint64_t gsr_item_stack(const struct gsr_view *view, const struct gsr_item *item);
uint64_t gsr_item_thread(const struct gsr_view *view, const struct gsr_item *item);

/* Devices of items by index: one array for all. The caller frees it. */
unsigned char *gsr_item_devices(const struct gsr_view *view);

#endif
