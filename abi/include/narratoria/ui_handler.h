/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_UI_HANDLER_H
#define NARRATORIA_UI_HANDLER_H
/*
 * Extension narratoria.ui_handler/1: a plugin that carries out the ui_events of tools (spec 000
 * §4.4). The handlers that name an event are called in descending order of priority, at equal
 * priority in the order of loading, until one returns NAR_OK. If none does, the event stream
 * receives a record NAR_KIND_UI_PLACEHOLDER with the event's name and payload.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_UI_HANDLER "narratoria.ui_handler/1"

/* Valid until handle returns. */
typedef struct nar_ui_event {
    uint32_t size;
    uint32_t attempt; /* of the tool, from 1                                                      */
    uint64_t seq;     /* of the event's record in the event stream                                */
    nar_str plan_id;
    nar_str tool_id;
    nar_str name;     /* for example "narrative_choice"                                           */
    nar_str payload;  /* JSON, verbatim; {} if the tool sent none. For "narrative_choice", the    */
                      /* "choices" are all choices of the plan so far, without empty and repeated */
                      /* texts: show this list in place of the previous one. A "narrative_choice" */
                      /* without choices is not passed to handlers.                               */
} nar_ui_event;

typedef struct nar_ui_handler_extension {
    uint32_t size;
    int32_t priority;      /* higher is called first; 0 is usual                                  */
    const nar_str *events; /* names of events to handle; NULL and 0: all events                   */
    uint64_t event_count;
    /* Handles one event. Returns NAR_OK if it did, NAR_DECLINED to pass the event to the next
     * handler. Any other status is logged as a failure, and the next handler is called.
     * [engine-thread, active] */
    nar_status (*handle)(void *instance, const nar_ui_event *event);
} nar_ui_handler_extension;

#ifdef __cplusplus
}
#endif
#endif
