/* A driver for tests of graph/: it writes down which launches are made, with their arguments, in which order; graphs have their own copies
 * of arguments, so that one that was not patched shows. It can refuse the Nth of its calls. */
#ifndef GSG_FAKE_H
#define GSG_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/trace.h"

#define GSG_FAKE_VALUES 24u /* bytes of the arguments of one launch, at most */

/* A launch as it lies in the queue's ring. */
struct gsg_fake_launch {
	struct gsg_launch launch;
	_Alignas(16) unsigned char values[GSG_FAKE_VALUES];
};

struct gsg_fake_made {
	struct gsg_shape shape;
	unsigned char values[GSG_FAKE_VALUES];
};

struct gsg_fake {
	struct gsg_fake_made *made; /* in order */
	uint32_t made_count, made_capacity;
	uint32_t graphs, execs;	    /* that there are */
	uint32_t patches, instantiated, exec_launches;
	uint32_t launches; /* one by one */
	uint64_t now_ns;
	uint64_t launch_ns, exec_launch_ns, patch_ns; /* what each takes */
	uint64_t refuse_at; /* the number of the call that is refused; 0 = none */
	uint64_t calls;
};

extern const struct gsg_graph_ops gsg_fake_ops; /* user: a struct gsg_fake */

void gsg_fake_init(struct gsg_fake *fake);
void gsg_fake_end(struct gsg_fake *fake);

/* function and stream name a kernel and a stream; all else follows from them. */
void gsg_fake_launch(struct gsg_fake_launch *launch, uint64_t context_id, uintptr_t stream, uintptr_t function,
		     const uint32_t values[], uint32_t count, bool first);

bool gsg_fake_same(const struct gsg_fake_made *made, const struct gsg_fake_launch *launch);

#endif
