/* See settings_out.h. */
#include "shim/snap/settings_out.h"

#include "shim/base/text.h"

static void text_out(struct gs_json *json, const char *name, const struct gs_conf *conf)
{
	char value[128];
	struct gsb_text text;

	gsb_text_init(&text, value, sizeof(value));
	gs_conf_value_add(&text, conf, name);
	gs_json_text(json, name, value);
}

void gs_settings_out(struct gs_json *json, const char *key, const struct gs_conf *conf, const struct gs_paths *paths)
{
	gs_json_object_begin(json, key);
#define GS_CONF_U64(name, initial, min, max, help) gs_json_count(json, #name, conf->name);
#define GS_CONF_DOUBLE(name, initial, min, max, help) gs_json_fraction(json, #name, conf->name);
#define GS_CONF_BOOL(name, initial, help) gs_json_bool(json, #name, conf->name);
#define GS_CONF_ENUM(name, initial, values, help) text_out(json, #name, conf);
#define GS_CONF_FLAGS(name, initial, values, help) text_out(json, #name, conf);
#define GS_CONF_SIZE(name, initial, min, max, help) gs_json_count(json, #name, conf->name);
#define GS_CONF_PATH(name, initial, help) gs_path_text(json, #name, conf->name, paths);
#include "shim/core/conf.def"
	gs_json_object_end(json);
}
