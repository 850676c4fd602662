/* The devices of the process and their allocators, as seen by readers: the snapshot and the statistics call. */
#ifndef GS_CORE_DEVICE_H
#define GS_CORE_DEVICE_H

#include <stdint.h>

struct gsa;

struct gs_device_info {
	int ordinal;
	char name[128];
	unsigned char uuid[16];
	uint64_t total_bytes;
	struct gsa *allocator; /* NULL until used */
};

int gs_device_count(void);

/* 0, or GS_E_NOT_FOUND. Makes no driver call: works while the process exits. */
int gs_device_read(int index, struct gs_device_info *ret_info);

#endif
