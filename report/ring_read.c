/* See ring_read.h. */
#include "report/ring_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/err.h"

static int fail(const char *path, const char *why)
{
	fprintf(stderr, "gpushim-report: %s: %s\n", path, why);
	return GS_E_INVALID;
}

static void *room_for(size_t count, size_t bytes)
{
	void *room = calloc(count + 1, bytes);

	if (room == NULL)
		abort();
	return room;
}

static int bytes_read(const char *path, struct gsr_ring *file)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat_;
	ssize_t got = 0;

	if (fd < 0 || fstat(fd, &stat_) != 0 || !S_ISREG(stat_.st_mode)) {
		if (fd >= 0)
			close(fd);
		return fail(path, fd < 0 ? strerror(errno) : "no file");
	}
	file->bytes = malloc((size_t)stat_.st_size + 1);
	while (file->bytes != NULL && file->length < (uint64_t)stat_.st_size &&
	       (got = read(fd, file->bytes + file->length, (size_t)stat_.st_size - file->length)) > 0)
		file->length += (uint64_t)got;
	close(fd);
	if (file->bytes == NULL)
		return fail(path, "out of memory");
	return got < 0 ? fail(path, "it cannot be read") : 0;
}

static bool power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

static bool lies_within(const struct gsr_ring *file, uint64_t at, uint64_t count, uint64_t bytes)
{
	return at % 4096 == 0 && at >= sizeof(struct gs_ring_header) && at <= file->length &&
	       count <= (file->length - at) / bytes;
}

bool gsr_ring_ends(const char *text, size_t capacity)
{
	return memchr(text, '\0', capacity) != NULL;
}

/* Names go into JSON as they are. */
static bool names_fit(uint32_t count, const char names[][GS_RING_NAME_BYTES])
{
	for (uint32_t i = 0; count <= GS_RING_NAMES && i < count; i++) {
		if (!gsr_ring_ends(names[i], GS_RING_NAME_BYTES) || names[i][strspn(names[i], "abcdefghijklmnopqrstuvwxyz_")] != '\0')
			return false;
	}
	return count > 0 && count <= GS_RING_NAMES;
}

static int header_check(const char *path, struct gsr_ring *file)
{
	const struct gs_ring_header *header = (const struct gs_ring_header *)(void *)file->bytes;

	if (file->length < sizeof(*header) || atomic_load(&header->magic) != GS_RING_FILE_MAGIC)
		return fail(path, "no ring file of gpushim, or one that was not begun yet");
	if (header->version != GS_RING_FILE_VERSION || header->header_bytes != sizeof(*header))
		return fail(path, "a ring file of another version of gpushim");
	if (header->file_bytes != file->length)
		return fail(path, "the file is not whole");
	if (!power_of_two(header->event_slots) || !power_of_two(header->live_slots) ||
	    !lies_within(file, header->events_at, header->event_slots, sizeof(struct gs_ring_slot)) ||
	    !lies_within(file, header->live_at, header->live_slots, sizeof(struct gs_ring_live)) ||
	    !lies_within(file, header->texts_at, header->texts_bytes, 1) ||
	    atomic_load(&header->texts_used) > header->texts_bytes ||
	    !names_fit(header->type_count, header->types) ||
	    !names_fit(header->class_count, header->classes) || !gsr_ring_ends(header->program, sizeof(header->program)) ||
	    !gsr_ring_ends(header->hostname, sizeof(header->hostname)) || !gsr_ring_ends(header->executable, sizeof(header->executable)) ||
	    !gsr_ring_ends(header->folder, sizeof(header->folder)) || !gsr_ring_ends(header->conf, sizeof(header->conf)))
		return fail(path, "the header of the ring file is damaged");
	file->header = header;
	return 0;
}

/* Records that follow from each other; what is damaged ends them. */
static void records_read(struct gsr_ring *file)
{
	const char *texts = file->bytes + file->header->texts_at;
	uint64_t used = atomic_load(&file->header->texts_used), at = 0;
	size_t most = (size_t)(used / sizeof(struct gs_ring_record));

	for (unsigned kind = 0; kind < 4; kind++)
		file->records[kind] = room_for(most, sizeof(*file->records[kind]));
	while (used - at >= sizeof(struct gs_ring_record)) {
		const struct gs_ring_record *record = (const struct gs_ring_record *)(const void *)(texts + at);

		if (record->kind > GS_RING_NODE || record->bytes > used - at ||
		    GS_RING_RECORD_BYTES(record->bytes) > used - at)
			break;
		file->records[record->kind][file->record_count[record->kind]++] = record;
		at += GS_RING_RECORD_BYTES(record->bytes);
	}
}

#define MOST_EVENTS ((uint64_t)1 << 52) /* more than ever happen */

static void events_read(struct gsr_ring *file)
{
	const struct gs_ring_header *header = file->header;
	struct gs_ring_slot *slots = (struct gs_ring_slot *)(void *)(file->bytes + header->events_at);
	uint64_t end = 0, begin;

	/* The end in the header may lag behind the slots. */
	for (uint64_t at = 0; at < header->event_slots; at++) {
		uint64_t number = atomic_load(&slots[at].number);

		if (number != 0 && number < MOST_EVENTS && (number - 1) / 2 % header->event_slots == at && (number + 1) / 2 > end)
			end = (number + 1) / 2;
	}
	begin = end > header->event_slots ? end - header->event_slots : 0;
	file->event_end = end;
	file->events = room_for(header->event_slots, GS_RING_EVENT_WORDS * sizeof(uint64_t));
	for (uint64_t index = begin; index < end; index++) {
		struct gs_ring_slot *slot = &slots[index & (header->event_slots - 1)];
		uint64_t *event = file->events + file->event_count * GS_RING_EVENT_WORDS;

		for (unsigned word = 0; word < GS_RING_EVENT_WORDS; word++)
			event[word] = atomic_load(&slot->words[word]);
		if (atomic_load(&slot->number) == 2 * index + 2 && (event[5] & 0xff) < header->type_count)
			file->event_count++;
	}
}

static int by_address(const void *left, const void *right)
{
	const struct gsr_alive *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void alive_read(struct gsr_ring *file)
{
	const struct gs_ring_header *header = file->header;
	struct gs_ring_live *slots = (struct gs_ring_live *)(void *)(file->bytes + header->live_at);

	file->alive = room_for(header->live_slots, sizeof(*file->alive));
	for (uint64_t at = 0; at < header->live_slots; at++) {
		uint64_t class_device = atomic_load(&slots[at].class_device);
		uint64_t who = atomic_load(&slots[at].stack_thread);
		struct gsr_alive *alive = &file->alive[file->alive_count];

		*alive = (struct gsr_alive){.address = atomic_load(&slots[at].address),
					.size_bytes = atomic_load(&slots[at].size_bytes),
					.time_ns = atomic_load(&slots[at].time_ns),
					.stream = atomic_load(&slots[at].stream),
					.stack = (uint32_t)(who >> 32),
					.thread = (uint32_t)who,
					.live_class = (unsigned)(class_device >> 8 & 0xff),
					.device = (unsigned)(class_device & 0xff)};
		if (atomic_load(&slots[at].number) % 2 != 0)
			file->torn++;
		else if (alive->live_class >= GS_RING_BLOCK && alive->live_class < GS_RING_LIVE + header->class_count &&
			 alive->size_bytes <= (uint64_t)1 << 50)
			file->alive_count++;
	}
	qsort(file->alive, file->alive_count, sizeof(*file->alive), by_address);
}

uint64_t gsr_ring_known(const struct gsr_ring *file, enum gs_ring_record_kind kind, uint64_t number)
{
	return number < file->record_count[kind] ? number : 0;
}

int gsr_ring_read(const char *path, struct gsr_ring *ret_file)
{
	*ret_file = (struct gsr_ring){0};
	if (bytes_read(path, ret_file) != 0 || header_check(path, ret_file) != 0)
		return GS_E_INVALID;
	records_read(ret_file);
	events_read(ret_file);
	alive_read(ret_file);
	return 0;
}

void gsr_ring_drop(struct gsr_ring *file)
{
	for (unsigned kind = 0; kind < 4; kind++)
		free(file->records[kind]);
	free(file->events);
	free(file->alive);
	free(file->bytes);
}
