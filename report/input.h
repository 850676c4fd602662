/* The bytes of an input file, unpacked if they are gzipped. */
#ifndef GSR_INPUT_H
#define GSR_INPUT_H

#include <stddef.h>

/* "-" is standard input. On success the caller frees *ret_bytes. Otherwise GS_E_IO, and *ret_why is a short text. */
int gsr_input_read(const char *path, char **ret_bytes, size_t *ret_length, const char **ret_why);

#endif
