/* Attributes of functions, as they were set last: libraries set the same one to the same value before each launch, which
 * changes nothing that was put off. Thread-safe. */
#ifndef GS_SUBMIT_ATTRIBUTE_H
#define GS_SUBMIT_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

/* A CUfunction, or a CUkernel on a device. No padding: compared as bytes. */
#define GS_NO_DEVICE (-1)
struct gs_attribute {
	const void *function;
	int attribute, device; /* GS_NO_DEVICE for a CUfunction */
};

/* Whether it was set to this value last, and code was not unloaded since. False also where it is not remembered. */
bool gs_attribute_is(const struct gs_attribute *attribute, int value);
void gs_attribute_keep(const struct gs_attribute *attribute, int value);

/* Code was unloaded, or a context ended: handles may be used again. */
void gs_attribute_forget(void);

void gs_attribute_reset_locks(void);

#endif
