/* See file.h.
 *
 * There is no fsync: a snapshot must not stall a program for seconds, and a machine that crashes between rename and
 * write-back is not worth that. */
#include "shim/snap/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/snap/render.h"
#include "shim/snap/snapshot.h"

/* strerror uses the heap and the locale. */
static const char *errno_text(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "permission denied";
	case ENOENT:
		return "no such folder";
	case ENOTDIR:
		return "not a folder";
	case ENOSPC:
	case EDQUOT:
		return "no space left";
	case EFBIG:
		return "file size limit reached";
	case EISDIR:
		return "a folder has that name";
	case EROFS:
		return "read-only file system";
	case ENAMETOOLONG:
		return "name too long";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	default:
		return "input or output error";
	}
}

/* 0, or errno. */
static int document_write(int fd, const char *reason, const struct gs_snapshot_process *process,
			  const struct gs_gathered *gathered, const struct gs_snapshot_source *source, char *buffer)
{
	struct gsb_os_held_signals held;
	struct gs_json json;
	int error = 0;

	gsb_os_write_signals_hold(&held);
	gs_json_init(&json, fd, buffer, GS_SNAPSHOT_BUFFER_BYTES);
	gs_render(&json, reason, process, gathered, source);
	if (gs_json_end(&json) != 0)
		error = json.error;
	gsb_os_write_signals_restore(&held);
	return error;
}

/* Off the numbers of the standard streams, which other threads may still write to after the program closed one. */
static int fd_move_up(int fd)
{
	int moved;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (moved < 0)
		return fd;
	close(fd);
	return moved;
}

/* A leftover of a killed process of the same number is replaced; whatever it is, it is never followed or opened. */
static int part_open(const char *path)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	int fd = open(path, flags, 0600);

	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = open(path, flags, 0600);
	return fd_move_up(fd);
}

/* 0, or errno. */
static int file_write(const char *path, const char *reason, const struct gs_snapshot_process *process,
		      const struct gs_gathered *gathered, const struct gs_snapshot_source *source, char *buffer)
{
	static char part[GS_SNAPSHOT_PATH_BYTES + 8]; /* as in path_out.c */
	struct gsb_text text;
	int fd, error;

	gsb_text_init(&text, part, sizeof(part));
	gsb_text_add(&text, "%s.part", path);
	if (text.cut)
		return ENAMETOOLONG;
	fd = part_open(part);
	if (fd < 0)
		return errno;
	error = document_write(fd, reason, process, gathered, source, buffer);
	if (close(fd) != 0 && error == 0)
		error = errno;
	if (error == 0 && rename(part, path) != 0)
		error = errno;
	if (error != 0)
		unlink(part);
	return error;
}

int gs_snapshot_file_write(const char *path, const char *reason, struct gs_snapshot_process *process,
			   const struct gs_snapshot_source *source, char *buffer)
{
	struct gs_gathered gathered;
	int saved_errno = errno, error;

	if (gs_gather(&gathered, source) != 0) {
		gsb_log(GSB_LOG_ERROR, "no snapshot %s: out of host memory", path);
		return GS_E_NO_HOST_MEMORY;
	}
	source->process_read(process);
	error = file_write(path, reason, process, &gathered, source, buffer);
	gs_gather_drop(&gathered);
	errno = saved_errno;
	if (error == 0)
		return 0;
	gsb_log(GSB_LOG_ERROR, "no snapshot %s: %s", path, errno_text(error));
	return GS_E_IO;
}
