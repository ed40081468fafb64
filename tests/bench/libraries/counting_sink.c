/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest useful plugin: a sink that counts. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "narratoria/event_sink.h"

NAR_PLUGIN_NOTE(
    "{\"schema\":\"plugin/1\",\"id\":\"bench.sink\",\"name\":\"Counting sink\","
    "\"version\":\"1\",\"abi\":\"1.0\",\"extensions\":[\"narratoria.event_sink/1\"]}");

static nar_status init(const nar_host *host, void **instance, nar_failure *failure) {
    (void)host;
    (void)failure;
    *instance = calloc(1, sizeof(uint64_t));
    return *instance != NULL ? NAR_OK : NAR_OUT_OF_MEMORY;
}

static void deinit(void *instance) { free(instance); }

static void on_event(void *instance, const nar_event *event) {
    *(uint64_t *)instance += event->seq ^ event->body.size;
}

static const void *get_extension(nar_str id) {
    static const nar_event_sink_extension sink = {sizeof sink, 0, 0, on_event};
    const size_t size = sizeof NAR_EXTENSION_EVENT_SINK - 1;
    return id.size == size && memcmp(id.data, NAR_EXTENSION_EVENT_SINK, size) == 0 ? &sink : NULL;
}

nar_status nar_plugin_entry(const nar_host_description *host, const nar_plugin **plugin,
                            nar_failure *failure) {
    static const nar_str extensions[] = {NAR_STR_INIT(NAR_EXTENSION_EVENT_SINK)};
    static const nar_plugin description = {sizeof description,
                                           NAR_ABI_VERSION,
                                           NAR_STR_INIT("bench.sink"),
                                           NAR_STR_INIT("Counting sink"),
                                           NAR_STR_INIT("1"),
                                           extensions,
                                           1,
                                           init,
                                           deinit,
                                           get_extension};
    (void)host;
    (void)failure;
    *plugin = &description;
    return NAR_OK;
}
