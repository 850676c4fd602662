/* See json_text.h. */
#include "report/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "report/text.h"
#include "shim/base/text.h"

void gsr_out_bytes(FILE *out, const char *bytes, size_t length)
{
	fputc('"', out);
	for (size_t at = 0; at < length;) {
		unsigned char c = (unsigned char)bytes[at];
		size_t sequence;
		unsigned code;

		if (c < 0x80) {
			if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
				fprintf(out, "\\u%04x", c);
			else
				fputc(c, out);
			at++;
			continue;
		}
		sequence = gsb_utf8_length(bytes + at, length - at);
		if (sequence == 0)
			fputs("\xef\xbf\xbd", out);
		else if (gsr_harmful(bytes + at, &code) > 0)
			fprintf(out, "\\u%04x", code);
		else
			fwrite(bytes + at, 1, sequence, out);
		at += sequence > 0 ? sequence : 1;
	}
	fputc('"', out);
}

char *gsr_text_clean(const char *bytes, size_t length, size_t *ret_length)
{
	char *clean = malloc(3 * length + 1);
	size_t used = 0;

	if (clean == NULL)
		abort();
	for (size_t at = 0; at < length;) {
		size_t sequence = (unsigned char)bytes[at] < 0x80 ? 1 : gsb_utf8_length(bytes + at, length - at);

		memcpy(clean + used, sequence > 0 ? bytes + at : "\xef\xbf\xbd", sequence > 0 ? sequence : 3);
		used += sequence > 0 ? sequence : 3;
		at += sequence > 0 ? sequence : 1;
	}
	clean[used] = '\0';
	*ret_length = used;
	return clean;
}

void gsr_out_text(FILE *out, const char *text)
{
	gsr_out_bytes(out, text, strlen(text));
}
