/* Where something happened, in words: frames as text, and the one frame of a stack that a reader wants to see first.
 *
 * That *line* is the innermost Python frame of the program's own code; else the innermost Python frame; else the
 * innermost native frame outside CUDA, the C library and PyTorch's core, and also what a program contains of the CUDA runtime
 * does not count there; else the innermost one. */
#ifndef GSR_PLACES_H
#define GSR_PLACES_H

#include "report/model.h"
#include "report/text.h"

struct gsr_places;

struct gsr_places *gsr_places_new(const struct gsr_model *model);
void gsr_places_drop(struct gsr_places *places);

/* The frame that stands for the stack; 0 = no stack. */
uint64_t gsr_places_line(const struct gsr_places *places, uint64_t stack);

/* Whether a frame lies in PyTorch's core, CUDA's libraries or the C library, and is no operation of autograd: where there
 * are others, such frames say little. */
bool gsr_places_is_core(struct gsr_places *places, uint64_t frame);

/* Path and function of a Python frame; module, without its folder, and function of a native one, "" where it is not
 * known. The texts live as long as places. */
void gsr_frame_names(struct gsr_places *places, uint64_t frame, const char **ret_file, const char **ret_function);

/* "net/model.py:41 in forward", "solve+0x1c in libsolver.so", "libsolver.so+0x1234". They return text. */
char *gsr_frame_text(struct gsr_places *places, uint64_t frame, char text[GSR_CELL_BYTES]);

/* A kernel by its row of strings: demangled, without long template arguments. */
char *gsr_kernel_text(const struct gsr_model *model, uint64_t name, char text[GSR_CELL_BYTES]);

/* "forward (net/model.py)", "solve (libsolver.so)" */
char *gsr_function_text(struct gsr_places *places, uint64_t frame, char text[GSR_CELL_BYTES]);

#endif
