/* What ThreadSanitizer is told. The simulated driver has one lock, and who sees it sees every two driver calls in
 * order: races between the callers would hide behind it. So in a call the driver is hidden, its lock and all that it
 * touches, and only the order that a real driver gives to its callers is told: what came before a submission comes
 * before the host function that was submitted, and that before the end of a wait for its stream. Nothing otherwise. */
#ifndef SIM_TSAN_H
#define SIM_TSAN_H

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void __tsan_acquire(void *address);
void __tsan_release(void *address);

static inline void sim_tsan_hide(void)
{
	AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static inline void sim_tsan_show(void)
{
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
	AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

/* Also in a call: what came before the one comes before what follows the other. */
static inline void sim_tsan_before(void *place)
{
	AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
	__tsan_release(place);
	AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

static inline void sim_tsan_after(void *place)
{
	AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
	__tsan_acquire(place);
	AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}
#else
static inline void sim_tsan_hide(void)
{
}

static inline void sim_tsan_show(void)
{
}

static inline void sim_tsan_before(void *place)
{
	(void)place;
}

static inline void sim_tsan_after(void *place)
{
	(void)place;
}
#endif

#endif
