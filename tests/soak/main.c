/* A random but valid CUDA program from a seed, generated and run in one.
 *
 *   program SEED
 *
 * It uses the runtime and the driver at once. Every access is ordered as CUDA wants it (stream.h), so what it prints
 * (contents, codes, answers) is the same under every schedule, and with gpushim as without it. All device memory is
 * announced to the shadow of the simulated driver, which ends the program with a status of its own when memory has two
 * users at once.
 *
 *   PROGRAM_OPS=N        operations; default 60 to 240, by seed
 *   PROGRAM_SKIP=LIST    leaves operations out, as in 3,7-12; the others stay what they are
 *   PROGRAM_SMALL=1      memory may be short: codes of allocations are not printed
 *   PROGRAM_RELAXED=1    does not rely on cudaFree to wait for copies to the host (free_sync:never)
 *   PROGRAM_TRACE=1      prints at once, to see how far it gets */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/soak/capture.h"
#include "tests/soak/context.h"
#include "tests/soak/crew.h"
#include "tests/soak/draw.h"
#include "tests/soak/event.h"
#include "tests/soak/kernels.h"
#include "tests/soak/life.h"
#include "tests/soak/parallel.h"
#include "tests/soak/refused.h"
#include "tests/soak/say.h"
#include "tests/soak/work.h"

enum { OPERATIONS_MAX = 4096 };

static void op_make(int stream)
{
	struct buffer *buffer = buffer_empty();

	if (buffer == NULL)
		return;
	buffer_make(buffer, stream, buffer_draw_kind(), buffer_draw_count());
	work_init(buffer, stream);
}

static void op_free(int stream)
{
	struct buffer *buffer = &buffers[draw(BUFFERS)];

	if (!buffer->live)
		return;
	say("buffer %d is freed", buffer_number(buffer));
	if (buffer_reachable(buffer, streams[stream].context))
		work_digest(buffer, stream);
	buffer_free(buffer, stream);
}

static void op_stream_make(int stream)
{
	stream_make(streams[stream].context);
}

static void op_stream_destroy(int stream)
{
	int gone = stream_pick_made();

	(void)stream;
	if (gone >= 0)
		stream_destroy(gone);
}

static void op_event_slot(int stream)
{
	event_make_or_destroy(streams[stream].context);
}

static void op_event_ask(int stream)
{
	(void)stream;
	event_ask_some();
}

static void op_wait(int stream)
{
	switch (way(4)) {
	case 0:
		stream_poll(stream);
		break;
	case 1:
		context_await(streams[stream].context);
		break;
	default:
		stream_await(stream);
	}
}

/*  X(function, weight) */
#define OPERATIONS(X)                                                                                                  \
	X(op_make, 40)                                                                                                 \
	X(op_free, 30)                                                                                                 \
	X(work_mix, 50)                                                                                                \
	X(work_copy, 25)                                                                                               \
	X(work_set, 10)                                                                                                \
	X(work_check, 15)                                                                                              \
	X(work_delay, 20)                                                                                              \
	X(work_churn, 8)                                                                                               \
	X(work_loop, 12)                                                                                               \
	X(work_legacy, 8)                                                                                              \
	X(work_copy_then_free, 6)                                                                                      \
	X(work_host_function, 5)                                                                                       \
	X(work_on_host, 8)                                                                                             \
	X(work_handshake, 3)                                                                                           \
	X(parallel_work, 2)                                                                                            \
	X(capture_one, 6)                                                                                              \
	X(op_stream_make, 8)                                                                                           \
	X(op_stream_destroy, 5)                                                                                        \
	X(op_event_slot, 8)                                                                                            \
	X(event_record_some, 8)                                                                                        \
	X(event_wait_some, 8)                                                                                          \
	X(op_event_ask, 4)                                                                                             \
	X(op_wait, 3)                                                                                                  \
	X(life_context, 4)                                                                                             \
	X(life_short_context, 2)                                                                                       \
	X(life_pool, 4)                                                                                                \
	X(life_fork, 1)                                                                                                \
	X(life_ask, 5)                                                                                                 \
	X(refused_one, 8)

static const struct {
	const char *name;
	void (*run)(int stream);
	unsigned weight;
} operations[] = {
#define X(function, weight) {#function, function, weight},
    OPERATIONS(X)
#undef X
};

enum { OPERATION_COUNT = sizeof(operations) / sizeof(operations[0]) };

static unsigned weights[OPERATION_COUNT];
static bool skipped[OPERATIONS_MAX];

static bool handshakes; /* the program watches memory */

/* Programs differ in what they do much of: the rare combinations come from doing few things often. */
static void taste(void)
{
	static const unsigned factors[] = {0, 0, 1, 2, 6};

	for (unsigned i = 0; i < OPERATION_COUNT; i++)
		weights[i] = operations[i].weight * (i < 3 ? 1 + draw(2) : factors[draw(5)]);
	handshakes = draw(4) == 0;
	for (unsigned i = 0; i < OPERATION_COUNT && !handshakes; i++)
		if (operations[i].run == work_handshake)
			weights[i] = 0;
	buffers_start();
	streams_taste();
}

static unsigned operation_draw(void)
{
	unsigned total = 0, picked = 0, at;

	for (unsigned i = 0; i < OPERATION_COUNT; i++)
		total += weights[i];
	for (at = draw(total); at >= weights[picked]; picked++)
		at -= weights[picked];
	return picked;
}

/* The checking build of gpushim walks over its books. */
static void check_walk(void)
{
	static unsigned (*walk)(void);
	static bool asked;

	if (!asked)
		*(void **)&walk = dlsym(RTLD_DEFAULT, "gpushim_check_walk");
	asked = true;
	if (walk != NULL)
		walk();
}

struct step {
	unsigned operation;
	int stream;
};

static void step_run(void *argument)
{
	const struct step *step = argument;

	context_enter(streams[step->stream].context);
	operations[step->operation].run(step->stream);
	if (way(8) == 0)
		check_walk();
}

static void step(uint64_t seed, unsigned number)
{
	struct step step;
	int thread;

	draw_begin(seed, number);
	say_operation(number);
	step.operation = operation_draw();
	step.stream = stream_pick(-1);
	thread = (int)draw(2 * CREW);
	if (streams[step.stream].thread >= 0)
		thread = streams[step.stream].thread;
	else if (thread >= CREW)
		thread = 0;
	say("%s, stream %d, thread %d", operations[step.operation].name, step.stream, thread);
	crew_run(thread, step_run, &step);
}

static void skip_read(const char *list)
{
	char *end;

	while (list != NULL && *list != '\0') {
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (end == list || (*end != ',' && *end != '\0') || last >= OPERATIONS_MAX) {
			fprintf(stderr, "program: PROGRAM_SKIP: cannot read '%s'\n", list);
			exit(2);
		}
		while (first <= last)
			skipped[first++] = true;
		list = *end == ',' ? end + 1 : end;
	}
}

static void start(void)
{
	crew_start();
	kernels_start();
	contexts_start();
	for (int i = 0; i < device_count; i++) {
		streams_start(i);
		for (unsigned more = 1 + draw(4); more > 0; more--)
			stream_make(i);
	}
	results_start();
}

/* Everything is looked at and given back. */
static void finish(void)
{
	for (unsigned i = 0; i < BUFFERS; i++) {
		struct buffer *buffer = &buffers[i];
		int stream;

		if (!buffer->live)
			continue;
		stream = stream_pick(contexts[buffer->context].alive ? buffer->context
								     : contexts[buffer->context].device);
		while (streams[stream].thread > 0)
			stream = stream_pick(streams[stream].context);
		context_enter(streams[stream].context);
		if (buffer_reachable(buffer, streams[stream].context))
			work_digest(buffer, stream);
		buffer_free(buffer, stream);
	}
	host_await_all();
	results_print();
	while (stream_pick_made() >= 0)
		stream_destroy(stream_pick_made());
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned count, done = 0, ending;

	if (argc != 2) {
		fprintf(stderr, "usage: %s SEED\n", argv[0]);
		return 2;
	}
	if (getenv("PROGRAM_TRACE") != NULL)
		setvbuf(stdout, NULL, _IOLBF, 0);
	skip_read(getenv("PROGRAM_SKIP"));
	draw_begin(seed, OPERATIONS_MAX);
	taste();
	/* The simulated device gets on by itself soon when the host only watches memory. Elsewhere time plays no part. */
	if (handshakes)
		setenv("SIM_IDLE_MS", "2", 0);
	count = 60 + draw(180);
	ending = draw(8);
	if (getenv("PROGRAM_OPS") != NULL)
		count = (unsigned)strtoul(getenv("PROGRAM_OPS"), NULL, 10) % OPERATIONS_MAX;
	start();
	for (unsigned number = 0; number < count; number++) {
		if (skipped[number])
			continue;
		step(seed, number);
		done++;
	}
	draw_begin(seed, count);
	say_operation(count);
	fflush(stdout);
	fprintf(stderr, "program: %u operations, %lu times out of memory\n", done, say_refusals());
	if (ending == 0)
		exit(3);
	if (ending == 1)
		_exit(4);
	finish();
	if (ending == 2)
		life_after_reset();
	return 0;
}
