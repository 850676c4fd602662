/* Stand-in for libc10.so: see torch.h. */
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/sim/torch/torch.h"

struct heard {
	_Atomic unsigned long calls;
	_Atomic int64_t live_bytes;
};

extern struct heard c10_heard[2];
extern c10_cpu_malloc_fn c10_cpu_malloc;
extern c10_cpu_free_fn c10_cpu_free;
extern c10_report_fn c10_report_unsigned __asm__(C10_REPORT_UNSIGNED);
extern c10_report_fn c10_report_signed __asm__(C10_REPORT_SIGNED);

struct heard c10_heard[2];

static void hear(struct heard *heard, int64_t size_bytes, struct c10_device device)
{
	atomic_fetch_add(&heard->calls, 1);
	if (device.type == 1)
		atomic_fetch_add(&heard->live_bytes, size_bytes);
}

void c10_report_unsigned(void *pointer, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
			 struct c10_device device)
{
	(void)pointer, (void)allocated_bytes, (void)reserved_bytes;
	hear(&c10_heard[0], size_bytes, device);
}

void c10_report_signed(void *pointer, int64_t size_bytes, size_t allocated_bytes, size_t reserved_bytes,
		       struct c10_device device)
{
	(void)pointer, (void)allocated_bytes, (void)reserved_bytes;
	hear(&c10_heard[1], size_bytes, device);
}

void *c10_cpu_malloc(size_t size_bytes)
{
	void *memory = malloc(size_bytes);

	if (memory != NULL)
		c10_report_unsigned(memory, (int64_t)size_bytes, size_bytes, 0, (struct c10_device){.type = 0});
	return memory;
}

void c10_cpu_free(void *memory, size_t size_bytes)
{
	c10_report_unsigned(memory, -(int64_t)size_bytes, 0, 0, (struct c10_device){.type = 0});
	free(memory);
}
