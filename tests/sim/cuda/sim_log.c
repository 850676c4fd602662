/* The decision log: see sim_log.h. The file grows by whole windows that are mapped, so that what was written is there
 * whatever ends the process; what is left of the last window is cut off at the end. */
#include "tests/sim/cuda/sim_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/cuda/sim_conf.h"
#include "tests/sim/cuda/sim_stream.h"

#define WINDOW_BYTES ((size_t)256 << 10)
#define LINE_MAX_BYTES 200

struct choice {
	unsigned long at; /* CALL or POINT */
	uint64_t who;	  /* stream or thread */
	unsigned moment;
};

/* The choices of one kind in the replayed log. */
struct choices {
	struct choice *list;
	size_t count;
	size_t next;
};

static uint64_t hash = 0xCBF29CE484222325ull;
static unsigned long count;
static int fd = -1;
static char *window; /* NULL = nothing is written */
static size_t used;  /* of the window */
static off_t window_start;
static bool begun;
static bool replays;
static struct choices steps, threads;

static void hash_add(uint64_t value)
{
	hash = (hash ^ value) * 0x100000001B3ull;
	hash ^= hash >> 29;
}

/* --- Writing */

static void window_next(void)
{
	if (window) {
		munmap(window, WINDOW_BYTES);
		window_start += (off_t)WINDOW_BYTES;
	}
	window = MAP_FAILED;
	if (ftruncate(fd, window_start + (off_t)WINDOW_BYTES) == 0)
		window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, window_start);
	if (window == MAP_FAILED) {
		fprintf(stderr, "gpushim-sim: SIM_LOG: cannot write: %s\n", strerror(errno));
		window = NULL;
	}
	used = 0;
}

static void log_text(const char *text, size_t length)
{
	while (window && length) {
		size_t part = length < WINDOW_BYTES - used ? length : WINDOW_BYTES - used;

		memcpy(window + used, text, part);
		used += part;
		text += part;
		length -= part;
		if (used == WINDOW_BYTES)
			window_next();
	}
}

/* Lines are put together by hand: there may be one for every operation. */
struct line {
	char text[LINE_MAX_BYTES];
	size_t length;
};

static void line_word(struct line *line, const char *word)
{
	size_t length = strlen(word);

	if (line->length + length >= sizeof(line->text))
		length = sizeof(line->text) - 1 - line->length;
	memcpy(line->text + line->length, word, length);
	line->length += length;
}

static void line_number(struct line *line, uint64_t number)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	line_word(line, digits + at);
}

static void line_end(struct line *line)
{
	line->text[line->length < sizeof(line->text) ? line->length++ : sizeof(line->text) - 1] = '\n';
	log_text(line->text, line->length);
}

static void log_open(const char *path)
{
	char head[LINE_MAX_BYTES + 200], name[4096];
	const char *process = strstr(path, "%p");

	if (process)
		snprintf(name, sizeof(name), "%.*s%d%s", (int)(process - path), path, (int)getpid(), process + 2);
	fd = open(process ? name : path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		fprintf(stderr, "gpushim-sim: SIM_LOG=%s: %s\n", path, strerror(errno));
		return;
	}
	window_next();
	snprintf(head, sizeof(head), "gpushim-sim log 1: program %s, %s\n", program_invocation_short_name,
		 sim_log_how());
	log_text(head, strlen(head));
}

void sim_log_begin(void)
{
	const char *path = getenv("SIM_LOG");

	if (path && *path && !begun)
		log_open(path);
	begun = true;
}

void sim_log_step(const struct sim_stream *stream, unsigned moment)
{
	struct line line = {.length = 0};

	count++;
	hash_add((uint64_t)sim_calls_total() << 8 ^ moment);
	hash_add(stream->id);
	if (!window)
		return;
	line_word(&line, "step ");
	line_number(&line, sim_calls_total());
	line_word(&line, " ");
	line_number(&line, moment);
	line_word(&line, " ");
	line_word(&line, sim_fn_symbol(sim_call_fn()));
	line_word(&line, " stream ");
	line_number(&line, stream->id);
	line_word(&line, " ");
	line_word(&line, sim_op_name(stream->head));
	line_word(&line, " ");
	line_number(&line, stream->head->seq);
	line_end(&line);
}

void sim_log_rank(const struct sim_stream *stream)
{
	struct line line = {.length = 0};

	line_word(&line, "rank ");
	line_number(&line, sim_calls_total());
	line_word(&line, " stream ");
	line_number(&line, stream->id);
	line_end(&line);
}

void sim_log_thread(unsigned long point, unsigned to, unsigned from, const char *where)
{
	struct line line = {.length = 0};

	sim_log_begin();
	count++;
	hash_add(point << 1);
	hash_add((uint64_t)to << 32 | from);
	if (!window)
		return;
	line_word(&line, "thread ");
	line_number(&line, point);
	line_word(&line, " to ");
	line_number(&line, to);
	line_word(&line, " from ");
	line_number(&line, from);
	line_word(&line, " ");
	line_word(&line, where);
	line_end(&line);
}

uint64_t sim_log_hash(void)
{
	return hash;
}

unsigned long sim_log_count(void)
{
	return count;
}

/* --- Replaying */

static void choices_add(struct choices *choices, struct choice choice)
{
	if ((choices->count & (choices->count - 1)) == 0)
		choices->list = realloc(choices->list, (choices->count ? 2 * choices->count : 1) * sizeof(choice));
	if (!choices->list)
		abort();
	choices->list[choices->count++] = choice;
}

/* What the line says is kept in its list. False when it is no line of a log. */
static bool replay_line(const char *line)
{
	unsigned long at, who;
	unsigned moment;

	if (sscanf(line, "step %lu %u %*s stream %lu", &at, &moment, &who) == 3)
		choices_add(&steps, (struct choice){at, who, moment});
	else if (sscanf(line, "thread %lu to %lu", &at, &who) == 2)
		choices_add(&threads, (struct choice){at, who, 0});
	else
		return strncmp(line, "rank ", 5) == 0;
	return true;
}

/* A log of another program is none for this process. A killed process may leave half a line at the end. */
static void replay_read(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[4 * LINE_MAX_BYTES], program[80];

	if (!file || !fgets(line, sizeof(line), file) ||
	    sscanf(line, "gpushim-sim log 1: program %79[^,],", program) != 1) {
		fprintf(stderr, "gpushim-sim: SIM_REPLAY=%s: wanted a file that SIM_LOG wrote\n", path);
		exit(2);
	}
	replays = strcmp(program, program_invocation_short_name) == 0;
	while (replays && fgets(line, sizeof(line), file) && strchr(line, '\n')) {
		if (!replay_line(line)) {
			fprintf(stderr, "gpushim-sim: SIM_REPLAY=%s: cannot read '%.*s'\n", path,
				(int)strcspn(line, "\n"), line);
			exit(2);
		}
	}
	fclose(file);
}

bool sim_log_replays(void)
{
	return replays;
}

/* The next choice for that moment; those of moments that have passed are passed over. 0 = none. */
static uint64_t choices_next(struct choices *choices, unsigned long at, unsigned moment)
{
	while (choices->next < choices->count) {
		const struct choice *choice = &choices->list[choices->next];

		if (choice->at > at || (choice->at == at && choice->moment > moment))
			return 0;
		choices->next++;
		if (choice->at == at && choice->moment == moment)
			return choice->who;
	}
	return 0;
}

uint64_t sim_log_next_step(unsigned moment)
{
	return choices_next(&steps, sim_calls_total(), moment);
}

unsigned sim_log_next_thread(unsigned long point)
{
	return (unsigned)choices_next(&threads, point, 0);
}

/* --- The tail of error lines */

struct build {
	char ids[80];
	size_t length;
};

/* The first digits of a module's build id: as file(1) and a debugger show it. */
static void build_note(struct build *build, const char *what, const ElfW(Nhdr) * note)
{
	const unsigned char *id = (const unsigned char *)(note + 1) + 4;

	build->length += (size_t)snprintf(build->ids + build->length, sizeof(build->ids) - build->length,
					  " %s %02x%02x%02x%02x", what, id[0], id[1], id[2], id[3]);
}

static int build_module(struct dl_phdr_info *module, size_t size_bytes, void *build)
{
	const char *what = strstr(module->dlpi_name, "libgpushim")   ? "shim"
			   : strstr(module->dlpi_name, "libcuda.so") ? "sim"
								     : NULL;

	(void)size_bytes;
	for (int i = 0; what && i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &module->dlpi_phdr[i];
		const char *at = (const char *)(module->dlpi_addr + header->p_vaddr), *end = at + header->p_memsz;

		while (header->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz >= 4)
				build_note(build, what, note);
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

const char *sim_log_how(void)
{
	static char how[600];
	const char *path = getenv("SIM_LOG"), *replay = getenv("SIM_REPLAY");
	struct build build = {.length = 0};

	dl_iterate_phdr(build_module, &build);
	snprintf(
	    how, sizeof(how), "policy %s, seed %" PRIu64 ", build%s; again: SIM_POLICY=%s SIM_SEED=%" PRIu64 "%s%s%s",
	    sim_conf_policy_name(), sim_conf()->seed, build.length ? build.ids : " unknown", sim_conf_policy_name(),
	    sim_conf()->seed, sim_conf()->baton ? " SIM_THREADS=baton" : "", replays || path ? " SIM_REPLAY=" : "",
	    replays ? replay
	    : path  ? path
		    : "");
	return how;
}

/* The log is the parent's. */
static void log_child(void)
{
	if (window)
		munmap(window, WINDOW_BYTES);
	window = NULL;
	hash = 0;
	count = 0;
}

__attribute__((constructor)) static void log_init(void)
{
	const char *path = getenv("SIM_REPLAY");

	pthread_atfork(NULL, NULL, log_child);
	if (path && *path)
		replay_read(path);
}

__attribute__((destructor)) static void log_fini(void)
{
	if (window && ftruncate(fd, window_start + (off_t)used) != 0)
		fprintf(stderr, "gpushim-sim: SIM_LOG: %s\n", strerror(errno));
}
