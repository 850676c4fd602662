/* From an instruction to its line: CPython's three formats of line table. All are walked from the start, summing up
 * line changes, until the entry that covers the instruction; a table that ends early gives "no line". */
#include "shim/stack/python_code.h"

struct table {
	const unsigned char *at, *end;
};

/* 3.9: pairs (bytes of code, signed change of line); a pair counts for what follows its bytes. */
static int64_t line_3_9(struct table table, int64_t line, int64_t offset_bytes)
{
	int64_t address = 0;

	for (; table.end - table.at >= 2; table.at += 2) {
		address += table.at[0];
		if (address > offset_bytes)
			break;
		line += (signed char)table.at[1];
	}
	return line;
}

/* 3.10: pairs (bytes of code, signed change of line before them); -128 says that these bytes have no line. */
static int64_t line_3_10(struct table table, int64_t line, int64_t offset_bytes)
{
	int64_t address = 0;

	for (; table.end - table.at >= 2; table.at += 2) {
		int change = (signed char)table.at[1];

		if (change != -128)
			line += change;
		address += table.at[0];
		if (address > offset_bytes)
			return change == -128 ? 0 : line;
	}
	return 0;
}

/* Six bits a byte, the lowest first; 0x40 says that more follow. The lowest bit of the number is the sign. */
static int64_t varint_signed(struct table *table)
{
	uint64_t number = 0;

	for (unsigned shift = 0; table->at < table->end && shift < 60; shift += 6) {
		unsigned byte = *table->at++;

		number |= (uint64_t)(byte & 63) << shift;
		if ((byte & 64) == 0)
			break;
	}
	return (number & 1) != 0 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* 3.11: entries that start with 0x80 | form << 3 | length - 1, the length in units of two bytes; the form says how
 * the change of line is written. The rest of an entry, columns, has no byte with the highest bit set. */
static int64_t line_3_11(struct table table, int64_t line, int64_t offset_bytes)
{
	int64_t address = 0;

	while (table.at < table.end) {
		unsigned head = *table.at++, form = head >> 3 & 15;

		if (form == 13 || form == 14)
			line += varint_signed(&table);
		else if (form >= 10 && form <= 12)
			line += form - 10;
		address += 2 * ((head & 7) + 1);
		if (address > offset_bytes)
			return form == 15 ? 0 : line;
		while (table.at < table.end && (*table.at & 0x80) == 0)
			table.at++;
	}
	return 0;
}

uint32_t gs_python_code_line(const struct gs_python_layout *layout, const char *object, int64_t offset_bytes)
{
	const char *lines = gs_python_pointer(object, layout->code_lines);
	const unsigned char *data = (const unsigned char *)lines + GS_PYTHON_BYTES_DATA;
	struct table table = {data, data + gs_python_word(lines, GS_PYTHON_LENGTH)};
	int64_t line = gs_python_int(object, layout->code_first_line);

	if (offset_bytes >= 0) {
		if (layout->version >= 0x030b)
			line = line_3_11(table, line, offset_bytes);
		else if (layout->version == 0x030a)
			line = line_3_10(table, line, offset_bytes);
		else
			line = line_3_9(table, line, offset_bytes);
	}
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}
