/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_TOOL_H
#define NARRATORIA_TOOL_H
/*
 * Extension narratoria.tool/1: a plugin with tools that are functions in the host's process. A plan
 * refers to one by its bare name ("toolPath": "weather"). If the plan's folder or the story's tools
 * folder also has an executable file "weather", such a plan is refused; "./weather" is always the
 * file. Names consist of at most 128 letters, digits, _ and -.
 * A host registers its own functions with nar_session_tools_add (tools.h).
 */
#include "narratoria/invocation.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NAR_EXTENSION_TOOL "narratoria.tool/1"

/* A flag: the tool mostly waits, for a network or a timer, and needs no processor core while it
 * does. It takes no job slot (nar_engine_options.jobs); an engine runs up to 1000 such tools
 * concurrently. */
#define NAR_TOOL_WAITS 1u

/* A flag: invoke reports the end before it returns; otherwise the attempt fails with TOOL_FAILED.
 * A CALL of such a tool takes no job slot (nar_engine_options.jobs). The tool must not hand over to a
 * process (run) or use its token to change the state (nar_host_context): both return
 * NAR_INVALID_ARGUMENT. */
#define NAR_TOOL_SYNCHRONOUS 2u

/* A flag: running the tool twice may do harm, because it acts outside the session (pays, sends,
 * deletes). nar_session_resume refuses a turn that was interrupted while the tool ran, unless
 * NAR_RESUME_REPEATS is given. Before such a tool starts, a session with a store waits for the
 * disk. Retries of a plan are not affected. */
#define NAR_TOOL_NOT_REPEATABLE 4u

typedef struct nar_tool {
    uint32_t size;
    uint32_t reserved;
    nar_str name;         /* of two tools with the same name, the one loaded first is used        */
    nar_str description;  /* what it does, for narrators                                          */
    nar_str input_schema; /* JSON Schema of its input, draft 4 to 2020-12, with references inside the
                             document; or spec 002's form with "parameters", whose "returns"
                             replaces result_schema. Any other text is refused together with the
                             plugin. Empty: any object. An input that violates it fails the attempt
                             with INPUT_INVALID, which is not retried, and invoke is not called.  */
    uint32_t flags;       /* NAR_TOOL_… joined by |, or 0; refused if another bit is set          */
    uint32_t reserved_2;
    nar_str result_schema; /* JSON Schema of done.result, like input_schema. Empty: any value. A
                              result that violates it fails the attempt with RESULT_INVALID.      */
    uint32_t try_ms;       /* timeout of an attempt; 0: the session's; NAR_NONE (engine.h): none. A
                              plan's timeoutMs overrides it                                       */
    uint32_t reserved_3;
} nar_tool;

typedef struct nar_tool_extension {
    uint32_t size;
    uint32_t reserved;
    const nar_tool *const *tools;
    uint64_t tool_count;

    /* Runs the tool. Reports through nar_host_invocation: output, then ended; from inside this
     * call, or later from any thread. It blocks the engine thread, so move slow work to a thread. A
     * script's CALL is fastest if the tool has succeeded when this returns, and its whole output is
     * one event
     *   {"version":"0","type":"done","ok":true,"result":…}
     * in this order, without spaces, and with a newline; "result" may be missing.
     * [engine-thread, active] */
    void (*invoke)(void *instance, uint64_t token, const nar_tool *tool,
                   const nar_invocation *invocation);

    /* Like cancel in tool_runner.h. May be NULL if invoke always reports the end before it returns.
     * [engine-thread, active] */
    void (*cancel)(void *instance, uint64_t token);
} nar_tool_extension;

#ifdef __cplusplus
}
#endif
#endif
