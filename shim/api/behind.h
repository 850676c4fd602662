/* Other preloaded libraries that are named behind us. A program that calls a function which we export would, without
 * us, reach theirs before the real one; so what they define is what we call. */
#ifndef GS_API_BEHIND_H
#define GS_API_BEHIND_H

/* The first definition among them, or NULL. Takes the loader's lock for a moment. */
void *gs_behind_symbol(const char *name);

#endif
