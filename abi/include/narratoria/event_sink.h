/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_EVENT_SINK_H
#define NARRATORIA_EVENT_SINK_H
/* Extension narratoria.event_sink/1: a plugin that receives the session's whole event stream
 * (event.h), for example a log, a recorder or a view. */
#include "narratoria/event.h"
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_EVENT_SINK "narratoria.event_sink/1"

typedef struct nar_event_sink_extension {
    uint32_t size;
    uint32_t reserved;
    uint64_t kinds; /* NAR_KIND_BIT of each kind to receive, joined by |; 0 selects all           */
    /* Receives one record. It and its views are valid until this function returns. Skip unknown
     * kinds. Sinks are called in the order in which the plugins were loaded. This function runs for
     * every event of every tool, so move slow work to a thread. [engine-thread, active] */
    void (*event)(void *instance, const nar_event *event);
} nar_event_sink_extension;

#ifdef __cplusplus
}
#endif
#endif
