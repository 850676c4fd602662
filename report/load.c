/* See load.h. Tables and strings are pulled straight into arrays; the small objects go through cJSON, after their text
 * has been checked strictly, and are then held against the lists of schema.h. Sections and keys that this version does
 * not know are checked as JSON and passed over. */
#include "report/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/check.h"
#include "report/import.h"
#include "report/input.h"
#include "report/output.h"
#include "report/ring_file.h"
#include "report/scan.h"
#include "shim/base/err.h"

#define KEY_BYTES 64
#define WHY_BYTES sizeof(((struct gsr_scan *)NULL)->error)

/* The first files of the schema lack some columns: they read as 0 there. */
static int column_lacking(struct gsr_scan *scan, const char *start, unsigned id, unsigned column, struct gsr_table *table)
{
	static const char *const later[] = {GS_SNAP_LATER_COLUMNS};
	char name[2 * KEY_BYTES];

	snprintf(name, sizeof(name), "%s.%s", gsr_table_schemas[id].key, gsr_table_schemas[id].columns[column].key);
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		if (strcmp(later[i], name) != 0)
			continue;
		table->column[column] = calloc(table->rows + 1, sizeof(*table->column[column]));
		return table->column[column] != NULL ? 0 : gsr_scan_fail(scan, "out of memory");
	}
	return gsr_scan_fail_at(scan, start, "%s has no column \"%s\"", gsr_table_schemas[id].key, gsr_table_schemas[id].columns[column].key);
}

/* A key and its colon. One that is too long to be known becomes "". */
static int key_read(struct gsr_scan *scan, char key[KEY_BYTES])
{
	const char *start;
	size_t length;

	if (gsr_scan_peek(scan) != '"')
		return gsr_scan_fail(scan, scan->at == scan->end ? "the file ends too early" : "a key expected");
	if (gsr_scan_skip(scan, &start) != 0)
		return GS_E_INVALID;
	length = (size_t)(scan->at - start);
	key[0] = '\0';
	if (length < KEY_BYTES) {
		scan->at = start;
		gsr_scan_string(scan, key, &length);
	}
	return gsr_scan_take(scan, ':');
}

static int texts_read(struct gsr_scan *scan, struct gsr_texts *texts)
{
	const char *start;
	size_t bytes, capacity = 0, used = 0;
	bool first = true, more = true;

	if (texts->bytes != NULL)
		return gsr_scan_fail(scan, "a list is given twice");
	if (gsr_scan_peek(scan) != '[')
		return gsr_scan_take(scan, '[');
	if (gsr_scan_skip(scan, &start) != 0)
		return GS_E_INVALID;
	bytes = (size_t)(scan->at - start);
	texts->bytes = malloc(bytes + 1);
	if (texts->bytes == NULL)
		return gsr_scan_fail(scan, "out of memory");
	scan->at = start + 1;
	for (;;) {
		size_t length;

		if (gsr_scan_next(scan, ']', &first, &more) != 0)
			return GS_E_INVALID;
		if (!more)
			return 0;
		if (texts->count == capacity) {
			const char **text;

			capacity = capacity < 16 ? 16 : capacity * 2;
			text = realloc(texts->text, capacity * sizeof(*text));
			if (text == NULL)
				return gsr_scan_fail(scan, "out of memory");
			texts->text = text;
		}
		if (gsr_scan_string(scan, texts->bytes + used, &length) != 0)
			return GS_E_INVALID;
		texts->text[texts->count++] = texts->bytes + used;
		used += length + 1;
	}
}

static int cell_read(struct gsr_scan *scan, enum gs_snap_kind kind, uint64_t *ret_cell)
{
	int64_t value;

	if (kind == GS_SNAP_HEX)
		return gsr_scan_hex(scan, ret_cell);
	if (kind != GS_SNAP_SIGNED)
		return gsr_scan_count(scan, ret_cell);
	if (gsr_scan_signed(scan, &value) != 0)
		return GS_E_INVALID;
	*ret_cell = (uint64_t)value;
	return 0;
}

/* expected: rows of the columns read before, SIZE_MAX for the first one. */
static int column_read(struct gsr_scan *scan, enum gs_snap_kind kind, size_t expected, uint64_t **ret_cells,
		       size_t *ret_rows)
{
	size_t capacity = expected != SIZE_MAX ? expected + 1 : 64, rows = 0;
	uint64_t *cells = malloc(capacity * sizeof(*cells));
	bool first = true, more;

	*ret_cells = cells;
	if (cells == NULL)
		return gsr_scan_fail(scan, "out of memory");
	if (gsr_scan_take(scan, '[') != 0)
		return GS_E_INVALID;
	for (;;) {
		size_t bulk;

		if (gsr_scan_next(scan, ']', &first, &more) != 0)
			return GS_E_INVALID;
		if (!more)
			break;
		if (rows == capacity) {
			capacity *= 2;
			cells = realloc(cells, capacity * sizeof(*cells));
			if (cells == NULL)
				return gsr_scan_fail(scan, "out of memory");
			*ret_cells = cells;
		}
		if (rows == expected)
			return gsr_scan_fail(scan, "a column is longer than the one before it");
		bulk = (kind == GS_SNAP_HEX ? gsr_scan_hexes : gsr_scan_counts)(
		    scan, cells + rows, (expected != SIZE_MAX ? expected : capacity) - rows);
		first = bulk > 0; /* a value is due, as at the start */
		rows += bulk;
		if (bulk > 0)
			continue;
		if (cell_read(scan, kind, &cells[rows]) != 0)
			return GS_E_INVALID;
		rows++;
	}
	if (expected != SIZE_MAX && rows < expected)
		return gsr_scan_fail(scan, "a column is shorter than the one before it");
	*ret_rows = rows;
	return 0;
}

static int table_read(struct gsr_scan *scan, unsigned id, struct gsr_table *table)
{
	const char *start = scan->at, *ignored;
	size_t rows = SIZE_MAX;
	bool first = true, more;
	char key[KEY_BYTES], names_key[KEY_BYTES + 8];

	if (gsr_scan_take(scan, '{') != 0)
		return GS_E_INVALID;
	for (;;) {
		unsigned column = 0;
		bool is_names = false;

		if (gsr_scan_next(scan, '}', &first, &more) != 0)
			return GS_E_INVALID;
		if (!more)
			break;
		gsr_progress("reading", gsr_table_schemas[id].key, (double)(scan->at - scan->start) / (double)(scan->end - scan->start));
		if (key_read(scan, key) != 0)
			return GS_E_INVALID;
		for (; column < gsr_table_schemas[id].column_count; column++) {
			if (strcmp(key, gsr_table_schemas[id].columns[column].key) == 0)
				break;
			snprintf(names_key, sizeof(names_key), "%s_names", gsr_table_schemas[id].columns[column].key);
			is_names = gsr_table_schemas[id].columns[column].kind == GS_SNAP_NAME && strcmp(key, names_key) == 0;
			if (is_names)
				break;
		}
		if (column == gsr_table_schemas[id].column_count) {
			if (gsr_scan_skip(scan, &ignored) != 0)
				return GS_E_INVALID;
		} else if (is_names) {
			if (texts_read(scan, &table->names[column]) != 0)
				return GS_E_INVALID;
		} else if (table->column[column] != NULL) {
			return gsr_scan_fail(scan, "%s.%s is given twice", gsr_table_schemas[id].key, key);
		} else if (column_read(scan, gsr_table_schemas[id].columns[column].kind, rows, &table->column[column], &rows) !=
			   0) {
			return GS_E_INVALID;
		}
	}
	table->rows = rows != SIZE_MAX ? rows : 0;
	for (unsigned column = 0; column < gsr_table_schemas[id].column_count; column++)
		if (table->column[column] == NULL && column_lacking(scan, start, id, column, table) != 0)
			return GS_E_INVALID;
	return 0;
}

/* --- objects ----------------------------------------------------------------------------------------------------- */

static bool type_fits(const cJSON *item, enum gs_snap_type type)
{
	const char *text = cJSON_GetStringValue(item);

	switch (type) {
	case GS_SNAP_TYPE_TEXT:
		return text != NULL;
	case GS_SNAP_TYPE_COUNT_OR_NULL:
		if (cJSON_IsNull(item))
			return true;
		/* fall through */
	case GS_SNAP_TYPE_COUNT:
	case GS_SNAP_TYPE_COUNT_LATER:
		return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= (double)GSR_COUNT_MAX;
	case GS_SNAP_TYPE_DECIMAL:
		return text != NULL && text[0] != '\0' && text[strspn(text, "0123456789")] == '\0' &&
		       strlen(text) <= 20;
	case GS_SNAP_TYPE_LIST:
		return cJSON_IsArray(item);
	case GS_SNAP_TYPE_OBJECT_OR_NULL:
		return cJSON_IsObject(item) || cJSON_IsNull(item);
	case GS_SNAP_TYPE_OBJECT:
		return cJSON_IsObject(item);
	}
	return false;
}

static int object_check(struct gsr_scan *scan, const char *start, const char *section, const cJSON *object,
			const struct gs_snap_key *keys, size_t key_count)
{
	if (!cJSON_IsObject(object))
		return gsr_scan_fail_at(scan, start, "%s is no object", section);
	for (size_t i = 0; i < key_count; i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, keys[i].key);

		if (item == NULL && keys[i].type == GS_SNAP_TYPE_COUNT_LATER)
			continue;
		if (item == NULL)
			return gsr_scan_fail_at(scan, start, "%s has no key \"%s\"", section, keys[i].key);
		if (!type_fits(item, keys[i].type))
			return gsr_scan_fail_at(scan, start, "%s: \"%s\" has a wrong value", section, keys[i].key);
	}
	return 0;
}

static int object_read(struct gsr_scan *scan, const char *section, bool is_list, const struct gs_snap_key *keys,
		       size_t key_count, cJSON **ret_object)
{
	const char *start;
	const cJSON *item;
	cJSON *object;

	if (gsr_scan_skip(scan, &start) != 0)
		return GS_E_INVALID;
	if (*ret_object != NULL)
		return gsr_scan_fail_at(scan, start, "%s is given twice", section);
	object = cJSON_ParseWithLength(start, (size_t)(scan->at - start));
	if (object == NULL)
		return gsr_scan_fail_at(scan, start, "%s cannot be read", section);
	*ret_object = object;
	if (!is_list)
		return object_check(scan, start, section, object, keys, key_count);
	if (!cJSON_IsArray(object))
		return gsr_scan_fail_at(scan, start, "%s is no list", section);
	cJSON_ArrayForEach(item, object)
	{
		if (object_check(scan, start, section, item, keys, key_count) != 0)
			return GS_E_INVALID;
	}
	return 0;
}

/* --- the document ------------------------------------------------------------------------------------------------ */

static int section_read(struct gsr_scan *scan, const char *key, struct gsr_model *model)
{
	const char *ignored;

	for (unsigned id = 0; id < GS_SNAP_TABLE_COUNT; id++)
		if (strcmp(key, gsr_table_schemas[id].key) == 0)
			return model->tables[id].column[0] == NULL ? table_read(scan, id, &model->tables[id])
								   : gsr_scan_fail(scan, "%s is given twice", key);
#define READ_OBJECT(object, is_list)                                                                                   \
	if (strcmp(key, #object) == 0) {                                                                               \
		static const struct gs_snap_key keys[] = {GS_SNAP_KEYS_##object(GS_SNAP_KEY_ROW)};                     \
		return object_read(scan, key, is_list, keys, sizeof(keys) / sizeof(keys[0]), &model->object);          \
	}
	GS_SNAP_OBJECTS(READ_OBJECT)
#undef READ_OBJECT
	if (strcmp(key, "strings") == 0)
		return texts_read(scan, &model->strings);
	return gsr_scan_skip(scan, &ignored);
}

static int version_read(struct gsr_scan *scan, const char *key)
{
	const char *from;
	uint64_t version;

	if (strcmp(key, "schema") != 0)
		return gsr_scan_fail_at(scan, scan->start,
					"not a snapshot of gpushim: its first key is not \"schema\"");
	gsr_scan_peek(scan);
	from = scan->at;
	if (gsr_scan_count(scan, &version) != 0)
		return GS_E_INVALID;
	if (version != GS_SNAP_VERSION)
		return gsr_scan_fail_at(scan, from, "schema %llu; this gpushim-report reads schema %d",
					(unsigned long long)version, GS_SNAP_VERSION);
	return 0;
}

static bool may_lack(const char *section)
{
	static const char *const later[] = {GS_SNAP_LATER_SECTIONS};

	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (strcmp(section, later[i]) == 0)
			return true;
	return false;
}

static int sections_check(struct gsr_scan *scan, const struct gsr_model *model)
{
	for (unsigned id = 0; id < GS_SNAP_TABLE_COUNT; id++)
		if (model->tables[id].column[0] == NULL && !may_lack(gsr_table_schemas[id].key))
			return gsr_scan_fail(scan, "there is no section \"%s\"", gsr_table_schemas[id].key);
#define CHECK_OBJECT(object, is_list)                                                                                  \
	if (model->object == NULL && !may_lack(#object))                                                               \
		return gsr_scan_fail(scan, "there is no section \"%s\"", #object);
	GS_SNAP_OBJECTS(CHECK_OBJECT)
#undef CHECK_OBJECT
	if (model->strings.bytes == NULL)
		return gsr_scan_fail(scan, "there is no section \"strings\"");
	return 0;
}

static int document_read(struct gsr_scan *scan, struct gsr_model *model)
{
	bool first = true, more, versioned = false;
	char key[KEY_BYTES];

	if (gsr_scan_peek(scan) == '\0' && scan->at == scan->end)
		return gsr_scan_fail(scan, "the file is empty");
	if (*scan->at != '{')
		return gsr_scan_fail(scan, "not JSON, or no object");
	scan->at++;
	for (;;) {
		int error;

		if (gsr_scan_next(scan, '}', &first, &more) != 0)
			return GS_E_INVALID;
		if (!more)
			break;
		error = key_read(scan, key);
		if (error == 0)
			error = versioned ? section_read(scan, key, model) : version_read(scan, key);
		if (error != 0)
			return error;
		versioned = true;
	}
	gsr_scan_peek(scan);
	if (scan->at != scan->end)
		return gsr_scan_fail(scan, "something follows the end of the snapshot");
	if (!versioned)
		return gsr_scan_fail_at(scan, scan->start,
					"not a snapshot of gpushim: its first key is not \"schema\"");
	return sections_check(scan, model);
}

/* The model of the bytes, whatever they are; else where and why not. */
static int bytes_read(const char *bytes, size_t length, struct gsr_model *model, size_t *ret_error_at, char why[WHY_BYTES])
{
	enum gsr_foreign foreign = gsr_foreign_of(bytes, length);
	const char *foreign_why = NULL;
	struct gsr_scan scan;
	int error;

	if (foreign != GSR_FOREIGN_NONE) {
		error = (foreign == GSR_FOREIGN_TORCH ? gsr_import_torch : gsr_import_rmm)(bytes, length, model, ret_error_at,
											   &foreign_why);
		if (error != 0)
			snprintf(why, sizeof(scan.error), "%s", foreign_why);
		return error;
	}
	gsr_scan_init(&scan, bytes, length);
	error = document_read(&scan, model);
	gsr_progress_end();
	*ret_error_at = scan.error_at;
	memcpy(why, scan.error, sizeof(scan.error));
	return error;
}

static bool ring_is(const char *bytes, size_t length)
{
	const uint64_t wanted = GS_RING_FILE_MAGIC;

	return length >= sizeof(struct gs_ring_header) &&
	       memcmp(bytes + offsetof(struct gs_ring_header, magic), &wanted, sizeof(wanted)) == 0;
}

int gsr_load(const char *path, struct gsr_model *ret_model)
{
	struct gsr_model model = {0};
	char *bytes, wrong[WHY_BYTES];
	const char *why;
	size_t length, error_at;
	int error;

	if (gsr_input_read(path, &bytes, &length, &why) != 0) {
		fprintf(stderr, "gpushim-report: %s: %s\n", path, why);
		return GS_E_IO;
	}
	if (ring_is(bytes, length)) {
		fprintf(stderr, "gpushim-report: %s: a ring file, as a killed process leaves it; gpushim-report recover makes a snapshot of it\n",
			path);
		free(bytes);
		return GS_E_INVALID;
	}
	error = bytes_read(bytes, length, &model, &error_at, wrong);
	free(bytes);
	if (error != 0) {
		fprintf(stderr, "gpushim-report: %s: %s at byte %zu\n", path, wrong, error_at);
		gsr_model_drop(&model);
		return GS_E_INVALID;
	}
	for (unsigned id = 0; id < GS_SNAP_TABLE_COUNT; id++)
		if (gsr_table_check(&model, id, gsr_table_schemas[id].key, gsr_table_schemas[id].columns,
				    gsr_table_schemas[id].column_count, wrong, sizeof(wrong)) != 0) {
			fprintf(stderr, "gpushim-report: %s: %s\n", path, wrong);
			gsr_model_drop(&model);
			return GS_E_INVALID;
		}
	*ret_model = model;
	return 0;
}
