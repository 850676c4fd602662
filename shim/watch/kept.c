/* See kept.h. Texts are copied when an event names a stack that is not there yet; devices likewise. */
#include "shim/watch/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/base/hot.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/core/device.h"
#include "shim/snap/path_out.h"
#include "shim/snap/process.h"
#include "shim/stack/stack.h"
#include "shim/watch/live.h"

#define LIVE_SLOTS 65536u
#define LIVE_PROBES 64u
#define TEXT_BYTES (16u << 20)
#define PATH_BYTES 2400
#define HOST_DEVICE 255

GSB_HOT bool gs_kept_on;

static struct gsb_lock lock = GSB_LOCK_INIT(LIVE);
static struct gs_ring_header *header; /* fixed at start, as are the next three and the path */
static struct gs_ring_live *live;
static char *texts;
static struct gs_paths paths;
static char file_path[PATH_BYTES];

/* Guarded by lock. */
static uint32_t strings_kept, modules_kept, frames_kept;
static _Atomic uint32_t nodes_kept; /* read without it */

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + GSB_PAGE_BYTES - 1) / GSB_PAGE_BYTES * GSB_PAGE_BYTES;
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

/* False: there is no room. */
static bool record_add(const struct gs_ring_record *record, const char *text)
{
	uint64_t used = atomic_load_explicit(&header->texts_used, memory_order_relaxed);
	uint64_t bytes = GS_RING_RECORD_BYTES(record->bytes);

	if (bytes > header->texts_bytes - used) {
		atomic_fetch_add_explicit(&header->texts_lost, 1, memory_order_relaxed);
		return false;
	}
	memcpy(texts + used, record, sizeof(*record));
	memcpy(texts + used + sizeof(*record), text, record->bytes);
	atomic_store_explicit(&header->texts_used, used + bytes, memory_order_release);
	return true;
}

static bool string_keep(uint32_t number)
{
	static char chars[GS_PATH_TEXT_BYTES]; /* guarded by lock */
	const char *text = gs_path_shown(gs_string_read(number), &paths, chars);
	struct gs_ring_record record = {.kind = GS_RING_STRING, .bytes = (uint32_t)strlen(text)};

	return record_add(&record, text);
}

static bool module_keep(uint32_t number)
{
	struct gs_ring_record record = {.kind = GS_RING_MODULE};
	struct gs_module module;

	gs_module_read(number, &module);
	record.numbers[0] = module.path;
	record.numbers[1] = module.build_id;
	record.words[0] = module.base;
	record.words[1] = module.start;
	record.words[2] = module.end;
	return record_add(&record, "");
}

static bool frame_keep(uint32_t number)
{
	struct gs_ring_record record = {.kind = GS_RING_FRAME};
	struct gs_frame frame;

	gs_frame_read(number, &frame);
	record.numbers[0] = frame.kind;
	record.numbers[1] = frame.function;
	record.numbers[2] = frame.file;
	record.numbers[3] = frame.line;
	record.words[0] = frame.offset;
	return record_add(&record, "");
}

static bool node_keep(uint32_t number)
{
	struct gs_ring_record record = {.kind = GS_RING_NODE};

	gs_stack_read(number, &record.numbers[0], &record.numbers[1]);
	return record_add(&record, "");
}

/* What a node refers to was there before it: so the counts are taken in this order, and written in the other. */
static void texts_keep(void)
{
	uint32_t nodes = (uint32_t)gs_stack_count(), frames = (uint32_t)gs_frame_count();
	uint32_t modules = (uint32_t)gs_module_count(), strings = (uint32_t)gs_string_count();

	while (strings_kept < strings && string_keep(strings_kept))
		strings_kept++;
	while (strings_kept == strings && modules_kept < modules && module_keep(modules_kept))
		modules_kept++;
	while (modules_kept == modules && frames_kept < frames && frame_keep(frames_kept))
		frames_kept++;
	for (uint32_t node = nodes_kept; frames_kept == frames && node < nodes && node_keep(node); node++)
		atomic_store_explicit(&nodes_kept, node + 1, memory_order_relaxed);
}

static void device_keep(uint8_t ordinal)
{
	struct gs_ring_device *device = &header->devices[ordinal];
	struct gs_device_info info;

	if (atomic_load_explicit(&device->known, memory_order_relaxed) != 0 || gs_device_read(ordinal, &info) != 0)
		return;
	memcpy(device->uuid, info.uuid, sizeof(device->uuid));
	memcpy(device->name, info.name, sizeof(device->name));
	device->total_bytes = info.total_bytes;
	atomic_store_explicit(&device->known, 1, memory_order_release);
}

/* --- what is alive ----------------------------------------------------------------------------------------------- */

static size_t live_place(uint64_t address, unsigned live_class)
{
	return (size_t)(((address ^ (uint64_t)live_class << 56) * 0x9e3779b97f4a7c15u) >> 32) & (LIVE_SLOTS - 1);
}

static unsigned class_of(const struct gs_ring_live *slot)
{
	return (unsigned)(atomic_load_explicit(&slot->class_device, memory_order_relaxed) >> 8);
}

static struct gs_ring_live *live_find(uint64_t address, unsigned live_class)
{
	size_t place = live_place(address, live_class);

	for (unsigned i = 0; i < LIVE_PROBES; i++) {
		struct gs_ring_live *slot = &live[(place + i) & (LIVE_SLOTS - 1)];

		if (class_of(slot) == GS_RING_FREE)
			return NULL;
		if (class_of(slot) == live_class &&
		    atomic_load_explicit(&slot->address, memory_order_relaxed) == address)
			return slot;
	}
	return NULL;
}

static struct gs_ring_live *live_room(uint64_t address, unsigned live_class)
{
	size_t place = live_place(address, live_class);
	struct gs_ring_live *slot = live_find(address, live_class);

	for (unsigned i = 0; slot == NULL && i < LIVE_PROBES; i++)
		if (class_of(&live[(place + i) & (LIVE_SLOTS - 1)]) < GS_RING_BLOCK)
			slot = &live[(place + i) & (LIVE_SLOTS - 1)];
	return slot;
}

static void live_write(struct gs_ring_live *slot, const struct gs_event *event, unsigned live_class)
{
	uint64_t number = atomic_load_explicit(&slot->number, memory_order_relaxed);

	atomic_store_explicit(&slot->number, number + 1, memory_order_relaxed);
	atomic_store_explicit(&slot->address, event->address, memory_order_release);
	atomic_store_explicit(&slot->size_bytes, event->size_bytes, memory_order_release);
	atomic_store_explicit(&slot->time_ns, event->time_ns, memory_order_release);
	atomic_store_explicit(&slot->stream, event->stream, memory_order_release);
	atomic_store_explicit(&slot->stack_thread, (uint64_t)event->stack << 32 | event->thread, memory_order_release);
	atomic_store_explicit(&slot->class_device, (uint64_t)live_class << 8 | event->device, memory_order_release);
	atomic_store_explicit(&slot->number, number + 2, memory_order_release);
}

static void live_begins(const struct gs_event *event, unsigned live_class)
{
	struct gs_ring_live *slot = live_room(event->address, live_class);

	if (slot != NULL)
		live_write(slot, event, live_class);
	else
		atomic_fetch_add_explicit(&header->live_lost, 1, memory_order_relaxed);
}

static void live_ends(const struct gs_event *event, unsigned live_class, uint64_t born_ns)
{
	struct gs_ring_live *slot = live_find(event->address, live_class);

	if (slot != NULL && atomic_load_explicit(&slot->time_ns, memory_order_relaxed) == born_ns)
		live_write(slot, event, GS_RING_GONE);
}

static void live_follow(const struct gs_event *event, uint64_t born_ns)
{
	switch ((enum gs_event_type)event->type) {
	case GS_EVENT_ALLOC:
		live_begins(event, GS_RING_BLOCK);
		break;
	case GS_EVENT_FREE:
		live_ends(event, GS_RING_BLOCK, born_ns);
		break;
	case GS_EVENT_TENSOR_ALLOC:
		live_begins(event, GS_RING_LIVE + GS_LIVE_TENSOR);
		break;
	case GS_EVENT_TENSOR_FREE:
		live_ends(event, GS_RING_LIVE + GS_LIVE_TENSOR, born_ns);
		break;
	case GS_EVENT_HOST_ALLOC:
		live_begins(event, GS_RING_LIVE + GS_LIVE_HOST);
		break;
	case GS_EVENT_HOST_FREE:
		live_ends(event, GS_RING_LIVE + GS_LIVE_HOST, born_ns);
		break;
	case GS_EVENT_DRIVER_ALLOC:
		live_begins(event, GS_RING_LIVE + GS_LIVE_DRIVER);
		break;
	case GS_EVENT_DRIVER_FREE:
		live_ends(event, GS_RING_LIVE + GS_LIVE_DRIVER, born_ns);
		break;
	default:
		break;
	}
}

void gs_kept_event(const struct gs_event *event, uint64_t born_ns)
{
	gsb_lock_acquire(&lock);
	if (event->stack >= atomic_load_explicit(&nodes_kept, memory_order_relaxed))
		texts_keep();
	if (event->device < GS_RING_DEVICES)
		device_keep(event->device);
	live_follow(event, born_ns);
	gsb_lock_release(&lock);
}

/* --- the file ---------------------------------------------------------------------------------------------------- */

static void text_copy(char *to, size_t capacity, const char *from)
{
	struct gsb_text text;

	gsb_text_init(&text, to, capacity);
	gsb_text_add(&text, "%s", from);
}

static void names_fill(void)
{
	static const char *const types[] = {
#define TYPE_NAME(name, key, text) key,
	    GS_EVENT_TYPES(TYPE_NAME)
#undef TYPE_NAME
	};
	static const char *const classes[] = {
#define CLASS_NAME(name, key, text) key,
	    GS_LIVE_CLASSES(CLASS_NAME)
#undef CLASS_NAME
	};
	_Static_assert(GS_EVENT_TYPE_COUNT <= GS_RING_NAMES && GS_LIVE_CLASS_COUNT <= GS_RING_NAMES, "room for names");

	header->type_count = GS_EVENT_TYPE_COUNT;
	header->class_count = GS_LIVE_CLASS_COUNT;
	for (unsigned i = 0; i < GS_EVENT_TYPE_COUNT; i++)
		text_copy(header->types[i], GS_RING_NAME_BYTES, types[i]);
	for (unsigned i = 0; i < GS_LIVE_CLASS_COUNT; i++)
		text_copy(header->classes[i], GS_RING_NAME_BYTES, classes[i]);
}

static void header_fill(uint64_t file_bytes, size_t event_slots, const struct gs_snapshot_process *process)
{
	char chars[GS_PATH_TEXT_BYTES];

	header->version = GS_RING_FILE_VERSION;
	header->header_bytes = sizeof(*header);
	header->file_bytes = file_bytes;
	header->events_at = page_up(sizeof(*header));
	header->event_slots = event_slots;
	header->live_at = header->events_at + page_up(event_slots * sizeof(struct gs_ring_slot));
	header->live_slots = LIVE_SLOTS;
	header->texts_at = header->live_at + LIVE_SLOTS * sizeof(struct gs_ring_live);
	header->texts_bytes = TEXT_BYTES;
	header->start_wall_ns = process->start_wall_ns;
	header->start_monotonic_ns = process->start_monotonic_ns;
	header->rank = process->rank;
	header->pid = process->pid;
	header->ppid = process->ppid;
	names_fill();
	text_copy(header->program, sizeof(header->program), GPUSHIM_VERSION);
	text_copy(header->hostname, sizeof(header->hostname), process->hostname);
	text_copy(header->executable, sizeof(header->executable), gs_path_shown(process->executable, &paths, chars));
	text_copy(header->folder, sizeof(header->folder), gs_path_shown(process->folder, &paths, chars));
	text_copy(header->conf, sizeof(header->conf), paths.mode == GS_PATHS_FULL ? process->conf_text : "");
}

/* All blocks at once, or nothing: no emulation that writes them one by one. */
static void *file_map(const char *path, uint64_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	void *pages = MAP_FAILED;

	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return NULL;
	if (fallocate(fd, 0, 0, (off_t)bytes) == 0)
		pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		unlink(path);
	close(fd);
	return pages != MAP_FAILED ? pages : NULL;
}

struct gs_ring_slot *gs_kept_start(const char *path, size_t event_slots, const struct gs_snapshot_process *process,
				   const struct gs_paths *shown)
{
	uint64_t bytes = page_up(sizeof(*header)) + page_up(event_slots * sizeof(struct gs_ring_slot)) +
			 LIVE_SLOTS * sizeof(struct gs_ring_live) + TEXT_BYTES;
	struct gsb_os_held_signals held;
	int saved_errno = errno;

	gsb_os_write_signals_hold(&held);
	header = file_map(path, bytes);
	gsb_os_write_signals_restore(&held);
	errno = saved_errno;
	if (header == NULL) {
		gsb_log(GSB_LOG_WARN, "snapshot:kill has no effect: no room for %s", path);
		return NULL;
	}
	paths = *shown;
	text_copy(file_path, sizeof(file_path), path);
	header_fill(bytes, event_slots, process);
	live = (struct gs_ring_live *)((char *)header + header->live_at);
	texts = (char *)header + header->texts_at;
	atomic_store_explicit(&header->magic, GS_RING_FILE_MAGIC, memory_order_release);
	gs_kept_on = true;
	return (struct gs_ring_slot *)((char *)header + header->events_at);
}

void gs_kept_end(void)
{
	int saved_errno = errno;

	if (gs_kept_on)
		unlink(file_path);
	errno = saved_errno;
}

void gs_kept_reset_locks(void)
{
	gsb_lock_reset(&lock);
	gs_kept_on = false;
}
