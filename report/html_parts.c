/* See html_parts.h. The assembler reads the files, so this is compiled in the root of the source tree. */
#include "report/html_parts.h"

#include <stddef.h>

#define PART(name, path)                                                                                               \
	__asm__(".pushsection .rodata\n"                                                                               \
		".globl gsr_page_" #name "\n"                                                                          \
		".hidden gsr_page_" #name "\n"                                                                         \
		"gsr_page_" #name ":\n"                                                                                \
		".incbin \"report/page/" path "\"\n"                                                                   \
		".byte 0\n"                                                                                            \
		".popsection\n");                                                                                      \
	extern const char gsr_page_##name[];
#include "report/page/parts.def"
#undef PART

const struct gsr_page_part gsr_page_parts[] = {
#define PART(name, path) {path, gsr_page_##name},
#include "report/page/parts.def"
#undef PART
    {NULL, NULL}};
