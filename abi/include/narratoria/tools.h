/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_TOOLS_H
#define NARRATORIA_TOOLS_H
/*
 * The tools of a session, which plans, scripts and narrators call by name. A name has one owner:
 *   a file     each executable file of the story's tools folder, with its manifest
 *   a plugin   the tools of an extension narratoria.tool/1 (tool.h)
 *   a project  the tools that the session's project binds (nar_session_options.project)
 *   the host   what the host registers here: functions, and names for other tools
 *
 * A host registers its functions with nar_session_tools_add, one by one, at any time, even inside
 * callbacks. Each has its own owner and data, and the host can remove it again. nar_session_extend
 * (plugins.h) with NAR_EXTENSION_TOOL is for a host that already has an extension in the form of a
 * plugin, for example one that can also be built as a library: its tools are added together, stay
 * until the session ends, and replace tools of the same name.
 */
#include "narratoria/session.h"
#include "narratoria/tool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A flag: replaces a registered tool of the same name, whose running attempts are not affected. */
#define NAR_TOOL_REGISTRATION_REPLACES 1u

/*
 * A tool that the host registers. Everything is copied, including `tool` and its texts.
 *
 * Set either `invoke` or `path`. With `invoke` the tool is a function, which runs like a plugin's.
 * It reports through nar_host_invocation (invocation.h), which is
 * host->get_extension(host, NAR_STR(NAR_HOST_INVOCATION)) of the nar_host that
 * nar_session_tools_add returned, with the token: output, then ended, either inside the call or
 * later from any thread. Cancellation, time limits and events work as for a process. With `path` the name is an
 * alias of a different tool.
 */
typedef struct nar_tool_registration {
    uint32_t size;
    uint32_t flags;        /* NAR_TOOL_REGISTRATION_REPLACES or 0                                              */
    const nar_tool *tool;  /* name, description, schemas, times; passed to invoke as a copy       */
    nar_str owner;         /* the registering component, for lists and messages: at most 128 of a-z
                              0-9 . _ -, "my-game". Empty: "host"                                 */
    nar_str path;          /* a toolPath (spec 003): a file, relative to the story's folder, else to
                              the engine's root, or "scheme:rest". The file's manifest supplies the
                              fields that are empty in `tool`. The attempts obey allow_paths      */
    const nar_limits *limits; /* of `path`; NULL or 0: those of the session. Only the limits of a
                                 process and line_bytes                                           */
    void *user;            /* passed to the functions                                             */
    /* As in nar_tool_extension. An exception fails the attempt with TOOL_EXCEPTION.
     * [engine-thread] */
    void (*invoke)(void *user, uint64_t token, const nar_tool *tool,
                   const nar_invocation *invocation);
    /* Like cancel in tool_runner.h. May be NULL if invoke always reports the end before it returns.
     * [engine-thread] */
    void (*cancel)(void *user, uint64_t token);
    /* The last call, exactly once: the tool was removed or replaced, or the session ends, and all
     * its attempts have ended. May be NULL. Not called for a refused registration. It may be called
     * before the call that replaces or removes the tool returns; nar_session_tools_add has not yet
     * written *host at that point. It may call the session's functions, even to remove or replace
     * the tool that replaced its own: the `released` of that tool is then called before its
     * nar_session_tools_add returns. [engine-thread] */
    void (*released)(void *user);
} nar_tool_registration;

/*
 * Registers a tool. *host provides the services of a plugin's host (host.h), is valid as long as
 * the session, and is the same for all tools; `host` may be NULL. NAR_INVALID_ARGUMENT,
 * TOOL_NAME_IN_USE: a tool is already registered under this name; the message names both owners.
 * With any other code, a member violates the rule in the message. NAR_INVALID_DOCUMENT,
 * INPUT_SCHEMA or RESULT_SCHEMA: it is not a valid JSON Schema; the details list all faults, with
 * JSON Pointers into the schema. [engine-thread, callback-ok]
 */
NAR_API nar_status nar_session_tools_add(nar_session *session,
                                         const nar_tool_registration *registration,
                                         const nar_host **host, nar_error *error);

/* Removes a registered tool of any owner. Its running attempts are not affected; an attempt that
 * has not begun fails. NAR_NOT_FOUND: no registered tool has this name; the message says if a file
 * has it. Allowed inside the tool's own functions. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_tools_remove(nar_session *session, nar_str name, nar_error *error);

/*
 * Looks up the tool of a name: a registered one, or a file of the story's tools folder. Returns it as
 * JSON; release it with nar_text_release:
 *   {"name", "scriptName", "description", "inputSchema", "resultSchema", "runner", "origin": {"kind":
 *    "file" | "plugin" | "host" | "project", "place"}, "binding", "guarantees", "target", "times":
 *    {"try_ms"}, "limits": {…}, "problem"}
 *   scriptName                 the name by which scripts CALL it (script.h)
 *   inputSchema, resultSchema  JSON Schema; missing: any object, any value
 *   runner                     "process", "function", the scheme of a tool runner, or of a
 *                              project's tool "local", "service", "container"
 *   origin.place               the path of the file, the id of the plugin, the owner in the host
 *   binding                    only for a project's tool (spec 001): {"source": "binding" |
 *                              "installed_pack" | "builtin_pack", "kind", "entry", "purity",
 *                              "pack"?: {"id", "name", "version"}, "guarantees": {"no_network":
 *                              true, …, "secrets_allowed"?: […]}, "sources": {guarantee: "pack" |
 *                              "tool" | "user" | "policy"}, "allowUnsafeExecution"?: true}, and of
 *                              a local tool "pythonEnv", "pythonPath", "sandbox", of a service "url",
 *                              "handshakeRequired", of a container "image", "command"?,
 *                              "enforcement"?
 *   guarantees                 what the engine and the story require of the tool, in the format of
 *                              "guarantees" of a binding; missing if they require nothing
 *   target                     the toolPath of a registered name; missing for functions and files
 *   times, limits              missing: those of the session. try_ms 0, or a limit null: none
 *   problem                    why the tool cannot run, for example an invalid manifest or no
 *                              interpreter; missing if no problem is known
 * NAR_NOT_FOUND: no tool has this name. NAR_INVALID_ARGUMENT, TOOL_AMBIGUOUS: a registered tool and a
 * file have it; the message names both. [engine-thread, callback-ok]
 */
NAR_API nar_status nar_session_tools_find(nar_session *session, nar_str name, nar_text **json,
                                          nar_error *error);

/* Returns all tools as a JSON array of objects as nar_session_tools_find returns them: files by
 * name, then registered tools in the order of registration; release it with nar_text_release. Reads
 * the story's tools folder at each call. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_tools_list(nar_session *session, nar_text **json, nar_error *error);

/* The formats in which model APIs accept tools. */
#define NAR_TOOLS_OPENAI 1u /* {"type": "function", "function": {"name", "description", "parameters"}} */
#define NAR_TOOLS_MCP 2u    /* Model Context Protocol: {"name", "description", "inputSchema",
                               "outputSchema"?}; outputSchema only if the result is an object      */

/* Returns the tools that a model can call, in the order of nar_session_tools_list, in one of these
 * forms; release it with nar_text_release:
 *   {"tools": [each in that form], "leftOut": [{"name", "reason"}, …]}
 * Both forms require "type": "object" in an input schema; it is added, and a list of types is
 * narrowed to it. leftOut lists the tools that cannot run, that have a name which the form does not
 * allow (OpenAI: 1 to 64 letters, digits, _ and -; MCP: 1 to 128, and also .), or that have an
 * input schema which allows no object. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_tools_for_models(nar_session *session, uint32_t form,
                                                nar_text **json, nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
