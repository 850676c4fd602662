/* See write.h. */
#include "report/write.h"

#include <stdlib.h>
#include <string.h>

#include "report/json_text.h"

static void object_write(FILE *out, const char *key, const cJSON *object)
{
	char *text = object != NULL ? cJSON_PrintUnformatted(object) : NULL;

	if (object != NULL && text == NULL)
		abort();
	fprintf(out, ",\"%s\":%s", key, text != NULL ? text : "[]");
	free(text);
}

static void texts_write(FILE *out, const struct gsr_texts *texts)
{
	fputc('[', out);
	for (size_t i = 0; i < texts->count; i++) {
		if (i > 0)
			fputc(',', out);
		gsr_out_text(out, texts->text[i]);
	}
	fputc(']', out);
}

static void cell_write(FILE *out, enum gs_snap_kind kind, uint64_t cell)
{
	if (kind == GS_SNAP_HEX)
		fprintf(out, "\"%llx\"", (unsigned long long)cell);
	else if (kind == GS_SNAP_SIGNED)
		fprintf(out, "%lld", (long long)cell);
	else
		fprintf(out, "%llu", (unsigned long long)cell);
}

/* A section that the model's file did not have is written as empty. */
static void table_write(FILE *out, const struct gsr_table_schema *schema, const struct gsr_table *table)
{
	fprintf(out, ",\"%s\":{", schema->key);
	for (unsigned column = 0; column < schema->column_count; column++) {
		const struct gs_snap_column *of = &schema->columns[column];

		if (column > 0)
			fputc(',', out);
		if (of->kind == GS_SNAP_NAME) {
			fprintf(out, "\"%s_names\":", of->key);
			texts_write(out, &table->names[column]);
			fputc(',', out);
		}
		fprintf(out, "\"%s\":[", of->key);
		for (size_t row = 0; row < table->rows; row++) {
			if (row > 0)
				fputc(',', out);
			cell_write(out, of->kind, table->column[column][row]);
		}
		fputc(']', out);
	}
	fputc('}', out);
}

void gsr_model_write(FILE *out, const struct gsr_model *model)
{
	fprintf(out, "{\"schema\":%d", GS_SNAP_VERSION);
#define OBJECT_WRITE(object, is_list) object_write(out, #object, model->object);
	GS_SNAP_OBJECTS(OBJECT_WRITE)
#undef OBJECT_WRITE
	for (unsigned id = 0; id < GS_SNAP_TABLE_COUNT; id++)
		table_write(out, &gsr_table_schemas[id], &model->tables[id]);
	fputs(",\"strings\":", out);
	texts_write(out, &model->strings);
	fputs("}\n", out);
}
