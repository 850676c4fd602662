/* See process.h. */
#include "shim/snap/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shim/base/os.h"
#include "shim/base/text.h"

/* A rank becomes part of a file name, so nothing but a few digits is taken. */
static int64_t rank_read(void)
{
	static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = getenv(names[i]);
		int64_t rank = 0;
		unsigned digits = 0;

		while (text != NULL && text[digits] >= '0' && text[digits] <= '9' && digits < 9)
			rank = rank * 10 + (text[digits++] - '0');
		if (digits > 0 && text[digits] == '\0')
			return rank;
	}
	return -1;
}

static void copy(char *to, size_t capacity, const char *from)
{
	struct gsb_text text;

	gsb_text_init(&text, to, capacity);
	gsb_text_add(&text, "%s", from != NULL ? from : "");
}

void gs_snapshot_process_start(struct gs_snapshot_process *process)
{
	int saved_errno = errno;

	process->start_wall_ns = gsb_os_wall_ns();
	process->start_monotonic_ns = gsb_os_now_ns();
	process->rank = rank_read();
	/* A folder outside of the root, as after chroot alone, has no path; the system says so in its place. */
	if (syscall(SYS_getcwd, process->folder, sizeof(process->folder)) < 0 || process->folder[0] != '/')
		process->folder[0] = '\0';
	copy(process->conf_text, sizeof(process->conf_text), getenv("GPUSHIM_ALLOC_CONF"));
	errno = saved_errno;
}

void gs_snapshot_process_read(struct gs_snapshot_process *process)
{
	struct utsname names;
	int saved_errno = errno;
	ssize_t length;
	long bytes;

	process->dump_wall_ns = gsb_os_wall_ns();
	process->dump_monotonic_ns = gsb_os_now_ns();
	process->pid = (uint32_t)getpid();
	process->ppid = (uint32_t)getppid();
	copy(process->hostname, sizeof(process->hostname), uname(&names) == 0 ? names.nodename : "");
	length = readlink("/proc/self/exe", process->executable, sizeof(process->executable) - 1);
	process->executable[length < 0 ? 0 : length] = '\0';
	bytes = gsb_os_read_file("/proc/self/cmdline", process->command, sizeof(process->command));
	process->command_bytes = bytes < 0 ? 0 : (size_t)bytes;
	errno = saved_errno;
}

struct linux_dirent64 {
	uint64_t inode;
	int64_t next;
	unsigned short length;
	unsigned char type;
	char name[];
};

static void thread_name_read(struct gs_snapshot_thread *thread)
{
	char path[64];
	struct gsb_text text;
	long length;

	gsb_text_init(&text, path, sizeof(path));
	gsb_text_add(&text, "/proc/self/task/%u/comm", thread->tid);
	length = gsb_os_read_file(path, thread->name, sizeof(thread->name));
	if (length > 0 && thread->name[length - 1] == '\n')
		thread->name[length - 1] = '\0';
	else if (length <= 0)
		thread->name[0] = '\0';
}

size_t gs_snapshot_threads_read(struct gs_snapshot_thread *threads, size_t capacity)
{
	_Alignas(struct linux_dirent64) char entries[2048];
	int saved_errno = errno;
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t count = 0;
	long bytes;

	while (fd >= 0 && (bytes = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < bytes;) {
			const struct linux_dirent64 *entry = (const struct linux_dirent64 *)(entries + at);
			uint32_t tid = 0;

			at += entry->length;
			for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; digit++)
				tid = tid * 10 + (uint32_t)(*digit - '0');
			if (tid == 0)
				continue;
			if (count < capacity) {
				threads[count].tid = tid;
				thread_name_read(&threads[count]);
			}
			count++;
		}
	}
	if (fd >= 0)
		close(fd);
	errno = saved_errno;
	return count;
}
