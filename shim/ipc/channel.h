/* Packets with descriptors between two processes of one user, over an abstract socket: no file, no ptrace rights.
 *
 * Every call ends by its deadline (gsb_os_now_ns), whatever signals arrive: GS_E_BUSY. GS_E_NOT_FOUND: nobody is there,
 * or no longer. GS_E_LIMIT: no descriptors left. All descriptors are close-on-exec. */
#ifndef GS_IPC_CHANNEL_H
#define GS_IPC_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

/* A socket that the process of this nonce can be reached by. */
int gs_ipc_channel_listen(uint32_t pid, uint64_t nonce, int *ret_fd);

int gs_ipc_channel_connect(uint32_t pid, uint64_t nonce, uint64_t deadline_ns, int *ret_fd);

/* GS_OK when the other end belongs to the same user; GS_E_FORBIDDEN. */
int gs_ipc_channel_check_peer(int fd);

int gs_ipc_channel_send(int fd, const void *packet, size_t packet_bytes, const int *fds, size_t fd_count,
			uint64_t deadline_ns);

/* A packet of exactly this size, with at most capacity descriptors; anything else is GS_E_IO and leaves no descriptor
 * open. */
int gs_ipc_channel_receive(int fd, void *packet, size_t packet_bytes, int *fds, size_t capacity, size_t *ret_count,
			   uint64_t deadline_ns);

void gs_ipc_close_all(const int *fds, size_t count);

#endif
