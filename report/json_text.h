/* Texts of JSON on a stream, of whatever bytes: what is no UTF-8 becomes U+FFFD. */
#ifndef GSR_JSON_TEXT_H
#define GSR_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* The bytes with U+FFFD for what is no UTF-8, ended by a zero byte, which the caller frees. */
char *gsr_text_clean(const char *bytes, size_t length, size_t *ret_length);

void gsr_out_bytes(FILE *out, const char *bytes, size_t length);
void gsr_out_text(FILE *out, const char *text);

#endif
