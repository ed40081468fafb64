/* SPDX-License-Identifier: Apache-2.0 */
/* Says in the log how each plan ended; wants no other events. */
#include "narratoria/event_sink.h"

#include "frozen.h"

static nar_status init(const nar_host *host, void **self, nar_failure *failure) {
    return init_with(host, NAR_STR(NAR_HOST_LOG), self, failure);
}

static void event(void *self, const nar_event *seen) {
    struct instance *instance = self;
    const nar_host_log *log = instance->extension;
    ++instance->count;
    if (log != NULL && seen->body.size > 0) log->write(instance->host, 2, seen->plan_id);
}

static const nar_event_sink_extension extension = {sizeof extension, 1u << NAR_KIND_PLAN_ENDED,
                                                   event};
FROZEN_PLUGIN("org.narratoria.frozen.event-sink", NAR_EXTENSION_EVENT_SINK)
