/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_VALIDATE_H
#define NARRATORIA_VALIDATE_H
/* Checks documents against their schema and against the rules that a schema cannot express. */
#include "narratoria/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    NAR_DOCUMENT_EVENTS = 1, /* a tool's output: NDJSON, protocol version "0" (spec 000, 004)    */
    NAR_DOCUMENT_PLAN = 2,   /* Plan JSON (spec 003 §13.3)                                       */
    NAR_DOCUMENT_RESULT = 3, /* an execution result (spec 003 §13.5)                             */
    NAR_DOCUMENT_STORY = 4,  /* `text` is the path of a story's folder                           */
    NAR_DOCUMENT_PLUGIN = 5, /* a plugin's metadata (abi/schemas/plugin-1.schema.json)           */
    NAR_DOCUMENT_TOOL = 6,   /* a tool's manifest (abi/schemas/tool-1.schema.json)               */
    NAR_DOCUMENT_TOOL_FILE = 7, /* `text` is the path of a manifest. Also checks that its name is
                                   the NAME of the file NAME.tool.json. NAR_IO: the file cannot be
                                   read                                                          */
    NAR_DOCUMENT_PROJECT = 8, /* `text` is the path of a Namel3ss project's folder (spec 001).
                                 Checks its files, and whether its calls can work on this
                                 machine                                                         */

    /* Combined with a kind (NAR_DOCUMENT_EVENTS | NAR_DOCUMENT_WARNINGS) to list warnings among the
     * faults. A warning is a violation that the runtime accepts and reports, for example of the
     * rule "event-timestamp". For a story, the warnings include files and plugins that the story
     * names and that are missing on this machine. Libraries that do not know this bit return
     * NAR_INVALID_ARGUMENT. */
    NAR_DOCUMENT_WARNINGS = 0x100
};

/* Returns all faults as JSON, in the order in which they occur in the text; release it with
 * nar_text_release:
 *   [{"file", "line", "column", "byte", "pointer", "rule", "level", "tool", "message"}]
 * `file` is present only for a story and a project. `level` is "warning" in a warning, otherwise
 * absent. `tool` is present only in a warning about a tool that a plugin of the story may provide
 * (story-tool-plugin), and is its name. Line and column count from 1, byte from 0; all three are
 * absent if the fault concerns a whole file, such as a missing one. An empty array means that the
 * document is valid. NAR_OK means that the document was checked. [thread-safe] */
NAR_API nar_status nar_validate(uint32_t document, nar_str text, nar_text **faults,
                                nar_error *error);

#ifdef __cplusplus
}
#endif
#endif
