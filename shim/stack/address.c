/* See address.h. */
#include "shim/stack/address.h"

#include "shim/base/err.h"
#include "shim/stack/intern.h"
#include "shim/stack/module.h"
#include "shim/stack/table.h"

static struct gs_table addresses = GS_TABLE_INIT(struct gs_address, 1u << 18);

static bool address_same(const void *item, const void *key)
{
	const struct gs_address *address = item, *wanted = key;

	return address->address == wanted->address && address->generation == wanted->generation;
}

int gs_address_find(uint64_t address, uint32_t generation, struct gs_address *ret_address, bool *ret_lasting)
{
	struct gs_address wanted = {.address = address, .generation = generation};
	struct gs_frame frame = {.kind = GS_FRAME_NATIVE};
	uint32_t hash = gs_hash(address, generation), number;
	uint64_t base;
	int error;

	if (gs_table_find(&addresses, hash, address_same, &wanted, &number)) {
		*ret_address = *(const struct gs_address *)gs_table_at(&addresses, number);
		*ret_lasting = true;
		return GS_OK;
	}
	gs_module_refresh();
	/* The byte before: after a call that does not return, the next one may belong to somebody else. */
	frame.file = gs_module_of(address - 1, &base);
	frame.offset = address - base;
	error = gs_frame_intern(&frame, &wanted.frame);
	if (error != GS_OK)
		return error;
	if (frame.file != 0) {
		wanted.cfi = gs_cfi_at(address);
		gs_table_intern(&addresses, hash, address_same, &wanted, &number);
	}
	*ret_address = wanted;
	*ret_lasting = frame.file != 0;
	return GS_OK;
}
