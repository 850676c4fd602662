/* See forward.h. The table holds what came last in each slot. A slot is two words that each hold half of the key, so that
 * two writers at once leave something that fits nobody. */
#include "shim/torch/forward.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shim/base/elf.h"
#include "shim/base/err.h"
#include "shim/stack/intern.h"
#include "shim/stack/stack.h"

#define SLOT_BITS 16

/* A std::shared_ptr: the object, and what counts its owners. */
struct shared {
	const char *object;
	char *counts;
};

/* Of a std::shared_ptr's counts, and of torch::autograd::Node. */
#define COUNTS_USE 8
#define NODE_SEQUENCE 24
#define NODE_THREAD 48

static struct {
	uint64_t (*sequence)(void);	    /* at::sequence_number::peek: of the thread's next operation */
	uint64_t (*thread)(void);	    /* at::RecordFunction::currentThreadId */
	void (*node)(struct shared *ret);   /* torch::autograd::get_current_node */
} torch;

enum state { SEARCHING, BUSY, READY };
static _Atomic enum state state;
static _Atomic uint64_t searched; /* gsb_elf_changes of the last search that found nothing, plus 1 */
static _Atomic uint32_t asked;	  /* captures while there is no PyTorch; looking for it takes the loader's lock */

#define ASKED_FOR_SEARCH 64u

static struct {
	_Atomic uint64_t key;
	_Atomic uint64_t rest; /* the lower half of the key, then the stack */
} slots[1u << SLOT_BITS];

static bool search(uint64_t changes)
{
	enum state expected = SEARCHING;
	struct gsb_elf elf;

	if (atomic_load_explicit(&searched, memory_order_relaxed) == changes + 1 ||
	    !atomic_compare_exchange_strong(&state, &expected, BUSY))
		return false;
	if (gsb_elf_defining("_ZN5torch8autograd16get_current_nodeEv", &elf, (void **)&torch.node) == GS_OK) {
		torch.sequence = (uint64_t(*)(void))gsb_elf_symbol(&elf, "_ZN2at15sequence_number4peekEv");
		torch.thread = (uint64_t(*)(void))gsb_elf_symbol(&elf, "_ZN2at14RecordFunction15currentThreadIdEv");
		if (torch.sequence != NULL && torch.thread != NULL) {
			atomic_store_explicit(&state, READY, memory_order_release);
			return true;
		}
	}
	atomic_store_explicit(&searched, changes + 1, memory_order_relaxed);
	atomic_store_explicit(&state, SEARCHING, memory_order_release);
	return false;
}

static bool ready(void)
{
	uint32_t count;

	if (atomic_load_explicit(&state, memory_order_acquire) == READY)
		return true;
	count = atomic_load_explicit(&asked, memory_order_relaxed);
	atomic_store_explicit(&asked, count + 1, memory_order_relaxed);
	return count % ASKED_FOR_SEARCH == 0 && search(gsb_elf_changes());
}

static uint64_t key_of(uint64_t sequence, uint64_t thread)
{
	return (thread + 1) << 44 ^ sequence;
}

static size_t slot_of(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS);
}

/* The first allocation under a number is the operation's own; later ones may come from code that records no operation. */
static void seen(uint32_t stack)
{
	uint64_t sequence, key;
	size_t slot;

	if (!ready())
		return;
	sequence = torch.sequence();
	if (sequence == 0)
		return;
	key = key_of(sequence - 1, torch.thread());
	slot = slot_of(key);
	if (atomic_load_explicit(&slots[slot].key, memory_order_relaxed) == key)
		return;
	atomic_store_explicit(&slots[slot].rest, key << 32 | stack, memory_order_relaxed);
	atomic_store_explicit(&slots[slot].key, key, memory_order_release);
}

static bool node_current(uint64_t *ret_key)
{
	struct shared node = {NULL, NULL};
	uint64_t sequence, thread;

	torch.node(&node);
	if (node.object == NULL || node.counts == NULL)
		return false;
	memcpy(&sequence, node.object + NODE_SEQUENCE, sizeof(sequence));
	memcpy(&thread, node.object + NODE_THREAD, sizeof(thread));
	/* Whoever runs the operation owns it too, so this is not the last one. */
	atomic_fetch_sub((_Atomic int *)(void *)(node.counts + COUNTS_USE), 1);
	*ret_key = key_of(sequence, thread);
	return true;
}

static uint32_t outer(void)
{
	struct gs_frame frame = {.kind = GS_FRAME_PYTHON};
	uint32_t number, stack;
	uint64_t key, rest;
	size_t slot;

	if (!ready() || !node_current(&key))
		return 0;
	slot = slot_of(key);
	if (atomic_load_explicit(&slots[slot].key, memory_order_acquire) != key)
		return 0;
	rest = atomic_load_explicit(&slots[slot].rest, memory_order_relaxed);
	if (rest >> 32 != (key & UINT32_MAX))
		return 0;
	frame.function = gs_string_intern("backward");
	frame.file = gs_string_intern("<autograd>");
	if (gs_frame_intern(&frame, &number) != GS_OK ||
	    gs_node_intern((uint32_t)rest, number, &stack) != GS_OK)
		return 0;
	return stack;
}

void gs_torch_forward_init(void)
{
	static const struct gs_stack_origin origin = {.seen = seen, .outer = outer};

	gs_stack_origin_set(&origin);
}
