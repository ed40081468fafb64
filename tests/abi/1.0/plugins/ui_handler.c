/* SPDX-License-Identifier: Apache-2.0 */
/* Takes "weather", and writes into the state how often it came. */
#include "narratoria/ui_handler.h"

#include <stdio.h>

#include "frozen.h"
#include "narratoria/host_session.h"

static nar_status init(const nar_host *host, void **self, nar_failure *failure) {
    return init_with(host, NAR_STR(NAR_HOST_STATE), self, failure);
}

static nar_status handle(void *self, const nar_ui_event *event) {
    struct instance *instance = self;
    const nar_host_state *state = instance->extension;
    if (event->name.size != 7 || memcmp(event->name.data, "weather", 7) != 0) return NAR_DECLINED;
    if (state == NULL) return NAR_FAILED;
    char patch[64];
    const int size = snprintf(patch, sizeof patch, "{\"weather\":{\"count\":%llu}}",
                              (unsigned long long)++instance->count);
    const nar_str text = {patch, (uint64_t)size};
    return state->patch(instance->host, text);
}

static const nar_str events[] = {NAR_STR_INIT("weather")};
static const nar_ui_handler_extension extension = {sizeof extension, 5, events, 1, handle};
FROZEN_PLUGIN("org.narratoria.frozen.ui-handler", NAR_EXTENSION_UI_HANDLER)
