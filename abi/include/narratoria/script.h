/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SCRIPT_H
#define NARRATORIA_SCRIPT_H
/*
 * Nuwa Script (spec 002). A script computes, and its CALLs run tools of the session. Its source may
 * come from a language model: an invalid script is refused with a position, and a script runs
 * within limits (docs/nuwa-script.md).
 */
#include "narratoria/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a script ended. The views are valid during the call. */
typedef struct nar_script_end {
    uint32_t size;
    uint32_t ok;        /* 1: it ran to its end                                                    */
    nar_str scope;      /* JSON object: the variables of the outermost scope, also after an error.
                           Empty with NAR_SCRIPT_WITHOUT_SCOPE, and if it exceeds the limit
                           script_value_bytes; a script without any other error then ends with
                           SizeLimitError                                                          */
    nar_str error;      /* {"name","message","line","column","text"}, or empty if ok. line and     */
                        /* column begin at 1; 0: no place in the source. "text" is for people: the */
                        /* error, then the line of the source with a caret below the place         */
    nar_result *result; /* of its CALLs, as for an executed plan; NULL without CALLs. Valid during
                           the call unless retained                                                */
} nar_script_end;

/* `printed` receives each line that the script prints while it runs, without a newline. `ended` is
 * called exactly once for each accepted script. Each may be NULL. [engine-thread] */
typedef struct nar_script_handler {
    uint32_t size;
    uint32_t reserved;
    void *user;
    void (*printed)(void *user, nar_str line);
    void (*ended)(void *user, const nar_script_end *end);
} nar_script_handler;

enum {
    /* A flag: the variables are not needed at the end. */
    NAR_SCRIPT_WITHOUT_SCOPE = 1
};

typedef struct nar_script {
    uint32_t size;
    uint32_t flags; /* NAR_SCRIPT_…                                                                */
    nar_str source; /* Nuwa Script, UTF-8                                                          */
    nar_str scope;  /* JSON object: the initial variables. Empty: no variables                    */
    nar_str tools;  /* a folder; its executable files can be called (see below). Empty: no folder */
} nar_script;

/*
 * Runs a script. It is queued like a plan: jobs of a session run one after another.
 *
 * `CALL name {…}` runs the tool `name`: a registered tool, or an executable file of the story's
 * tools folder or of `tools`. The name in scripts is the name of the tool, or the file name without
 * extension. Each character that is not allowed in an identifier is replaced by "_"; a leading
 * digit and a keyword get the prefix "_": tools/torch-lighter.py is torch_lighter, the function
 * "ring-bell" is ring_bell, and tools/3d is _3d. An ambiguous name cannot be called. The arguments
 * are the tool's input, and the value is done.result, or null. The tools run like those of a plan:
 * with records for the sinks (the execution is "open", and NAR_KIND_TOOL_PENDING has the "line" of
 * the CALL), retries, limits, state patches and assets. A script that waits for a tool does not
 * block the engine.
 *
 * NAR_INVALID_DOCUMENT: the source is not a valid script, or `scope` is not a JSON object; nothing
 * was started. The details are {"error": …} as in nar_script_end, and the message is its "text".
 * [engine-thread, callback-ok]
 */
NAR_API nar_status nar_session_run_script(nar_session *session, const nar_script *script,
                                          const nar_script_handler *handler, uint64_t *submission,
                                          nar_error *error);

/* Checks a script without running it. Returns the places at which it fails whenever it gets there,
 * as a JSON array of errors in the form of nar_script_end, in the order of the source; release it
 * with nar_text_release. They are unknown functions and tools, wrong numbers of arguments, and
 * variables that nothing sets; also arguments that a tool drops, because its schema does not name
 * them. If the script is not valid, the only error says why. If `scope` is empty, its variables
 * are unknown, and one that nothing sets is an error only if its name cannot be meant as one
 * (WHILE). The tools are those that nar_session_run_script would find now. An empty array does not
 * mean that the script will succeed. NAR_INVALID_DOCUMENT: `scope` is not a JSON object.
 * [engine-thread, callback-ok] */
NAR_API nar_status nar_session_check_script(nar_session *session, const nar_script *script,
                                            nar_text **errors, nar_error *error);

/* Returns the names of all tools that a script can CALL now, as a sorted JSON array of strings;
 * release it with nar_text_release. `tools` is the folder of nar_script, or empty. Reads the
 * folders at each call. [engine-thread, callback-ok] */
NAR_API nar_status nar_session_script_names(nar_session *session, nar_str tools, nar_text **names,
                                            nar_error *error);

/* Parses a script without running it. Returns its syntax tree as JSON (docs/nuwa-script.md);
 * release it with nar_text_release. If `tree` is NULL, only checks if the script is valid.
 * NAR_INVALID_DOCUMENT as above; "incomplete":true in the error means that the script has no fault
 * so far, and appending text can complete it. [thread-safe] */
NAR_API nar_status nar_script_parse(nar_str source, nar_text **tree, nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
