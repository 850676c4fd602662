/* Shadow ownership: see sim_shadow.h. Announced owners are an array sorted by address; they never overlap. */
#include "tests/sim/cuda/sim_shadow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_range.h"
#include "tests/sim/cuda/sim_stream.h"
#include "tests/sim/sim.h"

struct owner {
	uintptr_t start, end;
	uint64_t number;
	bool ended;
};

SIM_EXPORT void sim_shadow_owner(uintptr_t address, size_t size_bytes, void *stream);
SIM_EXPORT void sim_shadow_free(uintptr_t address);
SIM_EXPORT unsigned long sim_shadow_errors(void);

static struct owner *owners;
static size_t owner_count;
static size_t owner_capacity;
static uint64_t next_number = 1;
static unsigned long errors;

static const char *const kinds[] = {
    [SIM_OP_COPY] = "copy",	   [SIM_OP_SET] = "memset", [SIM_OP_KERNEL] = "kernel",
    [SIM_OP_EVENT] = "event",	   [SIM_OP_WAIT] = "wait",  [SIM_OP_HOST] = "host function",
    [SIM_OP_ALLOC] = "allocation", [SIM_OP_FREE] = "free",  [SIM_OP_PREFETCH] = "prefetch",
};

static void shadow_report(const struct sim_stream *stream, const struct sim_op *op, const struct sim_span *span,
			  const char *what)
{
	errors++;
	fprintf(stderr,
		"gpushim-sim: shadow: %s %" PRIu64 " of stream %" PRIu64 " touches [%#" PRIxPTR ", +%zu) of %s"
		" (policy %s, seed %" PRIu64 ")\n",
		kinds[op->kind], op->seq, stream->id, span->start, span->size_bytes, what, sim_conf_policy_name(),
		sim_conf()->seed);
}

/* Index of the first owner that ends above the address. */
static size_t owner_above(uintptr_t address)
{
	size_t low = 0, high = owner_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (owners[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct owner *owner_find(uintptr_t address)
{
	size_t at = owner_above(address);

	return at < owner_count && owners[at].start <= address ? &owners[at] : NULL;
}

void sim_shadow_forget(uintptr_t start, uintptr_t end)
{
	size_t from = owner_above(start), to = from;

	while (to < owner_count && owners[to].start < end)
		to++;
	if (from == to)
		return;
	memmove(&owners[from], &owners[to], (owner_count - to) * sizeof(*owners));
	owner_count -= to - from;
}

static void owner_add(struct owner owner)
{
	size_t at;

	sim_shadow_forget(owner.start, owner.end);
	if (owner_count == owner_capacity) {
		owner_capacity = owner_capacity ? owner_capacity * 2 : 256;
		owners = realloc(owners, owner_capacity * sizeof(*owners));
		if (!owners)
			abort();
	}
	at = owner_above(owner.start);
	memmove(&owners[at + 1], &owners[at], (owner_count - at) * sizeof(*owners));
	owners[at] = owner;
	owner_count++;
}

void sim_shadow_note(struct sim_span *span)
{
	const struct sim_range *range = sim_range_find(span->start);
	const struct owner *owner = owner_find(span->start);

	span->buffer_id = range ? range->buffer_id : 0;
	span->owner = owner ? owner->number : 0;
	span->ended = owner && owner->ended;
}

uintptr_t sim_shadow_end(uintptr_t address, uintptr_t end)
{
	const struct owner *owner = owner_find(address);

	return owner && owner->end < end ? owner->end : end;
}

/* What the pool itself queues is its bookkeeping, not an access. */
static bool op_accesses(const struct sim_op *op)
{
	return op->kind != SIM_OP_ALLOC && op->kind != SIM_OP_FREE;
}

bool sim_shadow_check(const struct sim_stream *stream)
{
	const struct sim_op *op = stream->head;
	bool mapped = true;

	if (!sim_conf()->shadow || !op_accesses(op))
		return true;
	for (unsigned i = 0; i < op->span_count; i++) {
		const struct sim_span *span = &op->spans[i];
		const struct sim_range *range = sim_range_find(span->start);
		char what[120];

		if (span->buffer_id && (!range || range->buffer_id != span->buffer_id)) {
			if (range)
				snprintf(what, sizeof(what), "buffer %" PRIu64 ", which is buffer %" PRIu64 " now",
					 span->buffer_id, range->buffer_id);
			else
				snprintf(what, sizeof(what), "buffer %" PRIu64 ", which is gone", span->buffer_id);
			shadow_report(stream, op, span, what);
			mapped = false;
		} else if (span->ended) {
			snprintf(what, sizeof(what), "owner %" PRIu64 ", freed before this was queued", span->owner);
			shadow_report(stream, op, span, what);
		}
	}
	return mapped;
}

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

		if (span->start >= owner->end || span->start + span->size_bytes <= owner->start)
			continue;
		if (target)
			snprintf(whose, sizeof(whose), "stream %" PRIu64, target->id);
		snprintf(what, sizeof(what), "owner %" PRIu64 ", still queued as owner %" PRIu64 " gets it for %s",
			 span->owner, owner->number, whose);
		shadow_report(stream, op, span, what);
	}
}

void sim_shadow_owner(uintptr_t address, size_t size_bytes, void *handle)
{
	struct owner owner = {.start = address, .end = address + size_bytes};
	struct sim_stream *target = NULL;

	sim_baton_take();
	owner.number = next_number++;
	if (sim_conf()->shadow) {
		if (handle != SIM_SHADOW_ANY && sim_stream_find((CUstream)handle, false, &target) != CUDA_SUCCESS)
			target = NULL;
		order_find(target);
		for (struct sim_stream *stream = sim_stream_busy_first(); stream; stream = stream->busy_next) {
			for (const struct sim_op *op = stream->head; op; op = op->next) {
				if (op_accesses(op) && op->seq > stream->shadow_before)
					op_judge(stream, op, &owner, target);
			}
		}
		owner_add(owner);
	}
	sim_baton_give();
}

void sim_shadow_free(uintptr_t address)
{
	struct owner *owner;

	sim_baton_take();
	owner = owner_find(address);
	if (owner)
		owner->ended = true;
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
