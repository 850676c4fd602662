/* See stock.h. */
#include "shim/core/stock.h"

#include "shim/base/assert.h"
#include "shim/base/lock.h"
#include "shim/base/slab.h"

static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);
static struct stock {
	struct gsb_slab nodes;
	struct gs_stocked *kept;
	size_t kept_count;
} stock_of_all; /* see stock */

static struct stock *stock(void)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	return &stock_of_all;
}

static struct gs_stocked *unlink_event(struct gs_stocked **link)
{
	struct gs_stocked *event = *link;

	*link = event->next;
	stock()->kept_count--;
	return event;
}

struct gs_stocked *gs_stock_take(const struct gs_context *context)
{
	struct gs_stocked **link, *event = NULL;

	gsb_lock_acquire(&lock);
	for (link = &stock()->kept; *link != NULL; link = &(*link)->next)
		if ((*link)->context_id == context->id) {
			event = unlink_event(link);
			break;
		}
	if (stock()->nodes.node_bytes == 0)
		gsb_slab_init(&stock()->nodes, sizeof(*event));
	if (event == NULL && (event = gsb_slab_take(&stock()->nodes)) != NULL) {
		event->context_id = context->id;
		event->context = context->handle;
	}
	gsb_lock_release(&lock);
	return event;
}

bool gs_stock_lives(const struct gs_stocked *event)
{
	struct gs_context context;

	return gs_context_find(event->context, &context) && context.id == event->context_id;
}

void gs_stock_give(struct gs_stocked *event)
{
	bool lives = gs_stock_lives(event);

	gsb_lock_acquire(&lock);
	if (lives) {
		event->next = stock()->kept;
		stock()->kept = event;
		stock()->kept_count++;
	} else {
		gsb_slab_give(&stock()->nodes, event);
	}
	gsb_lock_release(&lock);
}

void gs_stock_context_gone(uint64_t context_id)
{
	struct gs_stocked **link;

	gsb_lock_acquire(&lock);
	link = &stock()->kept;
	while (*link != NULL)
		if ((*link)->context_id == context_id)
			gsb_slab_give(&stock()->nodes, unlink_event(link));
		else
			link = &(*link)->next;
	gsb_lock_release(&lock);
}

size_t gs_stock_kept(void)
{
	size_t count;

	gsb_lock_acquire(&lock);
	count = stock()->kept_count;
	gsb_lock_release(&lock);
	return count;
}

size_t gs_stock_taken(void)
{
	size_t count;

	gsb_lock_acquire(&lock);
	count = stock()->nodes.total_count - stock()->nodes.free_count - stock()->kept_count;
	gsb_lock_release(&lock);
	return count;
}
