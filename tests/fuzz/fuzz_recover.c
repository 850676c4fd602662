/* gpushim-report recover on ring files (report/ring_file.h): any file is refused, and leaves nothing, or gives a
 * snapshot that the reader takes, whatever is wrong with what it holds.
 *
 * The first byte of an input says what the others are: odd, the file itself; else changes to a file that is whole, each
 * two bytes for the place, one for how many bytes follow, and these. */
#include <string.h>

#include "report/command.h"
#include "report/load.h"
#include "report/ring_file.h"
#include "tests/fuzz/target.h"

enum { SLOTS = 16, PAGE = 4096 };

#define PAGES(bytes) (((bytes) + PAGE - 1) / PAGE * PAGE)
#define EVENTS_AT PAGES(sizeof(struct gs_ring_header))
#define LIVE_AT (EVENTS_AT + PAGE)
#define TEXTS_AT (LIVE_AT + PAGE)
#define FILE_BYTES (TEXTS_AT + PAGE)
_Static_assert(SLOTS * sizeof(struct gs_ring_slot) <= PAGE && SLOTS * sizeof(struct gs_ring_live) <= PAGE,
	       "a page each");

static _Alignas(8) uint8_t whole[FILE_BYTES], changed[FILE_BYTES];
static char folder[256], ring_path[300], snapshot_path[300];

static void record_add(struct gs_ring_record record, const char *text)
{
	struct gs_ring_header *header = (struct gs_ring_header *)(void *)whole;
	uint8_t *at = whole + TEXTS_AT + header->texts_used;

	record.bytes = (uint32_t)strlen(text);
	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), text, record.bytes);
	header->texts_used += GS_RING_RECORD_BYTES(record.bytes);
}

static void texts_fill(void)
{
	static const char *const strings[] = {"", "train.py", "step", "/opt/lib.so", "0123456789abcdef"};

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		record_add((struct gs_ring_record){.kind = GS_RING_STRING}, strings[i]);
	record_add((struct gs_ring_record){.kind = GS_RING_MODULE}, "");
	record_add((struct gs_ring_record){.kind = GS_RING_MODULE, .numbers = {3, 4}, .words = {4096, 4096, 8192}}, "");
	record_add((struct gs_ring_record){.kind = GS_RING_FRAME}, "");
	record_add((struct gs_ring_record){.kind = GS_RING_FRAME, .numbers = {1, 2, 1, 7}}, "");
	record_add((struct gs_ring_record){.kind = GS_RING_FRAME, .numbers = {2, 0, 1}, .words = {64}}, "");
	record_add((struct gs_ring_record){.kind = GS_RING_NODE}, "");
	record_add((struct gs_ring_record){.kind = GS_RING_NODE, .numbers = {0, 1}}, "");
	record_add((struct gs_ring_record){.kind = GS_RING_NODE, .numbers = {1, 2}}, "");
}

/* Of each slot one part is empty, and one event and one block were being written. */
static void slots_fill(void)
{
	struct gs_ring_slot *events = (struct gs_ring_slot *)(void *)(whole + EVENTS_AT);
	struct gs_ring_live *live = (struct gs_ring_live *)(void *)(whole + LIVE_AT);

	for (uint64_t i = 0; i < SLOTS - 2; i++) {
		const uint64_t words[GS_RING_EVENT_WORDS] = {1000 + i, 4096 * i, 512, i % 3, 2 | 99ull << 32, i % 2};

		events[i].number = 2 * i + 2 - (i == 5);
		for (unsigned word = 0; word < GS_RING_EVENT_WORDS; word++)
			events[i].words[word] = words[word];
	}
	for (uint64_t i = 0; i < SLOTS; i += 2) {
		live[i].number = 2 + (i == 6);
		live[i].address = 4096 * i;
		live[i].size_bytes = 512;
		live[i].time_ns = 1000 + i;
		live[i].stream = i % 3;
		live[i].stack_thread = 2ull << 32 | 99;
		live[i].class_device = (GS_RING_BLOCK + i % 4) << 8;
	}
}

static void whole_make(void)
{
	struct gs_ring_header *header = (struct gs_ring_header *)(void *)whole;

	header->magic = GS_RING_FILE_MAGIC;
	header->version = GS_RING_FILE_VERSION;
	header->header_bytes = sizeof(*header);
	header->file_bytes = FILE_BYTES;
	header->events_at = EVENTS_AT;
	header->live_at = LIVE_AT;
	header->event_slots = header->live_slots = SLOTS;
	header->texts_at = TEXTS_AT;
	header->texts_bytes = PAGE;
	header->start_wall_ns = 1700000000000000000;
	header->start_monotonic_ns = 900;
	header->rank = -1;
	header->pid = 4711;
	header->ppid = 1;
	strcpy(header->program, "1");
	strcpy(header->hostname, "host");
	strcpy(header->executable, "/usr/bin/python3");
	strcpy(header->folder, "/home");
	strcpy(header->conf, "snapshot:kill");
	header->type_count = 2;
	header->class_count = 3;
	strcpy(header->types[0], "alloc");
	strcpy(header->types[1], "free");
	strcpy(header->classes[0], "tensor");
	strcpy(header->classes[1], "driver");
	strcpy(header->classes[2], "host");
	strcpy(header->devices[0].name, "Simulated GPU");
	header->devices[0].total_bytes = 1 << 30;
	header->devices[0].known = 1;
	texts_fill();
	slots_fill();
}

static void folder_remove(void)
{
	unlink(ring_path);
	unlink(snapshot_path);
	rmdir(folder);
}

static void begin(void)
{
	const char *parent = getenv("TMPDIR");

	whole_make();
	snprintf(folder, sizeof(folder), "%.200s/gpushim-fuzz.XXXXXX", parent != NULL ? parent : "/tmp");
	HOLDS(mkdtemp(folder) != NULL);
	snprintf(ring_path, sizeof(ring_path), "%s/it.ring", folder);
	snprintf(snapshot_path, sizeof(snapshot_path), "%s/it.killed.json", folder);
	atexit(folder_remove);
}

static void file_write(const uint8_t *bytes, size_t length)
{
	FILE *file = fopen(ring_path, "w");

	HOLDS(file != NULL && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

static void file_make(const uint8_t *data, size_t size)
{
	if (size > 0 && data[0] % 2 != 0) {
		file_write(data + 1, size - 1);
		return;
	}
	memcpy(changed, whole, FILE_BYTES);
	for (size_t at = 1; at + 3 <= size;) {
		size_t place = (size_t)data[at] << 8 | data[at + 1], count = data[at + 2];

		at += 3;
		count = count < size - at ? count : size - at;
		for (size_t i = 0; i < count; i++)
			changed[(place + i) % FILE_BYTES] = data[at + i];
		at += count;
	}
	file_write(changed, FILE_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsr_options options = {.rows = 3};
	FILE *program_stdout = stdout;
	struct gsr_model model;
	size_t length;
	char *text = NULL;
	int status;

	target_quiet();
	if (folder[0] == '\0')
		begin();
	file_make(data, size);
	stdout = open_memstream(&text, &length);
	HOLDS(stdout != NULL);
	status = gsr_recover(ring_path, &options);
	HOLDS((status == GSR_FINE) == (access(snapshot_path, F_OK) == 0));
	if (status == GSR_FINE) {
		HOLDS(gsr_load(snapshot_path, &model) == 0);
		gsr_summary(snapshot_path, &model, &options);
		gsr_model_drop(&model);
		unlink(snapshot_path);
	}
	fclose(stdout);
	free(text);
	stdout = program_stdout;
	return 0;
}
