/* SPDX-License-Identifier: Apache-2.0 */
/* host STORY PROMPT: plays one turn. Exit 0 when it completed. */
#include <narratoria/narratoria.h>

#include <stdio.h>
#include <string.h>

static void ended(void *user, const nar_turn *turn) {
    *(uint32_t *)user = turn->outcome;
    printf("%.*s\n", (int)turn->narrative.size, turn->narrative.data);
}

static nar_str text(const char *string) {
    nar_str view = {string, strlen(string)};
    return view;
}

int main(int argc, char **argv) {
    nar_error error = NAR_ERROR_INIT;
    nar_engine *engine = NULL;
    nar_session *session = NULL;
    uint32_t outcome = 0;
    nar_session_options options = {.size = sizeof options};
    nar_turn_handler handler = {.size = sizeof handler, .user = &outcome, .ended = ended};

    if (argc != 3) return 2;
    options.story = text(argv[1]);
    if (nar_engine_create(NULL, &engine, &error) != NAR_OK ||
        nar_session_create(engine, &options, &session, &error) != NAR_OK ||
        nar_session_prompt(session, text(argv[2]), &handler, NULL, &error) != NAR_OK ||
        nar_engine_run_until_idle(engine, &error) != NAR_OK)
        fprintf(stderr, "%.*s\n", (int)error.message.size, error.message.data);
    nar_engine_destroy(engine, NULL);
    nar_error_clear(&error);
    return outcome == NAR_TURN_COMPLETED ? 0 : 1;
}
