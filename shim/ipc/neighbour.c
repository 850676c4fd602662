/* See neighbour.h. They are found as gpushim-report finds them (report/live.h): by the memory file in /proc/<pid>/fd.
 * Nothing here uses the program's heap, so folders are read by the system's own call. */
#include "shim/ipc/neighbour.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report/live.h"
#include "shim/base/os.h"

#define NEIGHBOURS_MAX 32
#define SEARCH_NS 50000000ull  /* for the search, on a machine with very many processes */
#define ANSWER_NS 100000000ull /* for their answers, and once one is there, for the others */
#define ANSWERED_NS 10000000ull
#define PAUSE_NS 1000000000ull /* after nobody has answered */

struct entry { /* as the kernel writes it */
	uint64_t inode;
	int64_t offset;
	uint16_t entry_bytes;
	uint8_t type;
	char name[];
};

struct neighbour {
	struct gs_live_page *page;
	uint64_t answers; /* before it was asked */
	uint32_t rows;	  /* of its devices that are the one */
};

struct search {
	const unsigned char *uuid;
	struct neighbour found[NEIGHBOURS_MAX];
	size_t count;
	uint64_t deadline_ns;
	int pid; /* whose folder is read */
	int processes, files;
};

/* Calls visit for each number in the folder, until it returns false. */
static void walk_numbers(int folder, bool (*visit)(struct search *, const char *name), struct search *search)
{
	_Alignas(struct entry) char buffer[1024]; /* threads may have little stack */
	long bytes;

	while ((bytes = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < bytes;) {
			const struct entry *entry = (const struct entry *)(buffer + at);

			at += entry->entry_bytes;
			if (entry->name[0] >= '0' && entry->name[0] <= '9' && !visit(search, entry->name))
				return;
		}
}

/* 0: it does not use the device. */
static uint32_t rows_of(const struct search *search, const struct gs_live_page *page)
{
	static const unsigned char unknown[16];
	uint32_t rows = 0, count = atomic_load(&page->used_count);

	if (memcmp(search->uuid, unknown, sizeof(unknown)) == 0)
		return 0;
	for (uint32_t row = 0; row < count && row < GS_LIVE_DEVICES_MAX; row++)
		if (memcmp(page->used[row].uuid, search->uuid, sizeof(page->used[row].uuid)) == 0)
			rows |= 1u << row;
	return rows;
}

static void keep_page(struct search *search, int fd)
{
	struct gs_live_page *page = MAP_FAILED;
	struct stat info;
	uint32_t rows;

	if (fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(*page))
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return;
	if (page->magic != GS_LIVE_MAGIC || page->version != GS_LIVE_VERSION || page->pid != (uint32_t)search->pid ||
	    (rows = rows_of(search, page)) == 0) {
		munmap(page, sizeof(*page));
		return;
	}
	search->found[search->count++] =
		(struct neighbour){.page = page, .answers = atomic_load(&page->answers), .rows = rows};
}

static bool look_at_file(struct search *search, const char *name)
{
	static const char wanted[] = "/memfd:" GS_LIVE_NAME;
	char link[sizeof(wanted)];
	int fd;

	if (readlinkat(search->files, name, link, sizeof(link) - 1) != (ssize_t)sizeof(wanted) - 1 ||
	    memcmp(link, wanted, sizeof(wanted) - 1) != 0)
		return true;
	fd = openat(search->files, name, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		keep_page(search, fd);
		close(fd);
	}
	return false;
}

static bool look_at_process(struct search *search, const char *name)
{
	char path[32];
	size_t length = strlen(name);

	search->pid = atoi(name);
	if (search->pid == getpid() || length + sizeof("/fd") > sizeof(path))
		return true;
	memcpy(path, name, length);
	memcpy(path + length, "/fd", sizeof("/fd"));
	search->files = openat(search->processes, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (search->files >= 0) {
		walk_numbers(search->files, look_at_file, search);
		close(search->files);
	}
	return search->count < NEIGHBOURS_MAX && gsb_os_now_ns() < search->deadline_ns;
}

static size_t count_answers(const struct search *search)
{
	size_t count = 0;

	for (size_t i = 0; i < search->count; i++)
		count += atomic_load(&search->found[i].page->answers) != search->found[i].answers;
	return count;
}

static bool ask(struct search *search)
{
	uint64_t deadline_ns = gsb_os_now_ns() + ANSWER_NS;
	size_t answers = 0, before;

	for (size_t i = 0; i < search->count; i++) {
		atomic_fetch_or(&search->found[i].page->purge, search->found[i].rows);
		atomic_fetch_or(&search->found[i].page->wanted, GS_LIVE_PURGE);
		atomic_store(&search->found[i].page->due_ticks, 0);
	}
	while (answers < search->count && gsb_os_now_ns() < deadline_ns) {
		gsb_os_nap();
		before = answers;
		answers = count_answers(search);
		if (before == 0 && answers > 0)
			deadline_ns = gsb_os_now_ns() + ANSWERED_NS;
	}
	return answers > 0;
}

bool gs_neighbours_purge(const unsigned char uuid[16])
{
	static _Atomic uint64_t pause_ns; /* until then it is not tried again */
	uint64_t now_ns = gsb_os_now_ns();
	struct search search = {.uuid = uuid, .deadline_ns = now_ns + SEARCH_NS};
	int saved_errno = errno, cancel;
	bool answered = false;

	if (now_ns < atomic_load(&pause_ns))
		return false;
	cancel = gsb_os_cancel_hold();
	search.processes = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (search.processes >= 0) {
		walk_numbers(search.processes, look_at_process, &search);
		close(search.processes);
		answered = ask(&search);
	}
	for (size_t i = 0; i < search.count; i++)
		munmap(search.found[i].page, sizeof(*search.found[i].page));
	gsb_os_cancel_restore(cancel);
	errno = saved_errno;
	if (!answered)
		atomic_store(&pause_ns, gsb_os_now_ns() + PAUSE_NS);
	return answered;
}
