/* A tool library that lets the next one have a say, as OpenMP's ompt_start_tool does: it looks its own symbol up behind
 * itself. Tests preload it and lib_next_b in either order. */
#include <dlfcn.h>
#include <stddef.h>

#ifndef NEXT_NAME
#define NEXT_NAME "a"
#endif

typedef const char *next_tool_fn(char *trail);

const char *next_tool(char *trail);

static void append(char *trail, const char *text)
{
	while (*trail != '\0')
		trail++;
	while ((*trail++ = *text++) != '\0')
		;
}

/* Appends the names of the libraries that were asked, each twice if the two look-ups of one thread agree. */
const char *next_tool(char *trail)
{
	next_tool_fn *next, *again;

	append(trail, NEXT_NAME);
	*(void **)&next = dlsym(RTLD_NEXT, "next_tool");
	*(void **)&again = dlsym(RTLD_NEXT, "next_tool");
	append(trail, next == again ? "=" : "!");
	if (next == next_tool)
		append(trail, "loop");
	else if (next != NULL)
		next(trail);
	return trail;
}
