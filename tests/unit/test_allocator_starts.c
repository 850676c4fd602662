/* From addresses to blocks, against a scan of the chain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "allocator/starts.h"
#include "allocator/types.h"
#include "shim/base/err.h"
#include "tests/lib/gsa_blocks.h"

#define BASE 0x700000000000ull

static struct gsa_block *scan(struct gsa_block *first, uint64_t address)
{
	while (gsa_block_end(first) <= address)
		first = first->next;
	return first;
}

static struct gsa_block *cut(struct gsa_starts *starts, struct gsa_block *block, uint64_t size_bytes)
{
	struct gsa_block *rear = blocks_new(1);

	rear->address = block->address + size_bytes;
	rear->size_bytes = block->size_bytes - size_bytes;
	rear->prev = block;
	rear->next = block->next;
	if (rear->next != NULL)
		rear->next->prev = rear;
	block->next = rear;
	block->size_bytes = size_bytes;
	gsa_starts_add(starts, rear);
	return rear;
}

static void merge(struct gsa_starts *starts, struct gsa_block *block)
{
	struct gsa_block *rear = block->next;

	gsa_starts_drop(starts, rear);
	block->size_bytes += rear->size_bytes;
	block->next = rear->next;
	if (block->next != NULL)
		block->next->prev = block;
	free(rear);
}

static void random_chain(uint64_t size_bytes, unsigned shift, unsigned rounds)
{
	struct gsa_block *first = blocks_new(1);
	struct gsa_starts starts;

	srandom(11);
	assert_int_equal(gsa_starts_init(&starts, BASE, size_bytes, shift), GS_OK);
	*first = (struct gsa_block){.address = BASE, .size_bytes = size_bytes};
	gsa_starts_add(&starts, first);
	for (unsigned round = 0; round < rounds; round++) {
		uint64_t at = BASE + ((uint64_t)random() << 20 ^ (uint64_t)random() << 3) % size_bytes;
		struct gsa_block *block = scan(first, at);

		assert_ptr_equal(gsa_starts_find(&starts, at), block);
		if (random() % 2 != 0 && at % 512 != at - block->address && block->size_bytes > 512 &&
		    at > block->address + 511)
			cut(&starts, block, (at - block->address) / 512 * 512);
		else if (block->next != NULL)
			merge(&starts, block);
		at = BASE + ((uint64_t)random() << 20) % size_bytes;
		assert_ptr_equal(gsa_starts_find(&starts, at), scan(first, at));
		assert_ptr_equal(gsa_starts_find(&starts, BASE), first);
		assert_ptr_equal(gsa_starts_find(&starts, BASE + size_bytes - 1), scan(first, BASE + size_bytes - 1));
	}
	while (first->next != NULL)
		merge(&starts, first);
	assert_ptr_equal(gsa_starts_find(&starts, BASE + size_bytes / 2), first);
	gsa_starts_fini(&starts);
	free(first);
}

static void a_large_range(void **state)
{
	(void)state;
	random_chain(280ull << 30, 16, 4000);
}

/* The small pool of a device of 192 GiB: more than 2^24 units. */
static void a_large_range_of_small_units(void **state)
{
	(void)state;
	random_chain(96ull << 30, 12, 4000);
}

static void a_small_range_with_many_blocks_in_a_unit(void **state)
{
	(void)state;
	random_chain(1ull << 20, 12, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_large_range),
	    cmocka_unit_test(a_large_range_of_small_units),
	    cmocka_unit_test(a_small_range_with_many_blocks_in_a_unit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("allocator starts", tests, NULL, NULL);
}
