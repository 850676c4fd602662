/* See model.h. */
#include "report/model.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS(table)                                                                                                 \
	static const struct gs_snap_column table##_columns[] = {GS_SNAP_COLUMNS_##table(GS_SNAP_COLUMN_ROW)};
GS_SNAP_TABLES(COLUMNS)

const struct gsr_table_schema gsr_table_schemas[GS_SNAP_TABLE_COUNT] = {
#define TABLE_ROW(table) {#table, table##_columns, GS_SNAP_##table##_COLUMNS},
    GS_SNAP_TABLES(TABLE_ROW)
#undef TABLE_ROW
};

static void texts_drop(struct gsr_texts *texts)
{
	free(texts->bytes);
	free(texts->text);
}

void gsr_model_drop(struct gsr_model *model)
{
	for (unsigned table = 0; table < GS_SNAP_TABLE_COUNT; table++)
		for (unsigned column = 0; column < GS_SNAP_MAX_COLUMNS; column++) {
			free(model->tables[table].column[column]);
			texts_drop(&model->tables[table].names[column]);
		}
	texts_drop(&model->strings);
#define DROP_OBJECT(object, is_list) cJSON_Delete(model->object);
	GS_SNAP_OBJECTS(DROP_OBJECT)
#undef DROP_OBJECT
	memset(model, 0, sizeof(*model));
}

const char *gsr_string(const struct gsr_model *model, uint64_t string)
{
	return string == 0 ? "" : model->strings.text[string];
}

const char *gsr_module_path(const struct gsr_model *model, uint64_t frame)
{
	uint64_t module = GSR_CELL(model, frames, module, frame);

	return module == 0 ? "" : gsr_string(model, GSR_CELL(model, modules, path, module));
}

uint64_t gsr_count(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= (double)GSR_COUNT_MAX
		       ? (uint64_t)item->valuedouble
		       : 0;
}

const char *gsr_text(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text != NULL ? text : "";
}

uint64_t gsr_decimal(const cJSON *object, const char *key)
{
	return strtoull(gsr_text(object, key), NULL, 10);
}

uint64_t gsr_gauge(const cJSON *device, const char *name, const char *when)
{
	const cJSON *gauges = cJSON_GetObjectItemCaseSensitive(device, "gauges");

	return gsr_count(cJSON_GetObjectItemCaseSensitive(gauges, name), when);
}

/* What the program ran with; NULL where the snapshot does not say. */
static const cJSON *setting(const struct gsr_model *model, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(model->meta, GS_KEY(meta, settings)), key);
}

bool gsr_is_own(const struct gsr_model *model)
{
	return setting(model, "watch") != NULL;
}

bool gsr_is_watched(const struct gsr_model *model)
{
	return cJSON_IsTrue(setting(model, "watch"));
}

bool gsr_is_recovered(const struct gsr_model *model)
{
	return !gsr_is_own(model) && strcmp(gsr_text(model->meta, GS_KEY(meta, reason)), "killed") == 0;
}

const char *gsr_waits_missing(const struct gsr_model *model)
{
	if (gsr_is_watched(model))
		return NULL;
	if (gsr_is_own(model))
		return "the program ran with watch:off";
	return gsr_is_recovered(model) ? "the file that a killed process leaves does not hold them"
				       : "the tool that made this snapshot does not record them";
}

const char *gsr_launches_missing(const struct gsr_model *model)
{
	const cJSON *launches = setting(model, "launches");

	if (gsr_is_watched(model) && cJSON_IsNumber(launches) && launches->valuedouble == 0)
		return "the program ran with launches:0";
	return gsr_waits_missing(model);
}

bool gsr_history_kept(const struct gsr_model *model)
{
	const cJSON *history = setting(model, "history");

	return !cJSON_IsNumber(history) || history->valuedouble > 0;
}

bool gsr_history_complete(const struct gsr_model *model)
{
	return gsr_history_kept(model) && gsr_count(model->recording, GS_KEY(recording, events_dropped)) == 0;
}

uint64_t gsr_live_total(const struct gsr_model *model, const char *live_class, const char *key)
{
	const cJSON *total;
	uint64_t sum = 0;

	cJSON_ArrayForEach(total, model->live_totals)
	{
		if (strcmp(gsr_text(total, GS_KEY(live_totals, class)), live_class) == 0)
			sum += gsr_count(total, key);
	}
	return sum;
}

size_t gsr_name_find(const struct gsr_texts *names, const char *name)
{
	size_t index = 0;

	while (index < names->count && strcmp(names->text[index], name) != 0)
		index++;
	return index;
}

const char *gsr_thread_name(const struct gsr_model *model, uint64_t thread)
{
	const cJSON *row;

	cJSON_ArrayForEach(row, model->threads)
	{
		if (gsr_count(row, GS_KEY(threads, tid)) == thread)
			return gsr_text(row, GS_KEY(threads, name));
	}
	return "";
}
