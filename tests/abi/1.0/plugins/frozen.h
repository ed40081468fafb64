/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_TESTS_FROZEN_H
#define NARRATORIA_TESTS_FROZEN_H
/* What every plugin of this folder has: note, description and entry for one extension, a static
 * struct `extension`, and the functions init and deinit. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "narratoria/plugin.h"

#define FROZEN_PLUGIN(plugin_id, extension_id)                                                    \
    NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",\"id\":\"" plugin_id                                \
                    "\",\"name\":\"Frozen\","                                                     \
                    "\"version\":\"1.0.0\",\"abi\":\"1.0\",\"extensions\":[\"" extension_id       \
                    "\"]}");                                                                      \
    static const nar_str extensions[] = {NAR_STR_INIT(extension_id)};                             \
    static const void *get_extension(nar_str id) {                                                \
        return id.size == extensions[0].size && memcmp(id.data, extensions[0].data, id.size) == 0 \
                   ? &extension                                                                   \
                   : NULL;                                                                        \
    }                                                                                             \
    static const nar_plugin plugin = {sizeof plugin,                                              \
                                      NAR_ABI_VERSION,                                            \
                                      NAR_STR_INIT(plugin_id),                                    \
                                      NAR_STR_INIT("Frozen"),                                     \
                                      NAR_STR_INIT("1.0.0"),                                      \
                                      extensions,                                                 \
                                      1,                                                          \
                                      init,                                                       \
                                      deinit,                                                     \
                                      get_extension};                                             \
    nar_status nar_plugin_entry(const nar_host_description *host, const nar_plugin **found,       \
                                nar_failure *failure) {                                           \
        if (host->abi_version >> 16 != NAR_ABI_MAJOR) {                                           \
            static const char reason[] = "built for ABI 1, and the host has another major";       \
            memcpy(failure->message, reason, sizeof reason);                                      \
            return NAR_UNSUPPORTED;                                                               \
        }                                                                                         \
        *found = &plugin;                                                                         \
        return NAR_OK;                                                                            \
    }

/* What these instances know: their host, and one extension of it, which may be missing. */
struct instance {
    const nar_host *host;
    const void *extension;
    uint64_t count;
};

static nar_status init_with(const nar_host *host, nar_str wanted, void **self,
                            nar_failure *failure) {
    struct instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL) {
        memcpy(failure->message, "memory ran out", sizeof "memory ran out");
        return NAR_OUT_OF_MEMORY;
    }
    instance->host = host;
    instance->extension = host->get_extension(host, wanted);
    *self = instance;
    return NAR_OK;
}

static void deinit(void *self) { free(self); }

#endif
