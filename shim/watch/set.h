/* What a memset sets, from the arguments of the driver's function: gs_set_of_<symbol>(arguments) for each row of class SET and
 * SET_ASYNC. Pure: looks at nothing but the arguments, which the driver has not checked yet. */
#ifndef GS_WATCH_SET_H
#define GS_WATCH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/api/cuda.h"

struct gs_set {
	CUdeviceptr to;
	size_t pitch; /* bytes from row to row, where there are rows */
	size_t width; /* in elements */
	size_t rows;
	uint32_t value;
	uint8_t element_bytes; /* 1, 2 or 4 */
	bool flat;	       /* one range, no rows */
};

static inline struct gs_set gs_set_flat(CUdeviceptr to, uint32_t value, uint8_t element_bytes, size_t width)
{
	return (struct gs_set){to, 0, width, 1, value, element_bytes, true};
}

static inline struct gs_set gs_set_rows(CUdeviceptr to, size_t pitch, uint32_t value, uint8_t element_bytes, size_t width,
					size_t rows)
{
	return (struct gs_set){to, pitch, width, rows, value, element_bytes, false};
}

#define gs_set_of_cuMemsetD8_v2(to, value, width)                           gs_set_flat(to, value, 1, width)
#define gs_set_of_cuMemsetD16_v2(to, value, width)                          gs_set_flat(to, value, 2, width)
#define gs_set_of_cuMemsetD32_v2(to, value, width)                          gs_set_flat(to, value, 4, width)
#define gs_set_of_cuMemsetD2D8_v2(to, pitch, value, width, rows)            gs_set_rows(to, pitch, value, 1, width, rows)
#define gs_set_of_cuMemsetD2D16_v2(to, pitch, value, width, rows)           gs_set_rows(to, pitch, value, 2, width, rows)
#define gs_set_of_cuMemsetD2D32_v2(to, pitch, value, width, rows)           gs_set_rows(to, pitch, value, 4, width, rows)
#define gs_set_of_cuMemsetD8Async(to, value, width, stream)                 gs_set_flat(to, value, 1, width)
#define gs_set_of_cuMemsetD16Async(to, value, width, stream)                gs_set_flat(to, value, 2, width)
#define gs_set_of_cuMemsetD32Async(to, value, width, stream)                gs_set_flat(to, value, 4, width)
#define gs_set_of_cuMemsetD2D8Async(to, pitch, value, width, rows, stream)  gs_set_rows(to, pitch, value, 1, width, rows)
#define gs_set_of_cuMemsetD2D16Async(to, pitch, value, width, rows, stream) gs_set_rows(to, pitch, value, 2, width, rows)
#define gs_set_of_cuMemsetD2D32Async(to, pitch, value, width, rows, stream) gs_set_rows(to, pitch, value, 4, width, rows)

#endif
