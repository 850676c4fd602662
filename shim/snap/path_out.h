/* How file names appear in snapshots: the setting `paths`.
 *
 *     full       as they are
 *     relative   below the folder in which the program began from there on ("net/model.py"); others with ... for what
 *                leads to the packages of Python or, outside those, to the file (".../site-packages/torch/nn/functional.py",
 *                ".../libsolver.so")
 *     hash       the same, with a hash for ..., also below that folder: files of two folders can be told apart
 *
 * A path is what begins with a slash. Names of native functions cannot be looked up by a name that is not full. */
#ifndef GS_SNAP_PATH_OUT_H
#define GS_SNAP_PATH_OUT_H

#include "shim/core/conf.h"
#include "shim/snap/json_out.h"

struct gs_paths {
	enum gs_conf_paths mode;
	const char *folder; /* in which the program began; "" = unknown */
};

#define GS_PATH_TEXT_BYTES 4200

/* A text, shortened if it is a path: the text itself, or chars. */
const char *gs_path_shown(const char *text, const struct gs_paths *paths, char chars[GS_PATH_TEXT_BYTES]);

/* The same as JSON. */
void gs_path_text(struct gs_json *json, const char *key, const char *text, const struct gs_paths *paths);

#endif
