/* What the driver's entries for device memory (memory.c) and the answers at the runtime's door (quick.c) share. */
#ifndef GS_WRAP_MEMORY_H
#define GS_WRAP_MEMORY_H

#include <stdbool.h>

/* Memory of cudaMalloc must be a driver allocation of its own. torch: the caller is PyTorch's allocator. */
bool gs_memory_needs_plain(bool torch);

/* cudaFree must wait before it frees, as the driver's own does (H4). */
bool gs_memory_free_waits(void);

/* Of a stream that CUDA keeps in order with others (gs_stream_takes_part): whether a free there has to give it work. */
struct gsa_stream;
bool gs_memory_free_needs_command(const struct gsa_stream *stream);

#endif
