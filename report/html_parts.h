/* The sources of the page (report/page), which the program carries inside of it. */
#ifndef GSR_HTML_PARTS_H
#define GSR_HTML_PARTS_H

struct gsr_page_part {
	const char *file; /* its name in report/page */
	const char *text;
};

extern const struct gsr_page_part gsr_page_parts[]; /* in the order of parts.def; the one behind the last has no text */

#endif
