/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_UI_HANDLER_H
#define NARRATORIA_UI_HANDLER_H
/*
 * A plugin that carries out what tools ask of the user interface (spec 000 §4.4). Of the handlers
 * that name an event the one with the highest priority is asked first (equal: the one loaded first),
 * and the first that takes it ends the matter. When none does, the stream gets a record
 * NAR_KIND_UI_PLACEHOLDER with the event's name and payload.
 */
#include "narratoria/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_UI_HANDLER "narratoria.ui_handler/1"

/* Lives until handle returns. */
typedef struct nar_ui_event {
    uint32_t size;
    uint32_t attempt; /* of the tool, 1, 2 …                                                     */
    uint64_t seq;     /* of its record in the event stream                                       */
    nar_str plan_id;
    nar_str tool_id;
    nar_str name;     /* "narrative_choice"                                                      */
    nar_str payload;  /* JSON, verbatim; {} when the tool sent none                              */
} nar_ui_event;

typedef struct nar_ui_handler_extension {
    uint32_t size;
    int32_t priority;      /* higher is asked first; 0 is usual                                  */
    const nar_str *events; /* the names it knows; NULL and 0: it is asked for each               */
    uint64_t event_count;
    /* NAR_OK: taken. NAR_DECLINED: not this one. Anything else: it failed, which is logged, and the
     * next is asked. [engine-thread, active] */
    nar_status (*handle)(void *instance, const nar_ui_event *event);
} nar_ui_handler_extension;

#ifdef __cplusplus
}
#endif
#endif
