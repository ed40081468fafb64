/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the tool "frozen-snow", which always succeeds. */
#include "narratoria/tool.h"

#include "frozen.h"

static nar_status init(const nar_host *host, void **self, nar_failure *failure) {
    return init_with(host, NAR_STR(NAR_HOST_INVOCATION), self, failure);
}

static void invoke(void *self, uint64_t token, const nar_tool *tool,
                   const nar_invocation *invocation) {
    struct instance *instance = self;
    const nar_host_invocation *host = instance->extension;
    if (host == NULL || tool->size < sizeof *tool || invocation->attempt == 0) return;
    (void)host->output(
        instance->host, token,
        NAR_STR("{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"snow\":true}}\n"
                "{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"summary\":\"It snows.\"}\n"));
    nar_invocation_end end;
    memset(&end, 0, sizeof end);
    end.size = sizeof end;
    (void)host->ended(instance->host, token, &end);
}

static const nar_tool snow = {.size = sizeof snow,
                              .name = NAR_STR_INIT("frozen-snow"),
                              .description = NAR_STR_INIT("Lets it snow."),
                              .input_schema = NAR_STR_INIT("{\"type\":\"object\"}")};
static const nar_tool *const tools[] = {&snow};
static const nar_tool_extension extension = {sizeof extension, 0, tools, 1, invoke, NULL};
FROZEN_PLUGIN("org.narratoria.frozen.tool", NAR_EXTENSION_TOOL)
