/* See output.h. A file is written under another name in its folder first. */
#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

#include "report/command.h"
#include "shim/base/err.h"

static struct {
	FILE *file; /* NULL = standard output */
	const char *path;
	char *part; /* NULL = written in place: no regular file */
	bool force;
	FILE *program_stdout;
} output;

static int complain(const char *path, const char *why)
{
	fprintf(stderr, "gpushim-report: %s: %s\n", path, why);
	return GS_E_IO;
}

static ssize_t packed_write(void *gz, const char *bytes, size_t length)
{
	return gzwrite(gz, bytes, length > 1u << 30 ? 1u << 30 : (unsigned)length);
}

static int packed_close(void *gz)
{
	return gzclose(gz) == Z_OK ? 0 : EOF;
}

static FILE *stream_open(int fd, bool packed)
{
	static const cookie_io_functions_t functions = {.write = packed_write, .close = packed_close};
	gzFile gz;

	if (!packed)
		return fdopen(fd, "w");
	gz = gzdopen(fd, "wb");
	return gz != NULL ? fopencookie(gz, "w", functions) : NULL;
}

mode_t gsr_output_mode(char *const *inputs, int count)
{
	mode_t mode = 0666;
	struct stat info;

	for (int i = 0; i < count; i++)
		if ((strcmp(inputs[i], "-") == 0 ? fstat(STDIN_FILENO, &info) : stat(inputs[i], &info)) == 0 && S_ISREG(info.st_mode))
			mode &= info.st_mode;
	return mode;
}

int gsr_output_open(const char *path, bool force, mode_t mode)
{
	size_t length = path != NULL ? strlen(path) : 0;
	bool there, failed = false;
	struct stat info;
	int fd;

	if (path == NULL || strcmp(path, "-") == 0)
		return 0;
	output.path = path;
	output.force = force;
	there = stat(path, &info) == 0;
	if (there && !S_ISREG(info.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
	} else if (there && !force) {
		return complain(path, "there is such a file; -f replaces it");
	} else {
		if (asprintf(&output.part, "%s.part%d", path, (int)getpid()) < 0)
			abort();
		fd = open(output.part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, there ? 0600 : mode | S_IWUSR);
		failed = fd >= 0 && there && fchmod(fd, info.st_mode & 0777) != 0;
	}
	output.file = fd >= 0 && !failed ? stream_open(fd, length > 3 && strcmp(path + length - 3, ".gz") == 0) : NULL;
	if (output.file == NULL) {
		int error = errno;

		if (fd >= 0)
			close(fd);
		if (failed)
			unlink(output.part);
		free(output.part);
		output.part = NULL;
		return complain(path, strerror(error));
	}
	output.program_stdout = stdout;
	stdout = output.file;
	return 0;
}

int gsr_output_differs(const char *path, const char *input)
{
	struct stat of_output, of_input;

	if (path == NULL || stat(path, &of_output) != 0 || stat(input, &of_input) != 0 || !S_ISREG(of_input.st_mode) ||
	    of_output.st_dev != of_input.st_dev || of_output.st_ino != of_input.st_ino)
		return 0;
	return complain(path, "is also what is to be read: give another name");
}

/* Gives the file its name. Without force it must not replace what came there meanwhile. */
static int name_give(void)
{
	int error = 0;

	if (output.force) {
		if (rename(output.part, output.path) != 0)
			error = errno;
	} else if (link(output.part, output.path) == 0) {
		unlink(output.part);
	} else if (errno == EEXIST) {
		error = EEXIST;
	} else if (rename(output.part, output.path) != 0) { /* a file system without links */
		error = errno;
	}
	if (error != 0) {
		unlink(output.part);
		complain(output.path, error == EEXIST ? "there is such a file; -f replaces it" : strerror(error));
	}
	return error;
}

int gsr_output_close(int status)
{
	const char *name = output.file != NULL ? output.path : "standard output";
	bool failed;
	int error;

	errno = 0;
	failed = fflush(stdout) != 0 || ferror(stdout);
	error = errno;
	if (output.file != NULL) {
		stdout = output.program_stdout;
		if (fclose(output.file) != 0) {
			failed = true;
			error = error != 0 ? error : errno;
		}
		output.file = NULL;
		if (output.part != NULL && (failed || status == GSR_UNUSABLE))
			unlink(output.part);
		else if (output.part != NULL && name_give() != 0)
			status = GSR_UNUSABLE;
		free(output.part);
		output.part = NULL;
	}
	if (!failed)
		return status;
	complain(name, error != 0 ? strerror(error) : "cannot be written");
	return GSR_UNUSABLE;
}

/* --- progress ---------------------------------------------------------------------------------------------------- */

static struct {
	bool shown;
	double start, last; /* seconds; 0 = not started */
} progress;

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void gsr_progress(const char *what, const char *name, double share)
{
	double now = seconds_now();

	if (progress.start == 0)
		progress.start = progress.last = now;
	if (now - progress.start < 0.5 || now - progress.last < 0.1 || !isatty(STDERR_FILENO))
		return;
	progress.last = now;
	progress.shown = true;
	fprintf(stderr, "\r%s %s: %.0f %%\033[K", what, name, share * 100);
	fflush(stderr);
}

void gsr_progress_end(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
	progress.start = 0;
}
