/* See table_out.h. */
#include "shim/snap/table_out.h"

#include "shim/base/text.h"

static void names_out(struct gs_json *json, const char *key, struct gs_names names)
{
	char names_key[64];
	struct gsb_text text;

	gsb_text_init(&text, names_key, sizeof(names_key));
	gsb_text_add(&text, "%s_names", key);
	gs_json_array_begin(json, names_key);
	for (unsigned i = 0; i < names.count; i++)
		gs_json_text(json, NULL, names.names[i]);
	gs_json_array_end(json);
}

static void cell_out(struct gs_json *json, enum gs_snap_kind kind, uint64_t value)
{
	if (kind == GS_SNAP_HEX)
		gs_json_hex(json, NULL, value);
	else if (kind == GS_SNAP_SIGNED)
		gs_json_signed(json, NULL, (int64_t)value);
	else
		gs_json_count(json, NULL, value);
}

void gs_table_out(struct gs_json *json, const struct gs_table_out *table)
{
	gs_json_object_begin(json, table->key);
	for (unsigned column = 0; column < table->column_count; column++) {
		const struct gs_snap_column *what = &table->columns[column];

		if (what->kind == GS_SNAP_NAME)
			names_out(json, what->key, table->names(column));
		gs_json_array_begin(json, what->key);
		for (size_t row = 0; row < table->row_count; row++)
			cell_out(json, what->kind, table->cell(table->user, row, column));
		gs_json_array_end(json);
	}
	gs_json_object_end(json);
}
