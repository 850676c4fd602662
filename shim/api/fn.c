/* The table as data. */
#include "shim/api/fn.h"

#define PER_THREAD(suffix) (sizeof(#suffix) > 1)

const struct gs_fn_info gs_fn_info[GS_FN_COUNT] = {
#define DRV(symbol_, name_, since_, suffix_, handler_, parameters_, arguments_, disposition_, call_class_)             \
	[GS_FN_##symbol_] = {.symbol = #symbol_,                                                                       \
			     .name = #name_,                                                                           \
			     .since = since_,                                                                          \
			     .call_class = GS_CLASS_##call_class_,                                                     \
			     .per_thread = PER_THREAD(suffix_),                                                        \
			     .entry = (void *)symbol_},
#include "shim/api/driver.def"
#define RT(symbol_, suffix_, parameters_, arguments_, disposition_, call_class_)                                       \
	[GS_FN_##symbol_] = {.symbol = #symbol_,                                                                       \
			     .name = #symbol_,                                                                         \
			     .call_class = GS_CLASS_##call_class_,                                                     \
			     .per_thread = PER_THREAD(suffix_),                                                        \
			     .entry = (void *)symbol_},
#include "shim/api/runtime.def"
};

const char *gs_class_key(enum gs_call_class call_class)
{
	static const char *const keys[] = {
#define GS_CLASS_KEY(name, key, timed, submits, to_host, takes, flushes, forgets, tells) key,
		GS_CALL_CLASSES(GS_CLASS_KEY)
#undef GS_CLASS_KEY
	};

	return keys[call_class];
}
