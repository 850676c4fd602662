/* Assertions at two levels, for our own mistakes only; what the world does wrong is an error code.
 *
 * gsb_assert: kept in every build, for cheap checks whose failure would mean corrupting the program's memory.
 * gsb_debug_assert: only with GSB_DEBUG (BUILD=debug and the sanitizer builds). */
#ifndef GSB_ASSERT_H
#define GSB_ASSERT_H

_Noreturn void gsb_assert_failed(const char *condition, const char *file, int line);

#define gsb_assert(condition)                                                                                          \
	do {                                                                                                           \
		if (__builtin_expect(!(condition), 0))                                                                 \
			gsb_assert_failed(#condition, __FILE__, __LINE__);                                             \
	} while (0)

#ifdef GSB_DEBUG
#define gsb_debug_assert(condition) gsb_assert(condition)
#else
#define gsb_debug_assert(condition) ((void)sizeof(!(condition)))
#endif

#endif
