/* See settings_out.h. */
#include "shim/snap/settings_out.h"

#include <string.h>

#include "shim/base/text.h"

/* Choice number `index` of "a|b=alias|c", without its aliases. */
static void choice_add(struct gsb_text *text, const char *choices, unsigned index)
{
	size_t length;

	for (; index > 0 && choices != NULL; index--) {
		choices = strchr(choices, '|');
		choices = choices != NULL ? choices + 1 : NULL;
	}
	if (choices == NULL) {
		gsb_text_add(text, "?");
		return;
	}
	length = strcspn(choices, "|=");
	for (size_t i = 0; i < length; i++)
		gsb_text_add(text, "%c", choices[i]);
}

static void choice_out(struct gs_json *json, const char *key, const char *choices, unsigned index)
{
	char buffer[64];
	struct gsb_text text;

	gsb_text_init(&text, buffer, sizeof(buffer));
	choice_add(&text, choices, index);
	gs_json_text(json, key, buffer);
}

static void flags_out(struct gs_json *json, const char *key, const char *choices, unsigned flags, uint64_t every_s)
{
	char buffer[128];
	struct gsb_text text;

	gsb_text_init(&text, buffer, sizeof(buffer));
	for (unsigned bit = 0; bit < 32; bit++) {
		if ((flags & 1u << bit) == 0)
			continue;
		if (text.length > 0)
			gsb_text_add(&text, "+");
		choice_add(&text, choices, bit);
	}
	if (every_s > 0)
		gsb_text_add(&text, "%severy=%llu", text.length > 0 ? "+" : "", (unsigned long long)every_s);
	gs_json_text(json, key, text.length > 0 ? buffer : "off");
}

void gs_settings_out(struct gs_json *json, const char *key, const struct gs_conf *conf)
{
	gs_json_object_begin(json, key);
#define GS_CONF_U64(name, initial, min, max, help) gs_json_count(json, #name, conf->name);
#define GS_CONF_DOUBLE(name, initial, min, max, help) gs_json_fraction(json, #name, conf->name);
#define GS_CONF_BOOL(name, initial, help) gs_json_bool(json, #name, conf->name);
#define GS_CONF_ENUM(name, initial, values, help) choice_out(json, #name, values, conf->name);
#define GS_CONF_FLAGS(name, initial, values, help) flags_out(json, #name, values, conf->name, conf->snapshot_every_s);
#define GS_CONF_SIZE(name, initial, min, max, help) gs_json_count(json, #name, conf->name);
#define GS_CONF_PATH(name, initial, help) gs_json_text(json, #name, conf->name);
#include "shim/core/conf.def"
	gs_json_object_end(json);
}
