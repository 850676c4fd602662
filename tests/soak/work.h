/* What streams do with buffers: kernels, copies, memsets, host functions, digests; and what the host reads back. */
#ifndef SOAK_WORK_H
#define SOAK_WORK_H

#include "tests/soak/buffer.h"

/* Where digests of freed buffers go, in the order in which they were asked for; printed at the end. */
void results_start(void);
void results_print(void);

/* Gives all words contents, on the stream. */
void work_init(struct buffer *buffer, int stream);

/* The contents go to the results, on the stream. */
void work_digest(struct buffer *buffer, int stream);

/* Fills memory that is no buffer, and digests it; NULL: what the digest would have been. */
void work_digest_fill(uint32_t *words, uint64_t count, uint32_t salt, int stream);

void work_mix(int stream);
void work_copy(int stream);
void work_set(int stream);
void work_host_function(int stream);
void work_delay(int stream);

/* The host reads a buffer back, or a part of it, and prints a digest. */
void work_check(int stream);

/* A copy to pinned memory that nobody waits for but the cudaFree of something else. */
void work_copy_then_free(int stream);

/* Temporaries, made, used and freed over and over on few streams. */
void work_churn(int stream);

/* A loop of launches, with the same arguments or with others each time. */
void work_loop(int stream);

/* Streams that frees keep in order by the rules of the legacy default stream, and nothing else does. */
void work_legacy(int stream);

/* The host touches memory that it shares with the device. */
void work_on_host(int stream);

/* The host watches a word of pinned memory until a kernel has written it. */
void work_handshake(int stream);

#endif
