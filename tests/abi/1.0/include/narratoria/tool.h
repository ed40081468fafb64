/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_TOOL_H
#define NARRATORIA_TOOL_H
/*
 * A plugin that brings tools as functions in the host's process. A plan names one by its name alone
 * ("toolPath": "weather"); registered names come before files. Names have letters, digits, _ and - only.
 */
#include "narratoria/invocation.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_TOOL "narratoria.tool/1"

typedef struct nar_tool {
    uint32_t size;
    uint32_t reserved;
    nar_str name;         /* of two tools with the same name the one loaded first has it         */
    nar_str description;  /* what it does, for narrators                                         */
    nar_str input_schema; /* JSON Schema of its input, draft 4, as RapidJSON knows it; other keywords
                             are ignored; "$ref" is refused, and the plugin with it. Empty: any
                             object. An input that breaks it fails the attempt with INPUT_INVALID,
                             and invoke is not called                                            */
} nar_tool;

typedef struct nar_tool_extension {
    uint32_t size;
    uint32_t reserved;
    const nar_tool *const *tools;
    uint64_t tool_count;

    /* Does its work and tells it by nar_host_invocation: output, then ended; here, or later from any
     * thread. The engine thread waits while it runs, so what takes long belongs elsewhere.
     * [engine-thread, active] */
    void (*invoke)(void *instance, uint64_t token, const nar_tool *tool,
                   const nar_invocation *invocation);

    /* As in tool_runner.h; may be NULL when invoke always ends before it returns.
     * [engine-thread, active] */
    void (*cancel)(void *instance, uint64_t token);
} nar_tool_extension;

#ifdef __cplusplus
}
#endif
#endif
