/* See channel.h. */
#include "shim/ipc/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/err.h"
#include "shim/base/os.h"
#include "shim/base/text.h"
#include "shim/ipc/handle.h"

#define LOWEST_FD 128 /* the listening socket stays; small numbers are for the program */

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * GS_IPC_BATCH)];
};

/* The name "\0gpushim.<pid>.<nonce>"; returns the length of the address. */
static socklen_t address_of(struct sockaddr_un *address, uint32_t pid, uint64_t nonce)
{
	struct gsb_text text;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	gsb_text_init(&text, address->sun_path + 1, sizeof(address->sun_path) - 1);
	gsb_text_add(&text, "gpushim.%u.%llx", pid, (unsigned long long)nonce);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + text.length);
}

static int from_errno(int error)
{
	switch (error) {
	case EMFILE:
	case ENFILE:
	case ETOOMANYREFS:
		return GS_E_LIMIT;
	case ECONNREFUSED:
	case ECONNRESET:
	case EPIPE:
	case ENOENT:
		return GS_E_NOT_FOUND;
	default:
		return GS_E_IO;
	}
}

int gs_ipc_channel_listen(uint32_t pid, uint64_t nonce, int *ret_fd)
{
	struct sockaddr_un address;
	socklen_t length = address_of(&address, pid, nonce);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD) : -1;

	if (high >= 0) {
		close(fd);
		fd = high;
	}
	if (fd < 0)
		return from_errno(errno);
	if (bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, SOMAXCONN) != 0) {
		close(fd);
		return GS_E_IO;
	}
	*ret_fd = fd;
	return GS_OK;
}

static void sleep_1_ms(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int gs_ipc_channel_connect(uint32_t pid, uint64_t nonce, uint64_t deadline_ns, int *ret_fd)
{
	struct sockaddr_un address;
	socklen_t length = address_of(&address, pid, nonce);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = GS_OK;

	if (fd < 0)
		return from_errno(errno);
	while (connect(fd, (struct sockaddr *)&address, length) != 0) {
		if (errno != EAGAIN && errno != EINTR)
			error = from_errno(errno);
		else if (gsb_os_now_ns() >= deadline_ns)
			error = GS_E_BUSY;
		if (error != GS_OK) {
			close(fd);
			return error;
		}
		sleep_1_ms(); /* more openers than the exporter's queue holds */
	}
	*ret_fd = fd;
	return GS_OK;
}

int gs_ipc_channel_check_peer(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != geteuid())
		return GS_E_FORBIDDEN;
	return GS_OK;
}

static int wait_ready(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd ready = {.fd = fd, .events = events};
		uint64_t now = gsb_os_now_ns();
		int count;

		if (now >= deadline_ns)
			return GS_E_BUSY;
		count = poll(&ready, 1, (int)((deadline_ns - now) / 1000000 + 1));
		if (count > 0)
			return GS_OK;
		if (count < 0 && errno != EINTR)
			return GS_E_IO;
	}
}

int gs_ipc_channel_send(int fd, const void *packet, size_t packet_bytes, const int *fds, size_t fd_count,
			uint64_t deadline_ns)
{
	struct iovec part = {.iov_base = (void *)packet, .iov_len = packet_bytes};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control;

	if (fd_count > 0) {
		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * fd_count);
	}
	for (;;) {
		int error = wait_ready(fd, POLLOUT, deadline_ns);

		if (error != GS_OK)
			return error;
		if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)packet_bytes)
			return GS_OK;
		if (errno != EAGAIN && errno != EINTR)
			return from_errno(errno);
	}
}

/* Takes the descriptors out of a message; returns how many there are. */
static size_t take_fds(struct msghdr *message, int *fds, size_t capacity)
{
	size_t count = 0;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, (char *)part + at, sizeof(fd));
			if (count < capacity)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	return count;
}

int gs_ipc_channel_receive(int fd, void *packet, size_t packet_bytes, int *fds, size_t capacity, size_t *ret_count,
			   uint64_t deadline_ns)
{
	struct iovec part = {.iov_base = packet, .iov_len = packet_bytes};
	union control control;
	struct msghdr message;
	ssize_t got;
	size_t count;

	do {
		int error = wait_ready(fd, POLLIN, deadline_ns);

		if (error != GS_OK)
			return error;
		message = (struct msghdr){
			.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control),
		};
		got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (got < 0 && (errno == EAGAIN || errno == EINTR));
	if (got <= 0)
		return got == 0 ? GS_E_NOT_FOUND : from_errno(errno);
	count = take_fds(&message, fds, capacity);
	if ((size_t)got != packet_bytes || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
		gs_ipc_close_all(fds, count);
		return (message.msg_flags & MSG_CTRUNC) != 0 ? GS_E_LIMIT : GS_E_IO;
	}
	*ret_count = count;
	return GS_OK;
}

void gs_ipc_close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}
