/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In C, with another library that it loads and unloads, a cache that an atexit handler frees, and a
 * destructor of the library. ID is replaced by a test.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "narratoria/host_session.h"
#include "narratoria/ui_handler.h"

#ifndef ID
#define ID "test.plain"
#endif

struct plain {
    const nar_host *host;
    const nar_host_log *log;
    void *mathematics;
    double (*cosine)(double);
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *cache; /* the same for all sessions, written once */

static void free_cache(void) {
    free(cache);
    cache = NULL;
}
static void fill_cache(void) {
    cache = strdup("cached");
    atexit(free_cache);
}
__attribute__((destructor)) static void end(void) { free_cache(); }

static nar_status handle(void *instance, const nar_ui_event *event) {
    const struct plain *self = instance;
    if (event->payload.size == 0) return NAR_DECLINED;
    if (self->log != NULL && self->cosine != NULL && self->cosine(0) == 1.0) {
        self->log->write(self->host, 1, NAR_STR("handled"));
    }
    return NAR_OK;
}

static const nar_ui_handler_extension handler = {
    .size = sizeof handler, .events = NULL, .event_count = 0, .handle = handle};

static nar_status init(const nar_host *host, void **instance, nar_failure *failure) {
    struct plain *self = calloc(1, sizeof *self);
    (void)failure;
    if (self == NULL) return NAR_OUT_OF_MEMORY;
    pthread_once(&once, fill_cache);
    self->host = host;
    self->log = host->get_extension(host, NAR_STR(NAR_HOST_LOG));
    self->mathematics = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    if (self->mathematics != NULL) {
        void *const symbol = dlsym(self->mathematics, "cos");
        memcpy(&self->cosine, &symbol, sizeof symbol);
    }
    *instance = self;
    return NAR_OK;
}

static void deinit(void *instance) {
    struct plain *self = instance;
    if (self->mathematics != NULL) dlclose(self->mathematics);
    free(self);
}

static const void *get_extension(nar_str id) {
    static const char known[] = NAR_EXTENSION_UI_HANDLER;
    return id.size == sizeof known - 1 && memcmp(id.data, known, id.size) == 0 ? &handler : NULL;
}

static const nar_str extensions[] = {NAR_STR_INIT(NAR_EXTENSION_UI_HANDLER)};
static const nar_plugin description = {
    .size = sizeof description,
    .abi_version = NAR_ABI_VERSION,
    .id = NAR_STR_INIT(ID),
    .name = NAR_STR_INIT("Plain"),
    .version = NAR_STR_INIT("1.0.0"),
    .extensions = extensions,
    .extension_count = 1,
    .init = init,
    .deinit = deinit,
    .get_extension = get_extension,
};

NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",\"id\":\"" ID
                "\",\"name\":\"Plain\",\"version\":\"1.0.0\","
                "\"abi\":\"1.0\",\"extensions\":[\"narratoria.ui_handler/1\"]}");

NAR_PLUGIN_EXPORT nar_status nar_plugin_entry(const nar_host_description *host,
                                              const nar_plugin **plugin, nar_failure *failure) {
    if (host->abi_version >> 16 != NAR_ABI_MAJOR) {
        strcpy(failure->message, "built for a different major version of the ABI");
        return NAR_UNSUPPORTED;
    }
    *plugin = &description;
    return NAR_OK;
}
