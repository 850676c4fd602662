/* GPUSHIM_ALLOC_CONF: every kind of row, every message, random texts, strict, and what help prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/core/conf.h"
#include "shim/stack/stack.h"

static char lines[4096]; /* what the parser complained about, one line each */
static unsigned line_count;

static void complain(void *user, const char *line)
{
	assert_ptr_equal(user, lines);
	assert_true(strlen(line) < 1000);
	line_count++;
	strncat(lines, line, sizeof(lines) - strlen(lines) - 1);
	strncat(lines, "\n", sizeof(lines) - strlen(lines) - 1);
}

static unsigned parse(const char *text, struct gs_conf *conf)
{
	unsigned bad_count;

	lines[0] = '\0';
	line_count = 0;
	gs_conf_init(conf);
	bad_count = gs_conf_parse(text, conf, complain, lines);
	assert_int_equal(bad_count, line_count);
	return bad_count;
}

static void expect_fine(const char *text, struct gs_conf *conf)
{
	parse(text, conf);
	assert_string_equal(lines, "");
}

/* The text has one bad pair: the message says so, and nothing has changed. */
static void expect_bad(const char *text, const char *message)
{
	struct gs_conf conf, untouched;

	gs_conf_init(&untouched);
	parse(text, &conf);
	assert_string_equal(lines, message);
	assert_memory_equal(&conf, &untouched, sizeof(conf));
}

static void test_defaults(void **state)
{
	struct gs_conf conf;

	(void)state;
	expect_fine(NULL, &conf);
	assert_int_equal(conf.torch, GS_TORCH_OBSERVE);
	assert_int_equal(conf.backend, GS_BACKEND_VMM);
	assert_true(conf.expandable_segments);
	assert_int_equal(conf.snapshot, GS_SNAPSHOT_EXIT | GS_SNAPSHOT_OOM | GS_SNAPSHOT_ERROR);
	assert_int_equal(conf.snapshot_every_s, 0);
	assert_string_equal(conf.snapshot_dir, ".");
	assert_int_equal(conf.history, 100000);
	assert_int_equal(conf.stacks, GS_STACK_PYTHON | GS_STACK_NATIVE);
	assert_true(conf.per_process_memory_fraction == 1.0);
	assert_false(conf.strict);
	expect_fine("", &conf);
	assert_int_equal(conf.history, 100000);
}

static void test_grammar(void **state)
{
	struct gs_conf conf;

	(void)state;
	expect_fine(" , history : 7 ,,\ttorch:serve\n, , history:8,", &conf);
	assert_int_equal(conf.history, 8);
	assert_int_equal(conf.torch, GS_TORCH_SERVE);
	expect_fine("snapshot_dir:/a:b/c d,categories:x", &conf);
	assert_string_equal(conf.snapshot_dir, "/a:b/c d");
	assert_string_equal(conf.categories, "x");
	expect_fine("snapshot_dir:/a[b,history:1", &conf);
	assert_string_equal(conf.snapshot_dir, "/a[b");
	assert_int_equal(conf.history, 1);
}

static void test_bool(void **state)
{
	static const char *const words[] = {"False", "True", "false", "true", "0", "1", "off", "on"};
	char text[64];
	struct gs_conf conf;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		snprintf(text, sizeof(text), "watch:%s,strict:%s", words[i], words[i ^ 1]);
		expect_fine(text, &conf);
		assert_int_equal(conf.watch, i & 1);
		assert_int_equal(conf.strict, (i & 1) ^ 1);
	}
	expect_bad("watch:yes", "GPUSHIM_ALLOC_CONF: pair 1, 'watch:yes', is ignored: neither True nor False\n");
}

static void test_enum(void **state)
{
	static const struct {
		const char *text;
		unsigned value;
	} stacks[] = {
	    {"stacks:off", GS_STACK_OFF},
	    {"stacks:python", GS_STACK_PYTHON},
	    {"stacks:native", GS_STACK_NATIVE},
	    {"stacks:python+native", GS_STACK_PYTHON | GS_STACK_NATIVE},
	    {"stacks:all", GS_STACK_PYTHON | GS_STACK_NATIVE | GS_STACK_ALL},
	};
	struct gs_conf conf;

	(void)state;
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		expect_fine(stacks[i].text, &conf);
		assert_int_equal(conf.stacks, stacks[i].value);
	}
	expect_fine("backend:off,backend:native", &conf);
	assert_int_equal(conf.backend, GS_BACKEND_VMM);
	expect_fine("backend:cudamalloc,free_sync:never,ipc:legacy,graph:auto,submit:thread,paths:hash,log:debug",
		    &conf);
	assert_int_equal(conf.backend, GS_BACKEND_CUDAMALLOC);
	assert_int_equal(conf.free_sync, GS_FREE_SYNC_NEVER);
	assert_int_equal(conf.ipc, GS_IPC_LEGACY);
	assert_int_equal(conf.graph, GS_GRAPH_AUTO);
	assert_int_equal(conf.submit, GS_SUBMIT_THREAD);
	assert_int_equal(conf.paths, GS_PATHS_HASH);
	assert_int_equal(conf.log, 3);

	expect_bad("history:100000,torch:serv", "GPUSHIM_ALLOC_CONF: pair 2, 'torch:serv', is ignored: "
						"not one of observe|serve|off; the nearest is 'serve'\n");
	expect_bad("stacks:al", "GPUSHIM_ALLOC_CONF: pair 1, 'stacks:al', is ignored: "
				"not one of off|python|native|python+native|all; the nearest is 'all'\n");
	expect_bad("backend:NATIVE", "GPUSHIM_ALLOC_CONF: pair 1, 'backend:NATIVE', is ignored: "
				     "not one of vmm|cudamalloc|off; the nearest is 'native'\n");
	expect_bad("backend:vmm=native", "GPUSHIM_ALLOC_CONF: pair 1, 'backend:vmm=native', is ignored: "
					 "not one of vmm|cudamalloc|off; the nearest is 'native'\n");
	expect_bad("backend:cudaMallocAsync",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'backend:cudaMallocAsync', is ignored: this one belongs to PyTorch; it "
		   "goes into PYTORCH_ALLOC_CONF, or use torch:serve here\n");
}

static void test_snapshot(void **state)
{
	struct gs_conf conf;

	(void)state;
	expect_fine("snapshot:off", &conf);
	assert_int_equal(conf.snapshot, 0);
	expect_fine("snapshot:peak + signal+every=30+signal", &conf);
	assert_int_equal(conf.snapshot, GS_SNAPSHOT_PEAK | GS_SNAPSHOT_SIGNAL);
	assert_int_equal(conf.snapshot_every_s, 30);
	expect_fine("snapshot:every=5,snapshot:exit", &conf);
	assert_int_equal(conf.snapshot, GS_SNAPSHOT_EXIT);
	assert_int_equal(conf.snapshot_every_s, 0);

	expect_bad("snapshot:exit+off",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'snapshot:exit+off', is ignored: off stands alone\n");
	expect_bad("snapshot:exit+",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'snapshot:exit+', is ignored: '' is not one of "
		   "exit|oom|error|signal|peak|kill|every=SECONDS joined by +, or off; the nearest is 'oom'\n");
	expect_bad("snapshot:exit+sigal",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'snapshot:exit+sigal', is ignored: 'sigal' is not one of "
		   "exit|oom|error|signal|peak|kill|every=SECONDS joined by +, or off; the nearest is 'signal'\n");
	expect_bad("snapshot:every=0",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'snapshot:every=0', is ignored: every= wants seconds, 1..86400\n");
	expect_bad("snapshot:peak+every=x",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'snapshot:peak+every=x', is ignored: every= wants seconds, 1..86400\n");
}

static void test_numbers(void **state)
{
	struct gs_conf conf;

	(void)state;
	expect_fine("history:0,graph_chunk:512,large_segment_size_mb:2", &conf);
	assert_int_equal(conf.history, 0);
	assert_int_equal(conf.graph_chunk, 512);
	assert_int_equal(conf.large_segment_size_mb, 2);

	expect_bad("history:-1",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'history:-1', is ignored: outside the range 0..100000000\n");
	expect_bad("history:100000001",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'history:100000001', is ignored: outside the range 0..100000000\n");
	expect_bad("history:18446744073709551617", "GPUSHIM_ALLOC_CONF: pair 1, 'history:18446744073709551617', is "
						   "ignored: outside the range 0..100000000\n");
	expect_bad("graph_chunk:7",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'graph_chunk:7', is ignored: outside the range 8..512\n");
	expect_bad("history:5x", "GPUSHIM_ALLOC_CONF: pair 1, 'history:5x', is ignored: not a whole number\n");
	expect_bad("history:-", "GPUSHIM_ALLOC_CONF: pair 1, 'history:-', is ignored: not a whole number\n");
	expect_bad("history:1 000", "GPUSHIM_ALLOC_CONF: pair 1, 'history:1 000', is ignored: not a whole number\n");
	expect_bad(
	    "roundup_power2_divisions:[256:1,>:8]",
	    "GPUSHIM_ALLOC_CONF: pair 1, 'roundup_power2_divisions:[256:1,>:8]', is ignored: not a whole number\n");
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t size_bytes;
	} sizes[] = {
	    {"memory_limit:4096", 4096},	  {"memory_limit:3k", 3u << 10},    {"memory_limit:512M", 512u << 20},
	    {"memory_limit:2GiB", 2ull << 30},	  {"memory_limit:2gb", 2ull << 30}, {"memory_limit:1T", 1ull << 40},
	    {"memory_limit:1024TiB", 1ull << 50}, {"memory_limit:8B", 8},
	};
	struct gs_conf conf;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		expect_fine(sizes[i].text, &conf);
		assert_true(conf.memory_limit == sizes[i].size_bytes);
	}
	expect_bad("memory_limit:1025T",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'memory_limit:1025T', is ignored: outside the range 0..1024T\n");
	expect_bad("memory_limit:17179869184G",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'memory_limit:17179869184G', is ignored: outside the range 0..1024T\n");
	expect_bad("memory_limit:-1G",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'memory_limit:-1G', is ignored: outside the range 0..1024T\n");
	expect_bad("memory_limit:4X", "GPUSHIM_ALLOC_CONF: pair 1, 'memory_limit:4X', is ignored: "
				      "not a size such as 4096, 512M or 2GiB\n");
	expect_bad("memory_limit:4iB", "GPUSHIM_ALLOC_CONF: pair 1, 'memory_limit:4iB', is ignored: "
				       "not a size such as 4096, 512M or 2GiB\n");
	expect_bad("memory_limit:4GG", "GPUSHIM_ALLOC_CONF: pair 1, 'memory_limit:4GG', is ignored: "
				       "not a size such as 4096, 512M or 2GiB\n");
}

static void test_shares(void **state)
{
	struct gs_conf conf;

	(void)state;
	expect_fine("per_process_memory_fraction:0.8,garbage_collection_threshold:.25", &conf);
	assert_true(conf.per_process_memory_fraction == 0.8);
	assert_true(conf.garbage_collection_threshold == 0.25);
	expect_fine("per_process_memory_fraction:0.333333333333333333333333333333", &conf);
	assert_true(conf.per_process_memory_fraction > 0.3333333333 && conf.per_process_memory_fraction < 0.3333333334);
	expect_fine("per_process_memory_fraction:1.,garbage_collection_threshold:1", &conf);
	assert_true(conf.per_process_memory_fraction == 1.0 && conf.garbage_collection_threshold == 1.0);

	expect_bad("per_process_memory_fraction:1.01",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'per_process_memory_fraction:1.01', is "
		   "ignored: outside the range 0.0..1.0\n");
	expect_bad("per_process_memory_fraction:-0.5",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'per_process_memory_fraction:-0.5', is "
		   "ignored: outside the range 0.0..1.0\n");
	expect_bad(
	    "per_process_memory_fraction:99999999999999999999.5",
	    "GPUSHIM_ALLOC_CONF: pair 1, 'per_process_memory_fraction:99999999999999999999.5', is ignored: outside "
	    "the range 0.0..1.0\n");
	expect_bad("per_process_memory_fraction:0.8x",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'per_process_memory_fraction:0.8x', is "
		   "ignored: not a number such as 0.8\n");
	expect_bad("per_process_memory_fraction:.", "GPUSHIM_ALLOC_CONF: pair 1, 'per_process_memory_fraction:.', is "
						    "ignored: not a number such as 0.8\n");
	expect_bad("per_process_memory_fraction:nan",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'per_process_memory_fraction:nan', is "
		   "ignored: not a number such as 0.8\n");
}

static void test_paths(void **state)
{
	char text[GS_CONF_PATH_BYTES + 64] = "snapshot_dir:";
	struct gs_conf conf;

	(void)state;
	memset(text + strlen(text), 'p', GS_CONF_PATH_BYTES - 1);
	expect_fine(text, &conf);
	assert_int_equal(strlen(conf.snapshot_dir), GS_CONF_PATH_BYTES - 1);
	strcat(text, "p");
	assert_int_equal(parse(text, &conf), 1);
	assert_string_equal(conf.snapshot_dir, ".");
	assert_non_null(strstr(lines, "ppp...', is ignored: longer than 1023 bytes\n"));
}

static void test_bad_pairs(void **state)
{
	struct gs_conf conf;

	(void)state;
	expect_bad("snapsot:exit",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'snapsot:exit', is ignored: no such key; the nearest is "
		   "'snapshot'\n");
	expect_bad("MEMORY-LIMIT:1",
		   "GPUSHIM_ALLOC_CONF: pair 1, 'MEMORY-LIMIT:1', is ignored: no such key; the nearest "
		   "is 'memory_limit'\n");
	expect_bad("history", "GPUSHIM_ALLOC_CONF: pair 1, 'history', is ignored: not of the form key:value\n");
	expect_bad("history: ", "GPUSHIM_ALLOC_CONF: pair 1, 'history:', is ignored: the value is missing\n");
	expect_bad(":5", "GPUSHIM_ALLOC_CONF: pair 1, ':5', is ignored: no such key; the nearest is 'ipc'\n");
	expect_bad("log:\033[31m", "GPUSHIM_ALLOC_CONF: pair 1, 'log:?[31m', is ignored: not one of "
				   "error|warn|info|debug; the nearest is 'error'\n");

	/* Positions count pairs, not empty places; what is right holds. */
	assert_int_equal(parse("history:5,,torch:,graph_chunk:9,oops,watch:False", &conf), 2);
	assert_string_equal(lines, "GPUSHIM_ALLOC_CONF: pair 2, 'torch:', is ignored: the value is missing\n"
				   "GPUSHIM_ALLOC_CONF: pair 4, 'oops', is ignored: not of the form key:value\n");
	assert_int_equal(conf.history, 5);
	assert_int_equal(conf.graph_chunk, 9);
	assert_false(conf.watch);
}

static void test_peek_torch(void **state)
{
	(void)state;
	assert_int_equal(gs_conf_peek_torch(NULL), GS_TORCH_OBSERVE);
	assert_int_equal(gs_conf_peek_torch("history:x,nonsense,torch"), GS_TORCH_OBSERVE);
	assert_int_equal(gs_conf_peek_torch("history:x, torch : serve"), GS_TORCH_SERVE);
	assert_int_equal(gs_conf_peek_torch("torch:serve,torch:bad"), GS_TORCH_SERVE);
	assert_int_equal(gs_conf_peek_torch("torch:serve,torch:off"), GS_TORCH_OFF);
	assert_int_equal(gs_conf_peek_torch("snapshot_dir:torch:off"), GS_TORCH_OBSERVE);
}

struct seen_rows {
	char text[8192];
	unsigned count;
};

static void see_row(void *user, const char *name, const char *type, const char *values, const char *initial,
		    const char *help)
{
	struct seen_rows *seen = user;
	struct gs_conf conf, defaults;
	char pair[256];

	/* Writing the default that help shows gives the default. */
	gs_conf_init(&defaults);
	if (initial[0] != '\0') {
		snprintf(pair, sizeof(pair), "%s:%s", name, initial);
		expect_fine(pair, &conf);
		assert_memory_equal(&conf, &defaults, sizeof(conf));
	}
	assert_true(strlen(help) > 10);
	snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), "%s|%s|%s|%s\n", name, type,
		 values, initial);
	seen->count++;
}

static void test_rows(void **state)
{
	static const char *const some[] = {
	    "torch|one of|observe|serve|off|observe\n",
	    "backend|one of|vmm|cudamalloc|off|vmm\n",
	    "stacks|one of|off|python|native|python+native|all|python+native\n",
	    "snapshot|list of (joined by +)|exit|oom|error|signal|peak|kill|every=SECONDS|exit+oom+error\n",
	    "memory_limit|size|0..1024T|0\n",
	    "history|number|0..100000000|100000\n",
	    "per_process_memory_fraction|number|0.0..1.0|1.0\n",
	    "strict|True or False||False\n",
	    "snapshot_dir|path||.\n",
	};
	struct seen_rows seen = {.count = 0};

	(void)state;
	gs_conf_rows(see_row, &seen);
	assert_int_equal(seen.count, 33);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		if (strstr(seen.text, some[i]) == NULL)
			fail_msg("no row '%s' in\n%s", some[i], seen.text);
	}
}

static const char *value_of(const struct gs_conf *conf, const char *name)
{
	static char value[GS_CONF_PATH_BYTES];
	struct gsb_text text;

	gsb_text_init(&text, value, sizeof(value));
	gs_conf_value_add(&text, conf, name);
	return value;
}

/* Every value comes out as one would write it. */
static void test_values(void **state)
{
	static const char *const pairs[][2] = {
	    {"stacks", "all"},
	    {"stacks", "off"},
	    {"backend", "cudamalloc"},
	    {"snapshot", "off"},
	    {"snapshot", "exit+peak+every=9"},
	    {"snapshot", "every=9"},
	    {"watch", "False"},
	    {"memory_limit", "3G"},
	    {"memory_limit", "1025"},
	    {"history", "2048"},
	    {"per_process_memory_fraction", "0.8"},
	    {"per_process_memory_fraction", "0.050301"},
	    {"per_process_memory_fraction", "0.000001"},
	    {"per_process_memory_fraction", "1.0"},
	    {"snapshot_dir", "/a b"},
	};
	struct gs_conf conf;
	char pair[128];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		snprintf(pair, sizeof(pair), "%s:%s", pairs[i][0], pairs[i][1]);
		expect_fine(pair, &conf);
		assert_string_equal(value_of(&conf, pairs[i][0]), pairs[i][1]);
	}
}

static uint32_t random_next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Texts made of fragments of right ones, and of noise, in a buffer of exactly their size (for the address sanitizer)
 * and into settings between two guards. */
static void test_random_texts(void **state)
{
	static const char *const fragments[] = {
	    "torch",
	    ":",
	    ",",
	    "serve",
	    "history",
	    "-",
	    "9",
	    "snapshot",
	    "every=",
	    "+",
	    "exit",
	    "[",
	    "]",
	    "=",
	    "|",
	    "#",
	    " ",
	    "0.5",
	    "strict",
	    "True",
	    "T",
	    "iB",
	    "\t",
	    "",
	    "\xff",
	    "memory_limit",
	    "per_process_memory_fraction",
	    "snapshot_dir",
	    "18446744073709551615",
	    ".",
	    "\033",
	};
	struct {
		unsigned char before[64];
		struct gs_conf conf;
		unsigned char after[64];
	} guarded;
	unsigned char guard[64];
	const char *given = getenv("SEED");
	uint32_t seed = given != NULL ? (uint32_t)strtoul(given, NULL, 0) | 1 : 0x5eed1;
	unsigned bad_count = 0;

	(void)state;
	print_message("# SEED=%u\n", seed);
	memset(guard, 0xa5, sizeof(guard));
	memcpy(guarded.before, guard, sizeof(guard));
	memcpy(guarded.after, guard, sizeof(guard));
	for (unsigned round = 0; round < 20000; round++) {
		char built[2048] = "";
		size_t length = 0;
		char *text;

		for (unsigned parts = random_next(&seed) % 40; parts > 0; parts--) {
			uint32_t choice = random_next(&seed);
			const char *part = fragments[choice % (sizeof(fragments) / sizeof(fragments[0]))];
			char noise[2] = {(char)(choice >> 8), '\0'};

			if (choice % 11 == 0)
				part = noise;
			length += strlen(part);
			strcat(built, part);
		}
		text = malloc(length + 1);
		memcpy(text, built, length + 1);
		bad_count += parse(text, &guarded.conf);
		assert_in_range(gs_conf_peek_torch(text), GS_TORCH_OBSERVE, GS_TORCH_OFF);
		assert_in_range(guarded.conf.torch, GS_TORCH_OBSERVE, GS_TORCH_OFF);
		assert_in_range(guarded.conf.history, 0, 100000000);
		assert_true(guarded.conf.per_process_memory_fraction >= 0.0 &&
			    guarded.conf.per_process_memory_fraction <= 1.0);
		assert_non_null(memchr(guarded.conf.snapshot_dir, '\0', sizeof(guarded.conf.snapshot_dir)));
		free(text);
		assert_memory_equal(guarded.before, guard, sizeof(guard));
		assert_memory_equal(guarded.after, guard, sizeof(guard));
	}
	assert_true(bad_count > 1000);
}

/* gs_conf_load in a child: its exit status (0 when it came back) and what it printed. */
static int load_in_child(const char *text, char *ret_printed, size_t capacity)
{
	int fds[2], status;
	size_t length = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(fds[1], STDERR_FILENO);
		setenv("GPUSHIM_ALLOC_CONF", text, 1);
		gs_conf_load();
		_exit(gs_conf.history == 5 ? 0 : 1);
	}
	close(fds[1]);
	while ((got = read(fds[0], ret_printed + length, capacity - 1 - length)) > 0)
		length += (size_t)got;
	ret_printed[length] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_load(void **state)
{
	char printed[2048];

	(void)state;
	assert_int_equal(load_in_child("history:5", printed, sizeof(printed)), 0);
	assert_string_equal(printed, "");
	assert_int_equal(load_in_child("strict:True,history:5", printed, sizeof(printed)), 0);
	assert_string_equal(printed, "");
	assert_int_equal(load_in_child("history:5,log:error,historic:6", printed, sizeof(printed)), 0);
	assert_string_equal(printed, "gpushim: GPUSHIM_ALLOC_CONF: pair 3, 'historic:6', is ignored: no such key; the "
				     "nearest is 'history'\n");
	assert_int_equal(load_in_child("a:1,history:5,b,strict:True", printed, sizeof(printed)), 78);
	assert_string_equal(
	    printed, "gpushim: GPUSHIM_ALLOC_CONF: pair 1, 'a:1', is ignored: no such key; the nearest is 'ipc'\n"
		     "gpushim: GPUSHIM_ALLOC_CONF: pair 3, 'b', is ignored: not of the form key:value\n"
		     "gpushim: GPUSHIM_ALLOC_CONF: strict:True and 2 bad, so the process ends with status 78\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),  cmocka_unit_test(test_grammar),	   cmocka_unit_test(test_bool),
	    cmocka_unit_test(test_enum),      cmocka_unit_test(test_snapshot),	   cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_sizes),     cmocka_unit_test(test_shares),	   cmocka_unit_test(test_paths),
	    cmocka_unit_test(test_bad_pairs), cmocka_unit_test(test_peek_torch),   cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_values),    cmocka_unit_test(test_random_texts), cmocka_unit_test(test_load),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
