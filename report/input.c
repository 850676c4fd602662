/* See input.h. */
#include "report/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "shim/base/err.h"

#define FIRST_BYTES (1u << 16)
#define PIECE_BYTES (1u << 30) /* given to zlib at once */

struct bytes {
	char *start;
	size_t length, capacity;
};

static int bytes_room(struct bytes *bytes)
{
	size_t capacity = bytes->capacity < FIRST_BYTES ? FIRST_BYTES : bytes->capacity * 2;
	char *start;

	if (bytes->length < bytes->capacity)
		return 0;
	start = realloc(bytes->start, capacity);
	if (start == NULL)
		return GS_E_NO_HOST_MEMORY;
	bytes->start = start;
	bytes->capacity = capacity;
	return 0;
}

static int fd_read(int fd, struct bytes *bytes, const char **ret_why)
{
	struct stat stat;

	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0) {
		bytes->start = malloc((size_t)stat.st_size + 1);
		bytes->capacity = bytes->start != NULL ? (size_t)stat.st_size + 1 : 0;
	}
	for (;;) {
		ssize_t got;

		if (bytes_room(bytes) != 0) {
			*ret_why = "out of memory";
			return GS_E_IO;
		}
		got = read(fd, bytes->start + bytes->length, bytes->capacity - bytes->length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			*ret_why = strerror(errno);
			return GS_E_IO;
		}
		if (got == 0)
			return 0;
		bytes->length += (size_t)got;
	}
}

/* 0, or a status of zlib. */
static int inflate_all(z_stream *stream, const struct bytes *packed, struct bytes *unpacked)
{
	size_t given = 0;
	int status = Z_OK;

	while (status == Z_OK) {
		size_t room;

		if (stream->avail_in == 0 && given < packed->length) {
			size_t left = packed->length - given;

			stream->next_in = (Bytef *)packed->start + given;
			stream->avail_in = left > PIECE_BYTES ? PIECE_BYTES : (uInt)left;
			given += stream->avail_in;
		}
		if (bytes_room(unpacked) != 0)
			return Z_MEM_ERROR;
		room = unpacked->capacity - unpacked->length;
		stream->next_out = (Bytef *)unpacked->start + unpacked->length;
		stream->avail_out = room > PIECE_BYTES ? PIECE_BYTES : (uInt)room;
		room = stream->avail_out;
		status = inflate(stream, Z_NO_FLUSH);
		unpacked->length += room - stream->avail_out;
		if (status == Z_BUF_ERROR && (stream->avail_out == 0 || given < packed->length))
			status = Z_OK;
		/* gzip files may be joined end to end */
		if (status == Z_STREAM_END && (stream->avail_in > 0 || given < packed->length))
			status = inflateReset(stream);
	}
	return status == Z_STREAM_END ? 0 : status;
}

static int gzip_unpack(struct bytes *bytes, const char **ret_why)
{
	struct bytes unpacked = {0};
	z_stream stream = {0};
	int status;

	if (inflateInit2(&stream, 15 + 16) != Z_OK) {
		*ret_why = "out of memory";
		return GS_E_IO;
	}
	status = inflate_all(&stream, bytes, &unpacked);
	inflateEnd(&stream);
	if (status != 0) {
		free(unpacked.start);
		*ret_why = status == Z_MEM_ERROR   ? "out of memory"
			   : status == Z_BUF_ERROR ? "the gzipped file ends too early"
						   : "damaged gzip data";
		return GS_E_IO;
	}
	free(bytes->start);
	*bytes = unpacked;
	return 0;
}

int gsr_input_read(const char *path, char **ret_bytes, size_t *ret_length, const char **ret_why)
{
	struct bytes bytes = {0};
	int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int error;

	if (fd < 0) {
		*ret_why = strerror(errno);
		return GS_E_IO;
	}
	error = fd_read(fd, &bytes, ret_why);
	if (fd != STDIN_FILENO)
		close(fd);
	if (error == 0 && bytes.length >= 2 && memcmp(bytes.start, "\x1f\x8b", 2) == 0)
		error = gzip_unpack(&bytes, ret_why);
	if (error != 0) {
		free(bytes.start);
		return error;
	}
	*ret_bytes = bytes.start;
	*ret_length = bytes.length;
	return 0;
}
