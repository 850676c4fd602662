/* The parser of GPUSHIM_ALLOC_CONF: any text gives settings within their ranges, each complaint is one line that can be
 * printed, and the settings, written out as a user would write them, are read back as they are. */
#include <string.h>

#include "shim/base/log.h"
#include "shim/core/conf.h"
#include "tests/fuzz/target.h"

static void complain(void *user, const char *line)
{
	unsigned *count = user;

	(*count)++;
	HOLDS(strlen(line) < GSB_LOG_LINE_BYTES);
	for (const char *at = line; *at != '\0'; at++)
		HOLDS((unsigned char)*at >= ' ' && *at != 0x7f);
}

static void in_range(const struct gs_conf *conf)
{
#define GS_CONF_U64(name, initial, min, max, help) HOLDS(conf->name <= (max) && conf->name + 1 > (min));
#define GS_CONF_SIZE GS_CONF_U64
#define GS_CONF_DOUBLE(name, initial, min, max, help) HOLDS(conf->name >= (min) && conf->name <= (max));
#define GS_CONF_BOOL(name, initial, help) HOLDS(*(const unsigned char *)&conf->name <= 1);
#define GS_CONF_ENUM(name, initial, values, help) HOLDS(conf->name < 8);
#define GS_CONF_FLAGS(name, initial, values, help) HOLDS(conf->name < 32 && conf->name##_every_s <= 86400);
#define GS_CONF_PATH(name, initial, help) HOLDS(memchr(conf->name, '\0', sizeof(conf->name)) != NULL);
#include "shim/core/conf.def"
}

/* A path with a comma, a bracket or a space at its end has no way to be written. */
static bool can_be_written(const char *path)
{
	size_t length = strlen(path);

	return strpbrk(path, ",[]") == NULL && length > 0 && strchr(" \t\n\v\f\r", path[0]) == NULL &&
	       strchr(" \t\n\v\f\r", path[length - 1]) == NULL;
}

static void reads_back(const struct gs_conf *conf)
{
	static char bytes[8192];
	struct gs_conf again;
	struct gsb_text text;
	unsigned complaints = 0;

	gsb_text_init(&text, bytes, sizeof(bytes));
#define WRITE(name)                                                                                                    \
	gsb_text_add(&text, #name ":");                                                                                \
	gs_conf_value_add(&text, conf, #name);                                                                         \
	gsb_text_add(&text, ",");
#define GS_CONF_U64(name, initial, min, max, help) WRITE(name)
#define GS_CONF_SIZE GS_CONF_U64
#define GS_CONF_DOUBLE(name, initial, min, max, help) WRITE(name)
#define GS_CONF_BOOL(name, initial, help) WRITE(name)
#define GS_CONF_ENUM(name, initial, values, help) WRITE(name)
#define GS_CONF_FLAGS(name, initial, values, help) WRITE(name)
#define GS_CONF_PATH(name, initial, help)                                                                              \
	if (can_be_written(conf->name)) {                                                                              \
		WRITE(name)                                                                                            \
	}
#include "shim/core/conf.def"
	HOLDS(!text.cut);
	gs_conf_init(&again);
	gs_conf_parse(bytes, &again, complain, &complaints);
	HOLDS(complaints == 0);
#define GS_CONF_U64(name, initial, min, max, help) HOLDS(again.name == conf->name);
#define GS_CONF_SIZE GS_CONF_U64
#define GS_CONF_DOUBLE(name, initial, min, max, help)                                                                  \
	HOLDS(again.name - conf->name < 1e-6 && conf->name - again.name < 1e-6);
#define GS_CONF_BOOL(name, initial, help) HOLDS(again.name == conf->name);
#define GS_CONF_ENUM(name, initial, values, help) HOLDS(again.name == conf->name);
#define GS_CONF_FLAGS(name, initial, values, help)                                                                     \
	HOLDS(again.name == conf->name && again.name##_every_s == conf->name##_every_s);
#define GS_CONF_PATH(name, initial, help) HOLDS(!can_be_written(conf->name) || strcmp(again.name, conf->name) == 0);
#include "shim/core/conf.def"
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct gs_conf conf;
	unsigned complaints = 0;

	HOLDS(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	gs_conf_init(&conf);
	HOLDS(gs_conf_parse(text, &conf, complain, &complaints) == complaints);
	in_range(&conf);
	reads_back(&conf);
	HOLDS(gs_conf_peek_torch(text) == (enum gs_conf_torch)conf.torch);
	free(text);
	return 0;
}
