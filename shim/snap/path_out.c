/* See path_out.h. */
#include "shim/snap/path_out.h"

#include <string.h>

#include "shim/base/text.h"

/* Where the part begins that everybody may see. */
static const char *shown_part(const char *path)
{
	static const char *const known[] = {"/site-packages/", "/dist-packages/", "/lib/python", NULL};
	const char *slash = strrchr(path, '/');

	for (const char *const *part = known; *part != NULL; part++) {
		const char *found = strstr(path, *part);

		if (found != NULL)
			return found;
	}
	return slash;
}

static uint32_t hash_of(const char *text, size_t length)
{
	uint32_t hash = 0x811c9dc5u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x01000193u;
	return hash;
}

const char *gs_path_shown(const char *text, const struct gs_paths *paths, char chars[GS_PATH_TEXT_BYTES])
{
	size_t length = strlen(paths->folder);
	struct gsb_text shown;
	const char *part;

	if (paths->mode == GS_PATHS_FULL || text[0] != '/')
		return text;
	if (paths->mode == GS_PATHS_RELATIVE && length > 1 && strncmp(text, paths->folder, length) == 0 &&
	    (text[length] == '/' || text[length] == '\0'))
		return text[length] == '/' ? text + length + 1 : ".";
	part = shown_part(text);
	gsb_text_init(&shown, chars, GS_PATH_TEXT_BYTES);
	if (paths->mode == GS_PATHS_RELATIVE)
		gsb_text_add(&shown, "...%s", part);
	else
		gsb_text_add(&shown, "%08x%s", hash_of(text, (size_t)(part - text)), part);
	return chars;
}

void gs_path_text(struct gs_json *json, const char *key, const char *text, const struct gs_paths *paths)
{
	static char chars[GS_PATH_TEXT_BYTES]; /* one snapshot is written at a time, perhaps on a stack for signals */

	gs_json_text(json, key, gs_path_shown(text, paths, chars));
}
