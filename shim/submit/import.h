/* Driver functions that some loaded library or the program itself imports by name and that the table does not list: calls of
 * them pass us (H17). */
#ifndef GS_SUBMIT_IMPORT_H
#define GS_SUBMIT_IMPORT_H

#include <stdbool.h>

/* Looks again if objects were loaded since; cheap if not. The name of such a function, NULL if there is none. */
const char *gs_import_unlisted(void);

#endif
