/* The settings in force as a JSON object, one key per row of shim/core/conf.def. */
#ifndef GS_SNAP_SETTINGS_OUT_H
#define GS_SNAP_SETTINGS_OUT_H

#include "shim/core/conf.h"
#include "shim/snap/json_out.h"
#include "shim/snap/path_out.h"

/* Sizes and numbers as numbers; choices and lists as the text that GPUSHIM_ALLOC_CONF would give them; paths as `paths`
 * says. */
void gs_settings_out(struct gs_json *json, const char *key, const struct gs_conf *conf, const struct gs_paths *paths);

#endif
