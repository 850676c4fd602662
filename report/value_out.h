/* Writers of nested values: JSON, and a pickle of the few opcodes that memory_viz's loader knows (protocol 4).
 *
 * Of a dictionary, call key before each value. A value that comes again may be written once: of a shared one, shared_find says
 * whether to write it; if so, shared_end after it. JSON repeats it. */
#ifndef GSR_VALUE_OUT_H
#define GSR_VALUE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gsr_value_out;

/* shared_count: shared values have numbers below this. */
struct gsr_value_out *gsr_value_out_new(FILE *out, bool is_pickle, size_t shared_count);

/* Ends the document. */
void gsr_value_out_end(struct gsr_value_out *value);

void gsr_dict_begin(struct gsr_value_out *value);
void gsr_dict_end(struct gsr_value_out *value);
void gsr_list_begin(struct gsr_value_out *value);
void gsr_list_end(struct gsr_value_out *value);
void gsr_pair_write(struct gsr_value_out *value, int64_t first, int64_t second); /* a tuple of two numbers */
void gsr_key(struct gsr_value_out *value, const char *key);			   /* a constant text */
void gsr_number_write(struct gsr_value_out *value, int64_t number);
void gsr_real_write(struct gsr_value_out *value, double number);
void gsr_bool_write(struct gsr_value_out *value, bool truth);
void gsr_text_write(struct gsr_value_out *value, const char *text);
void gsr_constant_write(struct gsr_value_out *value, const char *text); /* one of few, that lives long */

bool gsr_shared_find(struct gsr_value_out *value, size_t shared);
void gsr_shared_end(struct gsr_value_out *value, size_t shared);

#endif
