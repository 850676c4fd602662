/* See hazard.h. A record holds the newest uses of one life of a block; records of other lives at the same addresses are
 * found when the block is used next, and dropped then. Candidates are copied out under the lock and judged after it. */
#include "shim/watch/hazard.h"

#include <string.h>

#include "allocator/addr_map.h"
#include "shim/base/assert.h"
#include "shim/base/err.h"
#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/text.h"
#include "shim/core/clock.h"
#include "shim/core/counter.h"
#include "shim/core/device.h"
#include "shim/core/order.h"
#include "shim/stack/stack.h"
#include "shim/watch/args.h"
#include "shim/watch/causal.h"
#include "shim/watch/crossing.h"
#include "shim/watch/launch.h"
#include "shim/watch/note.h"
#include "shim/watch/place.h"

#define USES	   8u	 /* of a block that are remembered */
#define RECORDS	   4096u /* blocks */
#define ADDRESSES  48u	 /* of one launch that are looked at */
#define CANDIDATES 16u
#define TAIL_BYTES 512u /* a copy that leaves less of a block writes all of it: blocks are rounded up */

#define OURS GS_LIVE_CLASS_COUNT /* class of a block of our allocator */

/* A life of a block: from its allocation to its end. */
struct block {
	uint64_t start, size_bytes;
	uint64_t life; /* never used again */
	uint32_t live_class;
};

struct record {
	struct block block; /* size 0: free */
	unsigned count;	    /* uses ever noted */
	struct gs_hazard_use uses[USES];
};

struct candidate {
	enum gs_crossing_kind kind;
	struct gs_hazard_use use;
	struct block block;
};

struct candidates {
	unsigned count;
	struct candidate list[CANDIDATES];
};

GSB_HOT bool gs_hazards;
static bool sampled;

static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);

/* Guarded by lock. */
static struct gsa_map_slabs map_slabs;
static struct gsb_slab block_slab;
static struct gsa_map blocks; /* struct block by start; not those of our allocator */
static struct gsa_map used;   /* struct record by start */
static struct record records[RECORDS];
static unsigned next_record;
static uint64_t lives;

void gs_hazard_init(bool on, bool only_sampled)
{
	gsa_map_slabs_init(&map_slabs);
	gsb_slab_init(&block_slab, sizeof(struct block));
	sampled = only_sampled;
	gs_hazards = on;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

/* The last one that begins at the address or before it; NULL. */
static struct block *block_before(uint64_t address)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	return gsa_map_floor(&blocks, address);
}

void gs_hazard_memory_begins(enum gs_live_class live_class, uint64_t address, uint64_t size_bytes)
{
	struct block *block;

	if (live_class == GS_LIVE_HANDLE || live_class == GS_LIVE_IPC || size_bytes == 0)
		return;
	gsb_lock_acquire(&lock);
	block = block_before(address);
	if ((block == NULL || block->start != address) && (block = gsb_slab_take(&block_slab)) != NULL &&
	    gsa_map_insert(&blocks, &map_slabs, address, block) != GS_OK) {
		gsb_slab_give(&block_slab, block);
		block = NULL;
	}
	if (block != NULL)
		*block = (struct block){address, size_bytes, ++lives, live_class};
	gsb_lock_release(&lock);
}

void gs_hazard_memory_ends(enum gs_live_class live_class, uint64_t address)
{
	struct block *block;

	gsb_lock_acquire(&lock);
	block = block_before(address);
	if (block != NULL && block->start == address && block->live_class == live_class) {
		gsa_map_remove(&blocks, &map_slabs, address);
		gsb_slab_give(&block_slab, block);
	}
	gsb_lock_release(&lock);
}

/* Memory that PyTorch's allocator has for itself is no block: what lies in it is. */
static bool block_ours(uint64_t address, struct block *ret_block)
{
	struct gsa_block_info info;

	if (gs_device_of(address, &info) == NULL)
		return false;
	if (info.plain && gs_live_total(GS_LIVE_TENSOR, (uint8_t)0).total_count > 0)
		return false;
	*ret_block = (struct block){info.address, info.size_bytes, info.serial | 1ull << 63, OURS};
	return address < info.address + info.size_bytes;
}

static bool block_find(uint64_t address, struct block *ret_block)
{
	const struct block *block;
	bool found;

	gsb_lock_acquire(&lock);
	block = block_before(address);
	found = block != NULL && address >= block->start && address - block->start < block->size_bytes;
	if (found)
		*ret_block = *block;
	gsb_lock_release(&lock);
	return found || block_ours(address, ret_block);
}

static bool of_host(const struct block *block)
{
	return block->live_class == GS_LIVE_HOST || block->live_class == GS_LIVE_REGISTERED ||
	       block->live_class == GS_LIVE_MANAGED;
}

/* --- uses -------------------------------------------------------------------------------------------------------- */

static void candidate_add(struct candidates *candidates, enum gs_crossing_kind kind, const struct gs_hazard_use *use,
			  const struct block *block)
{
	if (candidates->count < CANDIDATES)
		candidates->list[candidates->count++] = (struct candidate){kind, *use, *block};
}

static void record_drop(struct record *record)
{
	gsb_debug_assert(gsb_lock_held(&lock));
	if (record->block.size_bytes != 0 && gsa_map_find(&used, record->block.start) == record)
		gsa_map_remove(&used, &map_slabs, record->block.start);
	record->block.size_bytes = 0;
	record->count = 0;
}

static unsigned use_count(const struct record *record)
{
	return record->count < USES ? record->count : USES;
}

static bool exact(const struct gs_hazard_use *use)
{
	return use->end > use->begin;
}

static bool touches(const struct gs_hazard_use *use, const struct block *block)
{
	uint64_t end = exact(use) ? use->end : use->begin + 1;

	return use->begin < block->start + block->size_bytes && end > block->start;
}

/* Another life of the memory has begun. */
static void record_outlived(struct record *record, const struct block *block, struct candidates *candidates)
{
	for (unsigned i = 0; i < use_count(record); i++)
		if (record->block.live_class == GS_LIVE_TENSOR && block->live_class == GS_LIVE_TENSOR &&
		    touches(&record->uses[i], block))
			candidate_add(candidates, GS_CROSSING_REUSED, &record->uses[i], &record->block);
	record_drop(record);
}

static struct record *record_of(const struct block *block, struct candidates *candidates)
{
	struct record *record = gsa_map_floor(&used, block->start);

	gsb_debug_assert(gsb_lock_held(&lock));
	if (record != NULL && record->block.start == block->start && record->block.life == block->life)
		return record;
	if (record != NULL && record->block.start + record->block.size_bytes > block->start)
		record_outlived(record, block, candidates);
	while ((record = gsa_map_ceiling(&used, block->start)) != NULL &&
	       record->block.start < block->start + block->size_bytes)
		record_outlived(record, block, candidates);
	record = &records[next_record++ % RECORDS];
	record_drop(record);
	if (gsa_map_insert(&used, &map_slabs, block->start, record) != GS_OK)
		return NULL;
	record->block = *block;
	return record;
}

static bool whole(const struct gs_hazard_use *use, const struct block *block)
{
	return exact(use) && use->begin == block->start && use->end - use->begin + TAIL_BYTES > block->size_bytes;
}

static bool meet(const struct gs_hazard_use *a, const struct gs_hazard_use *b, const struct block *block)
{
	if (!a->write && !b->write)
		return false;
	if (exact(a) && exact(b))
		return a->begin < b->end && b->begin < a->end;
	return (a->write && whole(a, block)) || (b->write && whole(b, block));
}

static void use_keep(struct record *record, const struct gs_hazard_use *use)
{
	for (unsigned i = 0; i < use_count(record); i++) {
		struct gs_hazard_use *kept = &record->uses[i];

		if (kept->point.stream == use->point.stream && kept->begin == use->begin && kept->end == use->end &&
		    kept->write == use->write) {
			*kept = *use;
			return;
		}
	}
	record->uses[record->count++ % USES] = *use;
}

static void use_note(const struct block *block, const struct gs_hazard_use *use, struct candidates *candidates)
{
	struct record *record;

	gsb_lock_acquire(&lock);
	record = record_of(block, candidates);
	for (unsigned i = 0; record != NULL && i < use_count(record); i++)
		if (record->uses[i].point.stream != use->point.stream && meet(&record->uses[i], use, block))
			candidate_add(candidates, GS_CROSSING_UNORDERED, &record->uses[i], block);
	if (record != NULL)
		use_keep(record, use);
	gsb_lock_release(&lock);
}

/* --- what is told ------------------------------------------------------------------------------------------------ */

static void say(const struct gs_crossing *crossing)
{
	static const char *const texts[] = {
#define TEXT(name, key, text) text,
		GS_CROSSINGS(TEXT)
#undef TEXT
	};
	struct gsb_text text;
	char line[GSB_LOG_LINE_BYTES];

	gsb_text_init(&text, line, sizeof(line));
	gsb_text_add(&text, "%s: %s at ", texts[crossing->kind], gs_string_read(crossing->name));
	gs_place_add(&text, crossing->stack);
	gsb_text_add(&text, ", after %s at ", gs_string_read(crossing->other_name));
	gs_place_add(&text, crossing->other_stack);
	gsb_log_once(GSB_LOG_WARN, "%s; the snapshot lists all", line);
}

static void tell(const struct candidate *candidate, const struct gs_hazard_use *use, uint64_t stream)
{
	const struct gs_crossing crossing = {
		.kind = candidate->kind,
		.stack = use->stack,
		.name = use->name,
		.other_stack = candidate->use.stack,
		.other_name = candidate->use.name,
		.stream = stream,
		.other_stream = candidate->use.point.stream,
		.address = candidate->block.start,
		.size_bytes = candidate->block.size_bytes,
	};

	if (gs_crossing_add(&crossing))
		say(&crossing);
}

static void judge(const struct candidates *candidates, const struct gs_hazard_use *use)
{
	for (unsigned i = 0; i < candidates->count; i++)
		if (!gs_causal_before(&candidates->list[i].use.point, &use->point))
			tell(&candidates->list[i], use, use->point.stream);
}

static bool judges(void)
{
	return !gs_order_blind() && !gs_order_broken();
}

/* --- work -------------------------------------------------------------------------------------------------------- */

void gs_hazard_submitted(const struct gs_work_stream *stream, uint32_t name, uint32_t stack, uint64_t when)
{
	struct gs_hazard_work *work = gs_launch_work();

	if (work == NULL)
		return;
	work->use = (struct gs_hazard_use){.name = name, .stack = stack};
	work->stream = *stream;
	work->valid = !stream->captured && stream->id != 0 && gs_causal_work(stream, when, &work->use.point) && judges();
}

static bool window(uint64_t ticks)
{
	return !sampled || (ticks >> 22) * 0x9e3779b97f4a7c15u >> 60 == 0;
}

/* A kernel that has memory of the host may tell the host of its work. */
void gs_hazard_kernel(const void *function, void *const *kernel_params, void *const *extra)
{
	const struct gs_hazard_work *work = gs_launch_work();
	struct candidates candidates = {.count = 0};
	uint64_t addresses[ADDRESSES];
	unsigned count;

	if (work == NULL || !work->valid || !window(work->use.point.when))
		return;
	count = gs_args_addresses((CUfunction)(uintptr_t)function, kernel_params, extra, addresses, ADDRESSES);
	for (unsigned i = 0; i < count; i++) {
		struct gs_hazard_use use = work->use;
		struct block block;

		if (!block_find(addresses[i], &block))
			continue;
		if (of_host(&block)) {
			gs_causal_stream_done(&work->stream, work->use.point.when);
			continue;
		}
		use.begin = use.end = addresses[i];
		use_note(&block, &use, &candidates);
	}
	judge(&candidates, &work->use);
}

static void end_note(const struct gs_hazard_work *work, const void *address, uint64_t size_bytes, bool flat, bool write,
		     struct candidates *candidates)
{
	uint64_t begin = (uint64_t)(uintptr_t)address;
	struct gs_hazard_use use = work->use;
	struct block block;

	if (begin == 0 || !block_find(begin, &block))
		return;
	if (block.live_class == GS_LIVE_MANAGED) {
		gs_causal_stream_done(&work->stream, work->use.point.when);
		return;
	}
	use.begin = begin;
	use.end = flat && begin - block.start + size_bytes <= block.size_bytes ? begin + size_bytes : begin;
	use.write = write;
	use_note(&block, &use, candidates);
}

void gs_hazard_copied(const struct gs_call *call, const struct gs_copy *copy)
{
	const struct gs_hazard_work *work = gs_launch_work();
	struct candidates candidates = {.count = 0};

	if (work == NULL || !work->valid || copy->size_bytes == 0)
		return;
	end_note(work, copy->from, copy->size_bytes, copy->flat, false, &candidates);
	end_note(work, copy->to, copy->size_bytes, copy->flat, true, &candidates);
	judge(&candidates, &work->use);
	if (call->wait.memory == GS_HOST_MEMORY_PAGEABLE)
		gs_causal_stream_done(&work->stream, gs_ticks());
}

void gs_hazard_set(uint64_t address, uint64_t size_bytes)
{
	const struct gs_hazard_work *work = gs_launch_work();
	struct candidates candidates = {.count = 0};

	if (work == NULL || !work->valid)
		return;
	end_note(work, (const void *)(uintptr_t)address, size_bytes, size_bytes != 0, true, &candidates);
	judge(&candidates, &work->use);
}

/* --- frees ------------------------------------------------------------------------------------------------------- */

/* All uses of the life of the block that begins there, which ends. */
static void uses_take(uint64_t address, enum gs_crossing_kind kind, struct candidates *candidates)
{
	struct record *record;
	struct block block;

	if (!block_find(address, &block) || block.start != address)
		return;
	gsb_lock_acquire(&lock);
	record = gsa_map_find(&used, address);
	if (record != NULL && record->block.life == block.life)
		for (unsigned i = 0; i < use_count(record); i++)
			candidate_add(candidates, kind, &record->uses[i], &block);
	if (record != NULL && record->block.start == address)
		record_drop(record);
	gsb_lock_release(&lock);
}

static uint32_t name_of(const struct gs_call *call)
{
	return gs_string_intern(gs_fn_info[call->fn].symbol);
}

void gs_hazard_frees(const struct gs_call *call, uint64_t address, CUstream handle)
{
	struct candidates candidates = {.count = 0};
	struct gs_work_stream stream;
	struct gs_hazard_use use = {.name = 0};

	if (address == 0 || !gs_launch_stream(call, handle, &stream) || stream.captured)
		return;
	uses_take(address, GS_CROSSING_FREED, &candidates);
	/* On the legacy stream a free is work like any other. */
	if (!gs_causal_work(&stream, gs_ticks(), &use.point) || candidates.count == 0 || !judges())
		return;
	use.name = name_of(call);
	use.stack = gs_note_stack(call);
	judge(&candidates, &use);
}

void gs_hazard_unpins(const struct gs_call *call, const void *address)
{
	struct candidates candidates = {.count = 0};
	struct gs_hazard_use use = {.name = 0};

	uses_take((uint64_t)(uintptr_t)address, GS_CROSSING_PINNED, &candidates);
	for (unsigned i = 0; i < candidates.count && judges(); i++) {
		if (gs_causal_done(&candidates.list[i].use.point))
			continue;
		if (use.name == 0) {
			use.name = name_of(call);
			use.stack = gs_note_stack(call);
		}
		tell(&candidates.list[i], &use, 0);
	}
}

/* --- order ------------------------------------------------------------------------------------------------------- */

void gs_hazard_called(const struct gs_call *call, enum gs_call_class call_class)
{
	struct gs_work_stream stream;

	if (atomic_load_explicit(&gs_counter_unlisted, memory_order_relaxed) != 0 ||
	    call->fn == GS_FN_cuGraphAddNode || call->fn == GS_FN_cuGraphAddNode_v2)
		gs_causal_distrust_events();
	switch (call_class) {
	case GS_CLASS_FREE:
		if (call->fn == GS_FN_cuMemFreeAsync || call->fn == GS_FN_cuMemFreeAsync_ptsz)
			return;
		break;
	case GS_CLASS_COPY:
		if (gs_launch_stream(call, NULL, &stream) && !stream.captured)
			gs_causal_stream_done(&stream, gs_ticks());
		return;
	case GS_CLASS_CONTEXT_EVENT:
	case GS_CLASS_HOST_FREE:
	case GS_CLASS_HOST_FUNC:
	case GS_CLASS_MEM_OP:
	case GS_CLASS_VMM:
	case GS_CLASS_IPC:
	case GS_CLASS_MODULE:
		break;
	default:
		return;
	}
	gs_causal_all_done(gs_ticks());
}

void gs_hazard_reset_locks(void)
{
	gsb_lock_reset(&lock);
	gs_causal_reset_locks();
}
