/* SPDX-License-Identifier: Apache-2.0 */
/* The tide of the river: a tool as a function of a plugin, in C. */
#include <narratoria/tool.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "org.example.tide"

typedef struct instance {
    const nar_host *host;
    const nar_host_invocation *invocations;
} instance;

static const nar_tool tide = {
    .size = sizeof tide,
    .name = NAR_STR_INIT("tide"),
    .description = NAR_STR_INIT("The level of the river some hours from now, in feet"),
    .input_schema = NAR_STR_INIT("{\"type\":\"object\",\"required\":[\"hours\"],"
                                 "\"properties\":{\"hours\":{\"type\":\"integer\","
                                 "\"minimum\":0,\"maximum\":24}}}"),
};
static const nar_tool *const tools[] = {&tide};

static void invoke(void *made, uint64_t token, const nar_tool *asked,
                   const nar_invocation *invocation) {
    const instance *self = made;
    /* The input has been checked against the schema, so "hours" has one number. */
    static const char key[] = "\"hours\":";
    const char *at = invocation->request.data;
    const char *const end = at + invocation->request.size - sizeof key;
    while (at < end && memcmp(at, key, sizeof key - 1) != 0) ++at;
    const long level = 4 + strtol(at + sizeof key - 1, NULL, 10) % 6;
    char events[256];
    (void)asked;
    snprintf(events, sizeof events,
             "{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"river\":{\"level\":%ld}}}\n"
             "{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"result\":{\"level\":%ld}}\n",
             level, level);
    self->invocations->output(self->host, token, (nar_str){events, strlen(events)});
    self->invocations->ended(self->host, token, NULL);
}

static const nar_tool_extension extension = {
    .size = sizeof extension,
    .tools = tools,
    .tool_count = sizeof tools / sizeof *tools,
    .invoke = invoke,
};

static nar_status init(const nar_host *host, void **made, nar_failure *failure) {
    instance *self = malloc(sizeof *self);
    (void)failure;
    if (self == NULL) return NAR_OUT_OF_MEMORY;
    self->host = host;
    self->invocations = host->get_extension(host, NAR_STR(NAR_HOST_INVOCATION));
    *made = self;
    return NAR_OK;
}

static void deinit(void *made) { free(made); }

static const void *get_extension(nar_str id) {
    static const char known[] = NAR_EXTENSION_TOOL;
    return id.size == sizeof known - 1 && memcmp(id.data, known, id.size) == 0 ? &extension : NULL;
}

static const nar_str extensions[] = {NAR_STR_INIT(NAR_EXTENSION_TOOL)};
static const nar_plugin description = {
    .size = sizeof description,
    .abi_version = NAR_ABI_VERSION,
    .id = NAR_STR_INIT(ID),
    .name = NAR_STR_INIT("The tide"),
    .version = NAR_STR_INIT("1.0.0"),
    .extensions = extensions,
    .extension_count = 1,
    .init = init,
    .deinit = deinit,
    .get_extension = get_extension,
};

NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",\"id\":\"" ID
                "\",\"name\":\"The tide\","
                "\"version\":\"1.0.0\",\"abi\":\"1.0\",\"extensions\":[\"" NAR_EXTENSION_TOOL
                "\"]}");

NAR_PLUGIN_EXPORT nar_status nar_plugin_entry(const nar_host_description *host,
                                              const nar_plugin **plugin, nar_failure *failure) {
    if (host->abi_version >> 16 != NAR_ABI_MAJOR) {
        snprintf(failure->message, sizeof failure->message,
                 "the tide was built for a different major version of the ABI");
        return NAR_UNSUPPORTED;
    }
    *plugin = &description;
    return NAR_OK;
}
