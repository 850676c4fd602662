/* For functions that read the stack frames of others: neither sanitizer has a say in what lies between the variables there. */
#ifndef GS_STACK_OTHERS_H
#define GS_STACK_OTHERS_H

#define GS_OTHERS_FRAMES __attribute__((no_sanitize("address"), no_sanitize("thread")))

#endif
