/* The configuration: GPUSHIM_ALLOC_CONF=key:value,key:value, read once at the first CUDA call.
 *
 * One row per key in conf.def: name, type, default, range, one line of help. The struct below, the parser, the README
 * table and `gpushim-report --help-conf` come from these rows. */
#ifndef GS_CORE_CONF_H
#define GS_CORE_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/hot.h"
#include "shim/base/text.h"

/* Bits of `snapshot`. */
enum gs_snapshot_trigger {
	GS_SNAPSHOT_EXIT = 1,
	GS_SNAPSHOT_OOM = 2,
	GS_SNAPSHOT_ERROR = 4,
	GS_SNAPSHOT_SIGNAL = 8,
	GS_SNAPSHOT_PEAK = 16,
	GS_SNAPSHOT_KILL = 32
};

enum gs_conf_torch { GS_TORCH_OBSERVE, GS_TORCH_SERVE, GS_TORCH_OFF };
enum gs_conf_backend { GS_BACKEND_VMM, GS_BACKEND_CUDAMALLOC, GS_BACKEND_OFF };
enum gs_conf_lanes { GS_LANES_AUTO, GS_LANES_OFF, GS_LANES_ON }; /* as enum gsa_lanes */
enum gs_conf_free_sync { GS_FREE_SYNC_AUTO, GS_FREE_SYNC_ALWAYS, GS_FREE_SYNC_NEVER };
enum gs_conf_ipc { GS_IPC_VMM, GS_IPC_LEGACY };
enum gs_conf_graph { GS_GRAPH_OFF, GS_GRAPH_AUTO };
enum gs_conf_submit { GS_SUBMIT_DIRECT, GS_SUBMIT_THREAD };
enum gs_conf_hazards { GS_HAZARDS_OFF, GS_HAZARDS_SAMPLED, GS_HAZARDS_ON };
enum gs_conf_paths { GS_PATHS_FULL, GS_PATHS_RELATIVE, GS_PATHS_HASH };

#define GS_CONF_PATH_BYTES 1024

struct gs_conf {
#define GS_CONF_U64(name, initial, min, max, help) uint64_t name;
#define GS_CONF_DOUBLE(name, initial, min, max, help) double name;
#define GS_CONF_BOOL(name, initial, help) bool name;
#define GS_CONF_ENUM(name, initial, values, help) unsigned name;
#define GS_CONF_FLAGS(name, initial, values, help)                                                                     \
	unsigned name;                                                                                                 \
	uint64_t name##_every_s; /* of name:every=SECONDS; 0 = not asked for */
#define GS_CONF_SIZE(name, initial, min, max, help) uint64_t name;
#define GS_CONF_PATH(name, initial, help) char name[GS_CONF_PATH_BYTES];
#include "shim/core/conf.def"
};

/* The settings in force. Constant after gs_conf_load. */
extern GSB_OURS struct gs_conf gs_conf;

/* Reads the environment variable and sets the log level; a bad pair is named in one line on stderr and ignored. With
 * strict:True, wherever it stands, a bad pair ends the process with status 78. Called once, under the BOOT lock. */
void gs_conf_load(void);

/* The parser alone, on top of what *conf holds; of a repeated key the last good pair wins. complain is called for each
 * bad pair with the whole line to print. Returns the number of bad pairs. Never writes outside *conf; text may be NULL.
 * Allocates nothing. */
unsigned gs_conf_parse(const char *text, struct gs_conf *conf, void (*complain)(void *user, const char *line),
		       void *user);

/* The defaults of the table. */
void gs_conf_init(struct gs_conf *conf);

/* The value of `torch` alone, without a word about anything else: for the constructor, in every process. */
enum gs_conf_torch gs_conf_peek_torch(const char *text);

/* Adds the value that conf holds for the row of that name, as GPUSHIM_ALLOC_CONF would give it. */
void gs_conf_value_add(struct gsb_text *text, const struct gs_conf *conf, const char *name);

/* Visits the rows, for help and README. type is "size", "number", "True or False", "one of", "list of (joined by +)",
 * "path"; values is "a|b|c" or a range "0..100" or "". The texts live as long as the visit of their row. */
void gs_conf_rows(void (*visit)(void *user, const char *name, const char *type, const char *values, const char *initial,
				const char *help),
		  void *user);

#endif
