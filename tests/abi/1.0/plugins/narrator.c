/* SPDX-License-Identifier: Apache-2.0 */
/* Answers at once with a plan that has no tools, and says no to every third request. */
#include "narratoria/narrator.h"

#include "frozen.h"

static nar_status init(const nar_host *host, void **self, nar_failure *failure) {
    return init_with(host, NAR_STR(NAR_EXTENSION_NARRATOR), self, failure);
}

static void generate(void *self, uint64_t token, nar_str request) {
    struct instance *instance = self;
    const nar_host_narrator *narrator = instance->extension;
    if (narrator == NULL) return;
    if (request.size == 0 || ++instance->count % 3 == 0) {
        (void)narrator->fail(instance->host, token, NAR_STR("this one does not answer today"));
        return;
    }
    (void)narrator->reply(instance->host, token,
                          NAR_STR("{\"requestId\":\"frozen\",\"narrative\":\"Snow falls.\","
                                  "\"tools\":[]}"));
}

static const nar_narrator_extension extension = {sizeof extension, 0, generate, NULL};
FROZEN_PLUGIN("org.narratoria.frozen.narrator", NAR_EXTENSION_NARRATOR)
