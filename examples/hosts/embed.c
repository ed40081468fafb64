/* SPDX-License-Identifier: Apache-2.0 */
/* The engine in a C program: runs a plan, prints the tools' events while they run, then the result.
 * Tool paths are relative to the plan file, which must be smaller than 1 MiB.
 *     embed PLAN.json */
#include "narratoria/narratoria.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void print_event(void *user, const nar_event *event) {
    fprintf(user, "%.*s\n", (int)event->body.size, event->body.data);
}

static void print_result(void *user, nar_result *result) {
    *(int *)user = nar_result_success(result) ? 0 : 1;
    fflush(stdout); /* nar_result_write_to bypasses the buffer of stdio */
    nar_result_write_to(result, NAR_RESULT_WITHOUT_EVENTS, 1, NULL);
}

int main(int argc, char **argv) {
    static char text[1 << 20];
    if (argc != 2) return fprintf(stderr, "usage: embed PLAN.json\n"), 2;
    FILE *file = fopen(argv[1], "rb");
    const nar_str plan = {text, file != NULL ? fread(text, 1, sizeof text, file) : 0};
    if (!file || ferror(file)) return fprintf(stderr, "%s: %s\n", argv[1], strerror(errno)), 2;
    if (plan.size == sizeof text) return fprintf(stderr, "%s: too large\n", argv[1]), 2;
    const char *slash = strrchr(argv[1], '/');
    const nar_str folder = {argv[1], slash != NULL ? (uint64_t)(slash - argv[1]) + 1 : 0};
    int outcome = 1;
    nar_error error = NAR_ERROR_INIT;
    nar_engine *engine = NULL;
    nar_session *session = NULL;
    const nar_event_sink sink = {sizeof sink, 0,           NAR_KIND_BIT(NAR_KIND_TOOL_EVENT),
                                 stdout,      print_event, NULL};
    const nar_execution_handler handler = {sizeof handler, 0, &outcome, print_result};
    if (nar_engine_create(NULL, &engine, &error) != NAR_OK ||
        nar_session_create(engine, NULL, &session, &error) != NAR_OK ||
        nar_session_attach_sink(session, &sink, NULL, &error) != NAR_OK ||
        nar_session_execute(session, plan, folder, &handler, NULL, &error) != NAR_OK ||
        nar_engine_run_until_idle(engine, &error) != NAR_OK)
        fprintf(stderr, "%.*s\n", (int)error.message.size, error.message.data);
    nar_engine_destroy(engine, &error); /* ends its sessions, and empties the error */
    return outcome;
}
