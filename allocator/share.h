/* Memory that somebody else maps too: another process, or a device by a descriptor of its own (H12, H13).
 *
 * When such a block is freed, the other side may go on reading and writing it, so nobody else may have that memory. The
 * block is *retired*: it stays where it is, as if it were live, until all that shares its handles is retired or idle.
 * Then these are unmapped and released, and the driver keeps the memory for as long as the other side does. */
#ifndef GSA_SHARE_H
#define GSA_SHARE_H

#include "allocator/types.h"

/* Finds out whether all work submitted before now is done, or waits for it; if so, raises done_serial. No lock held. */
bool gsa_share_all_done(struct gsa *allocator, bool wait);

/* A detached block that was shared. ALLOCATOR lock held. */
void gsa_share_retire(struct gsa *allocator, struct gsa_block *block);

#endif
