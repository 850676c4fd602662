/* Random programs against the allocator and a model of their own.
 *
 * The model keeps every live block, and for every byte range ever freed where it was freed and how much work its
 * stream (all streams, without one) had then. A new block must be usable memory, overlap no live block, and overlap
 * freed memory only where the work is finished or the stream is the same. All of that is about physical memory, which
 * may have several addresses. A failure prints its seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shim/base/err.h"
#include "tests/lib/gsa_fake.h"

#define LIVE_MAX 256
#define FREED_MAX 4096
#define STREAMS 5

#define SPANS_MAX 32

/* Physical memory in a row. */
struct span {
	uint64_t address;
	uint64_t size_bytes;
};

struct live {
	struct span spans[SPANS_MAX];
	unsigned span_count;
	uint64_t address;
	uint64_t size_bytes;
	uint64_t stream_id;
	bool plain;
};

struct freed {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t stream_id; /* 0: without */
	uint64_t submitted[STREAMS];
};

struct model {
	uint64_t seed;
	uint64_t random;
	struct fake *fake;
	struct gsa *allocator;
	struct live live[LIVE_MAX];
	struct freed freed[FREED_MAX];
	unsigned live_count;
	unsigned freed_count;
	uint64_t live_bytes;
	unsigned failures;
};

static uint64_t draw(struct model *model, uint64_t below)
{
	model->random ^= model->random << 13;
	model->random ^= model->random >> 7;
	model->random ^= model->random << 17;
	return (model->random * 0x2545f4914f6cdd1dull >> 16) % below;
}

static bool must(struct model *model, bool condition, const char *what)
{
	if (!condition) {
		printf("# seed %llu: %s\n", (unsigned long long)model->seed, what);
		fail_msg("seed %llu: %s", (unsigned long long)model->seed, what);
	}
	return condition;
}

static bool is_idle(const struct model *model, const struct freed *freed)
{
	for (uint64_t id = 1; id < STREAMS; id++)
		if ((freed->stream_id == 0 || freed->stream_id == id) &&
		    !fake_finished(model->fake, id, freed->submitted[id]))
			return false;
	return true;
}

static bool overlap(uint64_t address, uint64_t size_bytes, uint64_t other_address, uint64_t other_bytes)
{
	return address < other_address + other_bytes && other_address < address + size_bytes;
}

static uint64_t draw_size(struct model *model)
{
	switch (draw(model, 4)) {
	case 0:
		return 1 + draw(model, 4096);
	case 1:
		return 1 + draw(model, 1 << 20);
	case 2:
		return 512 * (1 + draw(model, 8));
	default:
		return 1 + draw(model, 24 << 20);
	}
}

static void find_spans(struct model *model, struct live *live)
{
	uint64_t bytes;

	live->span_count = 0;
	for (uint64_t at = 0; at < live->size_bytes; at += bytes) {
		struct span *span = &live->spans[live->span_count++];

		must(model, live->span_count <= SPANS_MAX, "too many spans");
		span->address = fake_physical(model->fake, live->address + at, &bytes);
		if (bytes > live->size_bytes - at)
			bytes = live->size_bytes - at;
		span->size_bytes = bytes;
	}
}

static bool overlap_spans(const struct live *one, const struct live *other)
{
	for (unsigned i = 0; i < one->span_count; i++)
		for (unsigned j = 0; j < other->span_count; j++)
			if (overlap(one->spans[i].address, one->spans[i].size_bytes, other->spans[j].address,
				    other->spans[j].size_bytes))
				return true;
	return false;
}

/* A new block's memory may be freed memory only where that is idle or was freed on the block's own stream. In the latter
 * case the block's own free is what counts from now on. */
static void reuse(struct model *model, const struct span *span, uint64_t stream_id)
{
	uint64_t end = span->address + span->size_bytes;

	for (unsigned i = model->freed_count; i-- > 0;) {
		struct freed freed = model->freed[i];
		uint64_t freed_end = freed.address + freed.size_bytes;

		if (is_idle(model, &freed)) {
			model->freed[i] = model->freed[--model->freed_count];
			continue;
		}
		if (!overlap(span->address, span->size_bytes, freed.address, freed.size_bytes))
			continue;
		must(model, stream_id != 0 && freed.stream_id == stream_id,
		     "memory reused before its fence");
		model->freed[i] = model->freed[--model->freed_count];
		if (freed.address < span->address) {
			struct freed *front = &model->freed[model->freed_count++];

			*front = freed;
			front->size_bytes = span->address - freed.address;
		}
		if (end < freed_end) {
			struct freed *rear = &model->freed[model->freed_count++];

			*rear = freed;
			rear->address = end;
			rear->size_bytes = freed_end - end;
		}
	}
}

static void allocate(struct model *model)
{
	struct gsa_block_info block;
	struct live *live;
	uint64_t stream_id = draw(model, STREAMS);
	struct gsa_stream stream = fake_stream(stream_id);
	struct gsa_request request = {.size_bytes = draw_size(model),
				      .origin = stream_id != 0 ? GSA_ORIGIN_ASYNC : GSA_ORIGIN_LEGACY,
				      .stream = stream_id != 0 ? &stream : NULL,
				      .owner = 1,
				      .plain = draw(model, 64) == 0};

	if (model->live_count == LIVE_MAX)
		return;
	if (gsa_alloc(model->allocator, &request, &block) != GS_OK) {
		model->failures++;
		return;
	}
	must(model, block.reserved_bytes >= block.size_bytes, "reserved is less than asked for");
	must(model, fake_usable(model->fake, block.address, block.reserved_bytes), "not mapped");
	live = &model->live[model->live_count];
	*live = (struct live){.address = block.address,
			      .size_bytes = block.reserved_bytes,
			      .stream_id = stream_id,
			      .plain = request.plain};
	find_spans(model, live);
	for (unsigned i = 0; i < model->live_count; i++)
		must(model, !overlap_spans(live, &model->live[i]), "overlaps a live block");
	for (unsigned i = 0; i < live->span_count; i++)
		reuse(model, &live->spans[i], stream_id);
	model->live_count++;
	model->live_bytes += block.reserved_bytes;
}

static void release(struct model *model)
{
	unsigned index;
	struct live *live;
	uint64_t stream_id;

	if (model->live_count == 0 || model->freed_count >= FREED_MAX / 2)
		return;
	index = (unsigned)draw(model, model->live_count);
	live = &model->live[index];
	stream_id = draw(model, 4) == 0 ? draw(model, STREAMS) : live->stream_id;
	for (unsigned i = 0; !live->plain && i < live->span_count; i++) {
		struct freed *freed = &model->freed[model->freed_count++];

		*freed = (struct freed){.address = live->spans[i].address,
					.size_bytes = live->spans[i].size_bytes,
					.stream_id = stream_id};
		memcpy(freed->submitted, model->fake->submitted, sizeof(freed->submitted));
	}
	fake_give(model->allocator, live->address, stream_id);
	model->live_bytes -= live->size_bytes;
	*live = model->live[--model->live_count];
}

static void wait_for_device(struct model *model)
{
	uint64_t before = gsa_free_serial(model->allocator);

	for (uint64_t id = 1; id < STREAMS; id++)
		fake_finish(model->fake, id);
	gsa_device_idle(model->allocator, before);
}

static void wait_for_stream(struct model *model)
{
	uint64_t before = gsa_free_serial(model->allocator);
	uint64_t id = 1 + draw(model, STREAMS - 1);

	fake_finish(model->fake, id);
	gsa_stream_idle(model->allocator, id, before);
}

static void check(struct model *model)
{
	struct gsa_stats stats;

	gsa_check(model->allocator);
	gsa_stats_read(model->allocator, &stats);
	must(model, stats.rounded_bytes.now == model->live_bytes, "live bytes differ");
	must(model, stats.live_count.now == model->live_count, "live count differs");
	must(model, stats.reserved_bytes.now == model->fake->used_bytes, "held bytes differ");
	must(model, stats.reserved_bytes.now == model->fake->told_bytes, "bytes told to history differ");
}

static void step(struct model *model)
{
	struct gsa_stream stream = fake_stream(1 + draw(model, STREAMS - 1));
	uint64_t dice = draw(model, 1000);

	if (dice < 400)
		allocate(model);
	else if (dice < 770)
		release(model);
	else if (dice < 890)
		fake_submit(model->fake, stream.id);
	else if (dice < 975)
		fake_finish(model->fake, stream.id);
	else if (dice < 983)
		wait_for_stream(model);
	else if (dice < 986)
		wait_for_device(model);
	else if (dice < 989)
		gsa_stream_ending(model->allocator, &stream);
	else if (dice < 992)
		gsa_trim(model->allocator, draw(model, 64 << 20));
	else if (dice < 994)
		model->fake->capturing = !model->fake->capturing;
	else if (dice < 995)
		fake_fail(model->fake, FAKE_OP_COUNT, (unsigned)draw(model, 8), 1, GS_E_NO_MEMORY);
	else
		check(model);
}

static void run_seed(uint64_t seed, struct gsa_options options, uint64_t capacity_bytes)
{
	struct model *model = calloc(1, sizeof(*model));
	struct fake *fake = malloc(sizeof(*fake));

	fake_init(fake, capacity_bytes);
	model->seed = seed;
	model->random = seed * 0x9e3779b97f4a7c15ull + 1;
	model->fake = fake;
	assert_int_equal(gsa_init(&model->allocator, &fake_ops, fake, &options), GS_OK);
	for (unsigned i = 0; i < 20000; i++)
		step(model);
	fake_fail(fake, FAKE_OP_COUNT, 0, 0, GS_OK);
	check(model);
	gsa_fini(model->allocator);
	fake_fini(fake);
	free(fake);
	free(model);
}

static void expandable_segments(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++)
		run_seed(seed, fake_options(), (seed % 3 + 1) * 512ull << 20);
}

static void fixed_segments(void **state)
{
	struct gsa_options options = fake_options();

	(void)state;
	options.expandable = false;
	for (uint64_t seed = 11; seed <= 14; seed++)
		run_seed(seed, options, (seed % 2 + 1) * 768ull << 20);
}

static void plain_segments(void **state)
{
	struct gsa_options options = fake_options();

	(void)state;
	options.use_vmm = false;
	for (uint64_t seed = 21; seed <= 22; seed++)
		run_seed(seed, options, 1024ull << 20);
}

static void limited(void **state)
{
	struct gsa_options options = fake_options();

	(void)state;
	options.limit_bytes = 600ull << 20;
	for (uint64_t seed = 31; seed <= 32; seed++)
		run_seed(seed, options, 4096ull << 20);
}

static void lanes(void **state)
{
	struct gsa_options options = fake_options();

	(void)state;
	options.lanes = GSA_LANES_ALWAYS;
	for (uint64_t seed = 41; seed <= 44; seed++)
		run_seed(seed, options, (seed % 3 + 1) * 512ull << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(expandable_segments),
	    cmocka_unit_test(fixed_segments),
	    cmocka_unit_test(lanes),
	    cmocka_unit_test(plain_segments),
	    cmocka_unit_test(limited),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator model", tests, NULL, NULL);
}
