/* Every lock of gpushim, in the order in which a thread may take them.
 *
 * A thread that holds a lock may take only locks of a higher rank; debug builds check it. No lock may be held while
 * calling the program's code, writing a file or printing, unless its paragraph says so. "Driver" means any call of a
 * real CUDA function. Ranks leave room between them; a new lock gets a line here and a paragraph.
 *
 * BOOT        Starting up, once, and the list of runtime instances. The dynamic loader's lock may be held by whoever
 *             takes it, so nothing that needs that lock (dlopen, dlsym, dl_iterate_phdr) is called under it. No driver
 *             call.
 * IPC         Memory shared between processes (shim/ipc/): one opens or closes at a time, one starts the server. Held
 *             across driver calls and while waiting for an answer of another process, 5 s, but not while waiting for the
 *             GPU; never taken by the thread that answers other processes. No path but cuIpc* and the end of a context takes it.
 * CONTEXT     The list of devices and contexts of shim/core/device.c. Not held across driver calls.
 * SNAPSHOT    One snapshot is written at a time. Held while walking and writing; so it is the lowest of the locks
 *             that a walk needs, and no allocation path takes it.
 * GROW        Serialises the growing and trimming of one allocator (one per device). Held across cuMemCreate, Map,
 *             SetAccess, Unmap and Release, none of which waits for the GPU. Never taken on a free path.
 * ALLOCATOR   All state of one allocator (one per device). Held for short, bounded work only; no driver call at all.
 * LANE        What one stream allocates and frees without ALLOCATOR (allocator/lane.h). No driver call. One at a time.
 * LIVE        The table of tracked addresses (shim/watch/live.c). Leaf.
 * RING        The event ring where it is not lock-free. Leaf.
 * QUEUE       Who puts work into the submission queue (graph/queue.c). Held while waiting for room there. Leaf, except that it
 *             may take META.
 * STACK       The tables of interned stacks, frames, strings. Leaf, except that it may take META.
 * META        Page supply of the node slabs. Leaf; mmap is called under it.
 * LOG         Once-only messages. Leaf. */
#ifndef GSB_LOCK_RANK_H
#define GSB_LOCK_RANK_H

#define GSB_LOCK_RANKS(X)                                                                                              \
	X(BOOT) X(IPC) X(CONTEXT) X(SNAPSHOT) X(GROW) X(ALLOCATOR) X(LANE) X(LIVE) X(RING) X(QUEUE) X(STACK) X(META) X(LOG)

enum gsb_lock_rank {
#define GSB_RANK_ENUM(name) GSB_RANK_##name,
	GSB_LOCK_RANKS(GSB_RANK_ENUM)
#undef GSB_RANK_ENUM
	GSB_RANK_COUNT
};

#endif
