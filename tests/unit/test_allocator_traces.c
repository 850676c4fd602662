/* The traces of real programs (tests/traces) against a fake device: how much memory is held for what is live, and that
 * a program which repeats itself needs no driver any more, except for fences where it moves memory between streams.
 *
 * Streams are idle whenever they are asked; a block is freed when the trace says that the free is complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "shim/base/err.h"
#include "tests/lib/gsa_fake.h"

#define PASSES 5

struct operation {
	char op; /* a or c */
	unsigned id;
	uint64_t size_bytes;
	uint64_t stream_id;
};

struct trace {
	struct operation *operations;
	size_t count;
	uint64_t *addresses; /* by id */
	size_t id_count;
};

static void trace_read(struct trace *trace, const char *name)
{
	char path[256];
	char line[128];
	size_t capacity = 0;
	gzFile file;

	memset(trace, 0, sizeof(*trace));
	snprintf(path, sizeof(path), "tests/traces/%s.csv.gz", name);
	file = gzopen(path, "rb");
	if (file == NULL)
		fail_msg("cannot read %s: run from the top folder", path);
	while (gzgets(file, line, sizeof(line)) != NULL) {
		struct operation operation;
		long id;
		unsigned long long size_bytes;
		unsigned long long stream;

		if (sscanf(line, "%c,%ld,%llu,%llu", &operation.op, &id, &size_bytes, &stream) != 4 || id < 0 ||
		    strchr("ac", operation.op) == NULL)
			continue;
		operation.id = (unsigned)id;
		operation.size_bytes = size_bytes;
		operation.stream_id = stream + 1;
		if (trace->count == capacity) {
			capacity = capacity != 0 ? capacity * 2 : 4096;
			trace->operations = realloc(trace->operations, capacity * sizeof(*trace->operations));
		}
		trace->operations[trace->count++] = operation;
		if ((size_t)id >= trace->id_count)
			trace->id_count = (size_t)id + 1;
	}
	gzclose(file);
	assert_true(trace->count > 1000);
	trace->addresses = calloc(trace->id_count, sizeof(*trace->addresses));
}

static void trace_free(struct trace *trace)
{
	free(trace->operations);
	free(trace->addresses);
}

/* One pass; what the program never frees is freed at its end, in the order of its ids. */
static void replay(struct trace *trace, struct gsa *allocator)
{
	for (size_t i = 0; i < trace->count; i++) {
		const struct operation *operation = &trace->operations[i];
		uint64_t *address = &trace->addresses[operation->id];

		if (operation->op == 'a' && operation->size_bytes > 0) {
			*address = fake_take(allocator, operation->size_bytes, operation->stream_id);
		} else if (operation->op == 'c' && *address != 0) {
			fake_give(allocator, *address, operation->stream_id);
			*address = 0;
		}
	}
	for (size_t id = 0; id < trace->id_count; id++) {
		if (trace->addresses[id] != 0)
			fake_give(allocator, trace->addresses[id], 1);
		trace->addresses[id] = 0;
	}
}

static void check_trace(const char *name, double most_ratio, bool one_stream)
{
	struct gsa_options options = fake_options();
	struct fake *fake = malloc(sizeof(*fake));
	struct trace trace;
	struct gsa *allocator;
	struct gsa_stats stats;
	unsigned calls = 0;
	uint64_t grows = 0;
	double ratio;

	trace_read(&trace, name);
	fake_init(fake, 140ull << 30);
	assert_int_equal(gsa_init(&allocator, &fake_ops, fake, &options), GS_OK);
	for (unsigned pass = 0; pass < PASSES; pass++) {
		gsa_stats_read(allocator, &stats);
		grows = stats.grows;
		calls = fake->call_count;
		replay(&trace, allocator);
		calls = fake->call_count - calls;
		gsa_check(allocator);
	}
	gsa_stats_read(allocator, &stats);
	ratio = (double)stats.reserved_bytes.peak / (double)stats.allocated_bytes.peak;
	printf("# %s: held / live %.4f, %llu growths, %u driver calls in the last pass\n", name, ratio,
	       (unsigned long long)stats.grows, calls);
	assert_true(ratio <= most_ratio);
	if (one_stream)
		assert_int_equal(stats.grows, grows);
	assert_int_equal(stats.trims, 0);
	if (one_stream)
		assert_int_equal(calls, 0);
	gsa_fini(allocator);
	fake_fini(fake);
	trace_free(&trace);
	free(fake);
}

static void gpt_fixed(void **state)
{
	(void)state;
	check_trace("gpt_fixed", 1.01, true);
}

static void gpt_varlen(void **state)
{
	(void)state;
	check_trace("gpt_varlen", 1.01, true);
}

static void llama_ckpt(void **state)
{
	(void)state;
	check_trace("llama_ckpt", 1.01, true);
}

static void resnet_multires(void **state)
{
	(void)state;
	check_trace("resnet_multires", 1.01, true);
}

static void streams(void **state)
{
	(void)state;
	check_trace("streams", 1.05, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gpt_fixed),       cmocka_unit_test(gpt_varlen), cmocka_unit_test(llama_ckpt),
	    cmocka_unit_test(resnet_multires), cmocka_unit_test(streams),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator traces", tests, NULL, NULL);
}
