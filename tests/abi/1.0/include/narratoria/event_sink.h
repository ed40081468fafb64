/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_EVENT_SINK_H
#define NARRATORIA_EVENT_SINK_H
/* A plugin that receives the session's whole event stream (event.h): a log, a recorder, a view. */
#include "narratoria/event.h"
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_EVENT_SINK "narratoria.event_sink/1"

typedef struct nar_event_sink_extension {
    uint32_t size;
    uint32_t kinds; /* a bit 1 << kind for each kind wanted; 0: all                              */
    /* One record; it and its views live until this returns. A kind that is not known is skipped. It
     * is called for every event of every tool: what takes long belongs behind it. Called in the
     * order in which the plugins were loaded. [engine-thread, active] */
    void (*event)(void *instance, const nar_event *event);
} nar_event_sink_extension;

#ifdef __cplusplus
}
#endif
#endif
