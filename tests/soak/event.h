/* Events that live in slots for a while: recorded, waited for, asked, destroyed early. */
#ifndef SOAK_EVENT_H
#define SOAK_EVENT_H

#include "tests/soak/stream.h"

/* One operation each on a slot by draw. */
void event_make_or_destroy(int context);
void event_record_some(int stream);
void event_wait_some(int stream);
void event_ask_some(void);

void events_forget(int context);

/* An event whose record covers the needed operation of that stream; NULL when there is none. */
const struct clock *event_find(int stream, uint32_t number, cudaEvent_t *ret_event);

/* A new event, recorded on the stream by the thread that may; the caller destroys it. */
cudaEvent_t event_recorded(int stream, struct clock *ret_clock);
void event_destroy(cudaEvent_t event);
void event_await(cudaEvent_t event, const struct clock *clock);

/* The stream waits. */
void stream_wait(int stream, cudaEvent_t event, const struct clock *clock);

#endif
