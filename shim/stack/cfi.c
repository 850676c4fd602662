/* See cfi.h. Numbers and names are those of DWARF 5, section 6.4, and of the LSB for .eh_frame and .eh_frame_hdr. */
#include "shim/stack/cfi.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/elf.h"
#include "shim/base/err.h"

#define REMEMBERED_MAX 8 /* DW_CFA_remember_state within each other */

/* DW_EH_PE_: how pointers are written. */
#define ENC_ABSOLUTE 0x00
#define ENC_PCREL_SDATA4 0x1b
#define ENC_UDATA4 0x03
#define ENC_DATAREL_SDATA4 0x3b
#define ENC_FORMAT 0x0f
#define ENC_ALIGNED 0x50

enum { REG_BP = 6, REG_SP = 7, REG_RA = 16 }; /* as x86-64 numbers them */

#define OP_BREG_BP 0x76
#define OP_DEREF 0x06

enum where { UNSET, UNDEFINED, AT_CFA, AT_BP, ELSEWHERE };

struct rule {
	enum where where;
	int64_t offset;
};

struct row {
	uint64_t cfa_register; /* unless cfa_at_bp */
	int64_t cfa_offset;
	bool cfa_at_bp;
	bool cfa_lost; /* an expression of another kind */
	struct rule bp, sp, ra;
};

/* Bytes of one entry; past its end it reads zeros and says so. */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

/* What the entry of a function has in common with others (CIE). */
struct common {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses */
	bool augmented;
	struct reader program;
};

static uint64_t read_bytes(struct reader *reader, size_t count)
{
	uint64_t value = 0;

	if ((size_t)(reader->end - reader->at) < count) {
		reader->bad = true;
		reader->at = reader->end;
		return 0;
	}
	memcpy(&value, reader->at, count);
	reader->at += count;
	return value;
}

static uint64_t read_leb(struct reader *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_bytes(reader, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) != 0);
	if (is_signed && (byte & 0x40) != 0 && shift < 64)
		value |= ~0ull << shift;
	return value;
}

static uint64_t read_uleb(struct reader *reader)
{
	return read_leb(reader, false);
}

static int64_t read_sleb(struct reader *reader)
{
	return (int64_t)read_leb(reader, true);
}

static struct reader read_block(struct reader *reader)
{
	uint64_t length = read_uleb(reader);
	struct reader block = {reader->at, reader->at, reader->bad};

	if (length > (uint64_t)(reader->end - reader->at)) {
		reader->bad = block.bad = true;
		return block;
	}
	block.end = reader->at += length;
	return block;
}

static size_t encoded_bytes(uint8_t encoding)
{
	switch (encoding & ENC_FORMAT) {
	case 0x02:
	case 0x0a:
		return 2;
	case 0x03:
	case 0x0b:
		return 4;
	case 0x00:
	case 0x04:
	case 0x0c:
		return 8;
	default:
		return 0;
	}
}

/* The entry at this address, after its length. False: it lies outside the module or is none. */
static bool entry_open(const struct gsb_elf *elf, const uint8_t *at, struct reader *ret_entry)
{
	uint32_t length;

	if ((uintptr_t)at < elf->start || (uintptr_t)at > elf->end - sizeof(length))
		return false;
	memcpy(&length, at, sizeof(length));
	at += sizeof(length);
	if (length == 0 || length > elf->end - (uintptr_t)at)
		return false;
	*ret_entry = (struct reader){at, at + length, false};
	return true;
}

static bool augmentation_read(const char *letters, struct reader *reader, struct common *common)
{
	struct reader data;

	if (*letters == '\0')
		return true;
	if (*letters++ != 'z')
		return false;
	common->augmented = true;
	data = read_block(reader);
	for (; *letters != '\0'; letters++) {
		uint8_t encoding = (uint8_t)read_bytes(&data, 1);

		switch (*letters) {
		case 'R':
			common->encoding = encoding;
			break;
		case 'L':
			break;
		case 'P':
			if (encoding == ENC_ALIGNED || encoded_bytes(encoding) == 0)
				return false;
			read_bytes(&data, encoded_bytes(encoding));
			break;
		default: /* 'S': a signal frame; 'B': signed return addresses */
			return false;
		}
	}
	return !data.bad;
}

static bool common_read(const struct gsb_elf *elf, const uint8_t *at, struct common *common)
{
	struct reader reader;
	const char *letters;
	uint8_t version;

	*common = (struct common){.encoding = ENC_ABSOLUTE};
	if (!entry_open(elf, at, &reader) || read_bytes(&reader, 4) != 0)
		return false;
	version = (uint8_t)read_bytes(&reader, 1);
	letters = (const char *)reader.at;
	while (read_bytes(&reader, 1) != 0)
		;
	if (reader.bad || (version != 1 && version != 3))
		return false;
	common->code_align = read_uleb(&reader);
	common->data_align = read_sleb(&reader);
	if ((version == 1 ? read_bytes(&reader, 1) : read_uleb(&reader)) != REG_RA)
		return false;
	if (!augmentation_read(letters, &reader, common))
		return false;
	common->program = reader;
	return !reader.bad;
}

/* --- the program --- */

static struct rule *rule_of(struct row *row, uint64_t number)
{
	switch (number) {
	case REG_BP:
		return &row->bp;
	case REG_SP:
		return &row->sp;
	case REG_RA:
		return &row->ra;
	default:
		return NULL;
	}
}

static void rule_set(struct row *row, uint64_t number, enum where where, int64_t offset)
{
	struct rule *rule = rule_of(row, number);

	if (rule != NULL)
		*rule = (struct rule){where, offset};
}

static void cfa_set(struct row *row, uint64_t number, int64_t offset)
{
	row->cfa_register = number;
	row->cfa_offset = offset;
	row->cfa_at_bp = row->cfa_lost = false;
}

/* rbp + offset, and the word there if deref. */
static bool is_beside_bp(struct reader expression, bool deref, int64_t *ret_offset)
{
	if (read_bytes(&expression, 1) != OP_BREG_BP)
		return false;
	*ret_offset = read_sleb(&expression);
	if (deref && read_bytes(&expression, 1) != OP_DEREF)
		return false;
	return !expression.bad && expression.at == expression.end;
}

struct machine {
	const struct common *common;
	struct row row, initial;
	struct row remembered[REMEMBERED_MAX];
	unsigned depth;
	uint64_t passed; /* bytes of code */
};

static void restore(struct machine *machine, uint64_t number)
{
	struct rule *rule = rule_of(&machine->row, number);

	if (rule != NULL)
		*rule = *rule_of(&machine->initial, number);
}

static bool run_rare(struct machine *machine, uint8_t op, struct reader *reader)
{
	int64_t scale = machine->common->data_align, offset;
	struct row *row = &machine->row;
	struct reader expression;
	uint64_t number;

	switch (op) {
	case 0x05: /* offset_extended */
		number = read_uleb(reader);
		rule_set(row, number, AT_CFA, (int64_t)read_uleb(reader) * scale);
		return true;
	case 0x06: /* restore_extended */
		restore(machine, read_uleb(reader));
		return true;
	case 0x07: /* undefined */
		rule_set(row, read_uleb(reader), UNDEFINED, 0);
		return true;
	case 0x08: /* same_value */
		rule_set(row, read_uleb(reader), UNSET, 0);
		return true;
	case 0x09: /* register */
	case 0x14: /* val_offset */
		number = read_uleb(reader);
		read_uleb(reader);
		rule_set(row, number, ELSEWHERE, 0);
		return true;
	case 0x0f: /* def_cfa_expression */
		expression = read_block(reader);
		row->cfa_at_bp = is_beside_bp(expression, true, &row->cfa_offset);
		row->cfa_lost = !row->cfa_at_bp;
		return true;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		number = read_uleb(reader);
		expression = read_block(reader);
		if (op == 0x10 && is_beside_bp(expression, false, &offset))
			rule_set(row, number, AT_BP, offset);
		else
			rule_set(row, number, ELSEWHERE, 0);
		return true;
	case 0x11: /* offset_extended_sf */
		number = read_uleb(reader);
		rule_set(row, number, AT_CFA, read_sleb(reader) * scale);
		return true;
	case 0x12: /* def_cfa_sf */
		number = read_uleb(reader);
		cfa_set(row, number, read_sleb(reader) * scale);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		row->cfa_offset = read_sleb(reader) * scale;
		return true;
	case 0x15: /* val_offset_sf */
		number = read_uleb(reader);
		read_sleb(reader);
		rule_set(row, number, ELSEWHERE, 0);
		return true;
	case 0x2e: /* GNU_args_size */
		read_uleb(reader);
		return true;
	default:
		return false;
	}
}

static bool run_step(struct machine *machine, struct reader *reader)
{
	uint8_t op = (uint8_t)read_bytes(reader, 1), low = op & 0x3f;
	const struct common *common = machine->common;
	struct row *row = &machine->row;
	uint64_t number;

	switch (op & 0xc0) {
	case 0x40: /* advance_loc */
		machine->passed += low * common->code_align;
		return true;
	case 0x80: /* offset */
		rule_set(row, low, AT_CFA, (int64_t)read_uleb(reader) * common->data_align);
		return true;
	case 0xc0: /* restore */
		restore(machine, low);
		return true;
	}
	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		machine->passed += read_bytes(reader, (size_t)1 << (op - 2)) * common->code_align;
		return true;
	case 0x0a: /* remember_state */
		if (machine->depth == REMEMBERED_MAX)
			return false;
		machine->remembered[machine->depth++] = *row;
		return true;
	case 0x0b: /* restore_state */
		if (machine->depth == 0)
			return false;
		*row = machine->remembered[--machine->depth];
		return true;
	case 0x0c: /* def_cfa */
		number = read_uleb(reader);
		cfa_set(row, number, (int64_t)read_uleb(reader));
		return true;
	case 0x0d: /* def_cfa_register */
		cfa_set(row, read_uleb(reader), row->cfa_offset);
		return true;
	case 0x0e: /* def_cfa_offset */
		row->cfa_offset = (int64_t)read_uleb(reader);
		return true;
	default:
		return run_rare(machine, op, reader);
	}
}

/* Up to the row of the code at `wanted` bytes from where the function begins. */
static bool run(struct machine *machine, struct reader reader, uint64_t wanted)
{
	struct row row = machine->row;

	while (reader.at < reader.end) {
		if (!run_step(machine, &reader) || reader.bad)
			return false;
		if (machine->passed > wanted)
			break;
		row = machine->row;
	}
	machine->row = row;
	return true;
}

/* --- from the row to the answer --- */

static struct gs_cfi answer(const struct row *row)
{
	static const struct gs_cfi unknown;
	struct gs_cfi cfi = {.offset = (int32_t)row->cfa_offset, .bp_offset = (int16_t)row->bp.offset};

	if (row->ra.where == UNDEFINED)
		return (struct gs_cfi){.end = GS_CFI_OUTERMOST};
	if (row->cfa_lost || row->ra.where != AT_CFA || row->ra.offset != -8 || row->sp.where != UNSET ||
	    cfi.offset != row->cfa_offset || cfi.bp_offset != row->bp.offset)
		return unknown;
	if (row->cfa_at_bp)
		cfi.end = GS_CFI_AT_BP;
	else if (row->cfa_register == REG_SP || row->cfa_register == REG_BP)
		cfi.end = row->cfa_register == REG_SP ? GS_CFI_SP : GS_CFI_BP;
	switch (row->bp.where) {
	case UNSET:
		cfi.bp = GS_CFI_KEPT;
		break;
	case AT_CFA:
		cfi.bp = GS_CFI_BELOW_END;
		break;
	case AT_BP:
		cfi.bp = GS_CFI_BESIDE_BP;
		break;
	case UNDEFINED:
	case ELSEWHERE:
		return unknown;
	}
	return cfi;
}

/* The table of .eh_frame_hdr: the beginning of each function and its entry, both from the table's own address. */
struct row_of_table {
	int32_t function, entry;
};

static const uint8_t *table_find(const struct gsb_elf *elf, uint64_t address, uint64_t *ret_function)
{
	const struct row_of_table *table;
	const uint8_t *header = NULL;
	uint32_t count, low = 0, high;

	for (unsigned at = 0; at < elf->header_count; at++)
		if (elf->headers[at].p_type == PT_GNU_EH_FRAME && elf->headers[at].p_memsz >= 12)
			header = (const uint8_t *)(elf->base + elf->headers[at].p_vaddr);
	if (header == NULL || header[0] != 1 || header[1] != ENC_PCREL_SDATA4 || header[2] != ENC_UDATA4 ||
	    header[3] != ENC_DATAREL_SDATA4)
		return NULL;
	memcpy(&count, header + 8, sizeof(count));
	table = (const struct row_of_table *)(header + 12);
	if (count == 0 || count > (elf->end - (uintptr_t)table) / sizeof(*table) ||
	    (uint64_t)(header + table[0].function) > address)
		return NULL;
	for (high = count; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;

		if ((uint64_t)(header + table[middle].function) <= address)
			low = middle;
		else
			high = middle;
	}
	*ret_function = (uint64_t)(header + table[low].function);
	return header + table[low].entry;
}

/* Where no call can have been made from, but a function begins, the return address was put there for one that is never
 * to return: makecontext() does so. */
static bool begins_at(const struct gsb_elf *elf, uint64_t address)
{
	uint64_t function;

	return table_find(elf, address, &function) != NULL && function == address;
}

struct gs_cfi gs_cfi_at(uint64_t address)
{
	static const struct gs_cfi unknown, outermost = {.end = GS_CFI_OUTERMOST};
	struct machine machine = {0};
	struct common common;
	struct reader entry;
	const uint8_t *at;
	struct gsb_elf elf;
	uint64_t function, bytes, back;

	address--; /* of the call */
	if (gsb_elf_at((const void *)(uintptr_t)address, &elf) != GS_OK)
		return unknown;
	at = table_find(&elf, address, &function);
	if (at == NULL || !entry_open(&elf, at, &entry))
		return unknown;
	at = entry.at;
	back = read_bytes(&entry, 4);
	if (back == 0 || !common_read(&elf, at - back, &common) || encoded_bytes(common.encoding) == 0)
		return unknown;
	read_bytes(&entry, encoded_bytes(common.encoding));
	bytes = read_bytes(&entry, encoded_bytes(common.encoding));
	if (common.augmented)
		read_block(&entry);
	if (entry.bad)
		return unknown;
	if (address - function >= bytes)
		return begins_at(&elf, address + 1) ? outermost : unknown;
	machine.common = &common;
	if (!run(&machine, common.program, UINT64_MAX))
		return unknown;
	machine.initial = machine.row;
	machine.passed = 0;
	if (!run(&machine, entry, address - function))
		return unknown;
	return answer(&machine.row);
}
