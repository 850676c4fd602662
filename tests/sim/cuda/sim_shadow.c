/* Shadow ownership: see sim_shadow.h. Announced owners are an array sorted by address; they never overlap. */
#include "tests/sim/cuda/sim_shadow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_log.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_stream.h"
#include "tests/sim/sim.h"

struct owner {
	uintptr_t start, end;
	uint64_t number;
	bool used; /* an operation queued on it has run */
	bool ended;
	struct sim_stack born_at;
	struct sim_stack ended_at;
};

/* Where memory was given away that is in nobody's hands now: the newest of them. */
struct grave {
	uintptr_t start, end;
	struct sim_stack stack;
};

#define GRAVES 1024

SIM_EXPORT void sim_shadow_owner(uintptr_t address, size_t size_bytes, void *stream);
SIM_EXPORT void sim_shadow_free(uintptr_t address);
SIM_EXPORT unsigned long sim_shadow_errors(void);

static struct owner **owners;
static size_t owner_count;
static size_t owner_capacity;
static uint64_t next_number = 1;
static struct grave graves[GRAVES];
static size_t next_grave;
static unsigned long errors;

static void shadow_report(const struct sim_stream *stream, const struct sim_op *op, const struct sim_span *span,
			  const char *what, const char *where, const struct sim_stack *stack)
{
	errors++;
	fprintf(stderr,
		"gpushim-sim: shadow: %s %" PRIu64 " of stream %" PRIu64 " touches [%#" PRIxPTR ", +%zu) of %s (%s)\n",
		sim_op_name(op), op->seq, stream->id, span->start, span->size_bytes, what, sim_log_how());
	sim_stack_print("it was queued", &op->stack);
	if (stack)
		sim_stack_print(where, stack);
}

/* Index of the first owner that ends above the address. */
static size_t owner_above(uintptr_t address)
{
	size_t low = 0, high = owner_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (owners[middle]->end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct owner *owner_find(uintptr_t address)
{
	size_t at = owner_above(address);

	return at < owner_count && owners[at]->start <= address ? owners[at] : NULL;
}

static void owners_forget(uintptr_t start, uintptr_t end)
{
	size_t from = owner_above(start), to = from;

	while (to < owner_count && owners[to]->start < end)
		free(owners[to++]);
	if (from == to)
		return;
	memmove(&owners[from], &owners[to], (owner_count - to) * sizeof(*owners));
	owner_count -= to - from;
}

static struct owner *owner_add(uintptr_t start, uintptr_t end)
{
	struct owner *owner = calloc(1, sizeof(*owner));
	size_t at;

	owners_forget(start, end);
	if (owner_count == owner_capacity) {
		owner_capacity = owner_capacity ? owner_capacity * 2 : 256;
		owners = realloc(owners, owner_capacity * sizeof(*owners));
	}
	if (!owner || !owners)
		abort();
	at = owner_above(start);
	memmove(&owners[at + 1], &owners[at], (owner_count - at) * sizeof(*owners));
	owners[at] = owner;
	owner_count++;
	owner->start = start;
	owner->end = end;
	owner->number = next_number++;
	sim_stack_take(&owner->born_at);
	return owner;
}

/* What the pool itself queues is its bookkeeping, not an access. */
static bool op_accesses(const struct sim_op *op)
{
	return op->kind != SIM_OP_ALLOC && op->kind != SIM_OP_FREE;
}

static bool span_overlaps(const struct sim_span *span, uintptr_t start, uintptr_t end)
{
	return span->start < end && span->start + span->size_bytes > start;
}

/* The bytes of the span that are in ranges older than `born_before`. */
static size_t span_known(const struct sim_span *span, uint64_t born_before)
{
	uintptr_t at = span->start, end = span->start + span->size_bytes;
	const struct sim_range *range;
	size_t known = 0;

	while (at < end && (range = sim_range_above(at)) && range->start < end) {
		uintptr_t from = range->start > at ? range->start : at;
		uintptr_t to = range->start + range->whole_bytes < end ? range->start + range->whole_bytes : end;

		if (range->buffer_id < born_before)
			known += to - from;
		at = range->start + range->whole_bytes;
	}
	return known;
}

void sim_shadow_note(struct sim_span *span)
{
	uintptr_t end = span->start + span->size_bytes;

	span->born_before = sim_range_newest() + 1;
	span->known_bytes = span_known(span, span->born_before);
	for (size_t i = owner_above(span->start); i < owner_count && owners[i]->start < end; i++) {
		if (owners[i]->number > span->owner)
			span->owner = owners[i]->number;
		span->ended |= owners[i]->ended;
	}
}

uintptr_t sim_shadow_end(uintptr_t address, uintptr_t end)
{
	const struct owner *owner = owner_find(address);

	return owner && owner->end < end ? owner->end : end;
}

/* --- As a range goes */

static const struct grave *grave_find(const struct sim_span *span)
{
	for (size_t i = 0; i < GRAVES && i < next_grave; i++) {
		const struct grave *grave = &graves[(next_grave - 1 - i) % GRAVES];

		if (span_overlaps(span, grave->start, grave->end))
			return grave;
	}
	return NULL;
}

static void op_lose(const struct sim_stream *stream, const struct sim_op *op, const struct grave *grave)
{
	for (unsigned i = 0; i < op->span_count; i++) {
		struct sim_span *span = &op->spans[i];

		if (!span->known_bytes || span->lost || !span_overlaps(span, grave->start, grave->end))
			continue;
		span->lost = true;
		shadow_report(stream, op, span, "memory that is taken away while it is still queued",
			      "it is taken away", &grave->stack);
	}
}

void sim_shadow_forget(uintptr_t start, uintptr_t end)
{
	struct grave *grave = &graves[next_grave++ % GRAVES];

	owners_forget(start, end);
	if (!sim_conf()->shadow)
		return;
	grave->start = start;
	grave->end = end;
	sim_stack_take(&grave->stack);
	for (const struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
		for (const struct sim_op *op = stream->head; op; op = op->next) {
			if (op_accesses(op))
				op_lose(stream, op, grave);
		}
	}
}

/* --- As work runs */

/* False when a newer owner's work has run already, or the owner had ended before the work was queued. */
static void span_check_owners(const struct sim_stream *stream, const struct sim_op *op, const struct sim_span *span)
{
	uintptr_t end = span->start + span->size_bytes;
	char what[120];

	for (size_t i = owner_above(span->start); i < owner_count && owners[i]->start < end; i++) {
		struct owner *owner = owners[i];

		if (owner->number <= span->owner) {
			owner->used = true;
			if (!span->ended || !owner->ended)
				continue;
			snprintf(what, sizeof(what), "owner %" PRIu64 ", freed before this was queued", owner->number);
			shadow_report(stream, op, span, what, "it was freed", &owner->ended_at);
			return;
		}
		if (span->ended || owner->used) {
			snprintf(what, sizeof(what), "owner %" PRIu64 ", %s owner %" PRIu64, span->owner,
				 span->ended ? "freed before this was queued, and now of"
					     : "and runs after work of its new",
				 owner->number);
			shadow_report(stream, op, span, what, "it was handed out again", &owner->born_at);
			return;
		}
	}
}

bool sim_shadow_check(const struct sim_stream *stream)
{
	const struct sim_op *op = stream->head;
	bool mapped = true;

	if (!sim_conf()->shadow || !op_accesses(op))
		return true;
	for (unsigned i = 0; i < op->span_count; i++) {
		struct sim_span *span = &op->spans[i];

		if (!span->lost && span_known(span, span->born_before) < span->known_bytes) {
			const struct grave *grave = grave_find(span);

			span->lost = true;
			shadow_report(stream, op, span, "memory that was taken away before it ran", "it was taken away",
				      grave ? &grave->stack : NULL);
		}
		if (span->lost)
			mapped = false;
		else
			span_check_owners(stream, op, span);
	}
	return mapped;
}

/* --- At an announcement */

/* Sets shadow_before of every busy stream: operations up to that number come before what is queued next on `target`,
 * as the waits of the queued operations prove. NULL: nothing does. */
static void order_find(struct sim_stream *target)
{
	bool changed = true;

	for (struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
		bool implied = target && !(target->flags & CU_STREAM_NON_BLOCKING) && target->ctx == stream->ctx &&
			       (target->legacy ? !(stream->flags & CU_STREAM_NON_BLOCKING) : stream->legacy);

		stream->shadow_before = stream == target || implied ? stream->submitted : 0;
	}
	while (changed) {
		changed = false;
		for (struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
			for (const struct sim_op *op = stream->head; op && op->seq <= stream->shadow_before;
			     op = op->next) {
				for (unsigned i = 0; i < op->after_count; i++) {
					const struct sim_point *point = &op->after[i];

					if (sim_point_reached(*point) || point->stream->shadow_before >= point->seq)
						continue;
					point->stream->shadow_before = point->seq;
					changed = true;
				}
			}
		}
	}
}

static void op_judge(const struct sim_stream *stream, const struct sim_op *op, const struct owner *owner,
		     const struct sim_stream *target)
{
	for (unsigned i = 0; i < op->span_count; i++) {
		const struct sim_span *span = &op->spans[i];
		char whose[40] = "any stream", what[120];

		if (!span_overlaps(span, owner->start, owner->end))
			continue;
		if (target)
			snprintf(whose, sizeof(whose), "stream %" PRIu64, target->id);
		snprintf(what, sizeof(what), "owner %" PRIu64 ", still queued as owner %" PRIu64 " gets it for %s",
			 span->owner, owner->number, whose);
		shadow_report(stream, op, span, what, "it is handed out again", &owner->born_at);
	}
}

/* Something is queued that touches the bytes. */
static bool queued_on(const struct owner *owner)
{
	for (const struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
		for (const struct sim_op *op = stream->head; op; op = op->next) {
			for (unsigned i = 0; op_accesses(op) && i < op->span_count; i++) {
				if (span_overlaps(&op->spans[i], owner->start, owner->end))
					return true;
			}
		}
	}
	return false;
}

static void owner_judge(const struct owner *owner, struct sim_stream *target)
{
	if (!queued_on(owner))
		return;
	order_find(target);
	for (const struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
		for (const struct sim_op *op = stream->head; op; op = op->next) {
			if (op_accesses(op) && op->seq > stream->shadow_before)
				op_judge(stream, op, owner, target);
		}
	}
}

void sim_shadow_own(uintptr_t address, size_t size_bytes, struct sim_stream *target)
{
	if (sim_conf()->shadow)
		owner_judge(owner_add(address, address + size_bytes), target);
}

void sim_shadow_disown(uintptr_t address)
{
	struct owner *owner = owner_find(address);

	if (owner && !owner->ended) {
		owner->ended = true;
		sim_stack_take(&owner->ended_at);
	}
}

void sim_shadow_owner(uintptr_t address, size_t size_bytes, void *handle)
{
	struct sim_stream *target = NULL;

	sim_baton_take();
	if (handle != SIM_SHADOW_ANY && sim_stream_find((CUstream)handle, false, &target) != CUDA_SUCCESS)
		target = NULL;
	sim_shadow_own(address, size_bytes, target);
	sim_baton_give();
}

void sim_shadow_free(uintptr_t address)
{
	sim_baton_take();
	sim_shadow_disown(address);
	sim_baton_give();
}

unsigned long sim_shadow_errors(void)
{
	return errors;
}

/* After the other destructors of this library, which write their reports. */
__attribute__((destructor(101))) static void shadow_fini(void)
{
	if (!errors)
		return;
	fflush(NULL);
	_exit(SIM_SHADOW_STATUS);
}
