/* What a program prints: one line an operation and more where it learns something. Two runs of one program are
 * compared by these lines, so nothing may get into them that depends on addresses, on the schedule or on time. */
#ifndef SOAK_SAY_H
#define SOAK_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The operation that what follows belongs to. */
void say_operation(unsigned number);

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A call that has to succeed; ends the program when it does not. */
void need(int error, const char *call);
#define NEED_OK(call) need((int)(call), #call)

/* A call whose code is compared. */
void say_code(const char *call, int error);
#define SAY_CODE(call) say_code(#call, (int)(call))

/* The answer of an allocation: true = there is memory. Where memory is short (PROGRAM_SMALL) it is not compared. */
bool say_allocated(const char *call, size_t size_bytes, int error);
bool say_is_small(void);

uint64_t digest_words(const uint32_t *words, uint64_t count);

/* At the end: number of out-of-memory answers, on stderr. */
unsigned long say_refusals(void);

#endif
