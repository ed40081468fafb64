/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A narrator in C that runs tools while it thinks (narratoria.invoke/1). It invokes every tool that
 * the prompt names, all at once, and answers with the states of their outcomes in the order of
 * arrival. After the word "again", it waits for the pending outcomes before it invokes the next
 * tool.
 */
#include "narratoria/narrator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 1000

struct thinker {
    const nar_host *host;
    const nar_host_narrator *answers;
    const nar_host_invoke *tools;
    uint64_t token;
    unsigned waiting;
    char left[ROOM]; /* the remaining words of the prompt */
    char story[ROOM];
};

static nar_str text_of(const char *text) {
    const nar_str out = {text, strlen(text)};
    return out;
}

/* Copies the JSON string after `key`, which has no escapes here. */
static void copy_text(nar_str document, const char *key, char out[ROOM]) {
    char *copy = calloc(1, (size_t)document.size + 1);
    const char *found = NULL;
    out[0] = '\0';
    if (copy == NULL) return;
    memcpy(copy, document.data, (size_t)document.size);
    found = strstr(copy, key);
    if (found != NULL) {
        found += strlen(key);
        snprintf(out, ROOM, "%.*s", (int)strcspn(found, "\""), found);
    }
    free(copy);
}

static void tell(struct thinker *self, const char *what) {
    const size_t length = strlen(self->story);
    snprintf(self->story + length, ROOM - length, "%s%s", length > 0 ? ", " : "", what);
}

static void think(struct thinker *self);

static void on_outcome(void *user, const nar_invoke_outcome *outcome) {
    struct thinker *self = user;
    char state[ROOM];
    char words[ROOM];
    if (outcome->token != self->token) return; /* the request was cancelled */
    copy_text(outcome->json, "\"state\":\"", state);
    snprintf(words, ROOM, "%u %.900s", (unsigned)outcome->number, state);
    tell(self, words);
    --self->waiting;
    think(self);
}

/* Invokes the next tools. Answers once no words are left and no tool is running. */
static void think(struct thinker *self) {
    char plan[2 * ROOM];
    char invocation[2 * ROOM];
    char rest[ROOM];
    nar_failure failure = {sizeof failure, "", ""};
    while (self->left[0] != '\0') {
        char word[ROOM];
        const size_t length = strcspn(self->left, " ");
        snprintf(word, ROOM, "%.*s", (int)length, self->left);
        if (strcmp(word, "again") == 0 && self->waiting > 0) return;
        snprintf(rest, ROOM, "%s", self->left + length + (self->left[length] == ' ' ? 1 : 0));
        strcpy(self->left, rest);
        if (strcmp(word, "again") == 0) continue;
        snprintf(invocation, sizeof invocation,
                 "{\"tool\":\"%s\",\"retryPolicy\":{\"maxRetries\":0}}", word);
        if (self->tools->invoke(self->host, self->token, text_of(invocation), on_outcome, self,
                                NULL, &failure) != NAR_OK) {
            self->answers->fail(self->host, self->token, text_of(failure.message));
            return;
        }
        ++self->waiting;
    }
    if (self->waiting > 0) return;
    snprintf(plan, sizeof plan, "{\"requestId\":\"thought\",\"narrative\":\"%s\",\"tools\":[]}",
             self->story);
    self->answers->reply(self->host, self->token, text_of(plan));
}

static void generate(void *instance, const nar_narrator_request *request) {
    struct thinker *self = instance;
    self->token = request->token;
    self->waiting = 0;
    self->story[0] = '\0';
    copy_text(request->json, "\"prompt\":{\"text\":\"", self->left);
    think(self);
}

static void cancel(void *instance, uint64_t token) {
    struct thinker *self = instance;
    if (self->token == token) self->token = 0;
}

static nar_status init(const nar_host *host, void **instance, nar_failure *failure) {
    struct thinker *self = calloc(1, sizeof *self);
    if (self == NULL) return NAR_OUT_OF_MEMORY;
    self->host = host;
    self->answers = host->get_extension(host, NAR_STR(NAR_EXTENSION_NARRATOR));
    self->tools = host->get_extension(host, NAR_STR(NAR_HOST_INVOKE));
    if (self->answers == NULL || self->tools == NULL) {
        snprintf(failure->message, sizeof failure->message,
                 "the host does not offer " NAR_HOST_INVOKE);
        free(self);
        return NAR_UNSUPPORTED;
    }
    *instance = self;
    return NAR_OK;
}

static void deinit(void *instance) { free(instance); }

static const void *get_extension(nar_str id) {
    static const nar_narrator_extension narrator = {sizeof narrator, 0, generate, cancel};
    static const char known[] = NAR_EXTENSION_NARRATOR;
    return id.size == sizeof known - 1 && memcmp(id.data, known, sizeof known - 1) == 0 ? &narrator
                                                                                        : NULL;
}

static const nar_str extensions[] = {NAR_STR_INIT(NAR_EXTENSION_NARRATOR)};
static const nar_plugin plugin = {sizeof plugin,
                                  NAR_ABI_VERSION,
                                  NAR_STR_INIT("test.thinker"),
                                  NAR_STR_INIT("Thinker"),
                                  NAR_STR_INIT("1.0.0"),
                                  extensions,
                                  1,
                                  init,
                                  deinit,
                                  get_extension};

NAR_PLUGIN_EXPORT nar_status nar_plugin_entry(const nar_host_description *host,
                                              const nar_plugin **out, nar_failure *failure) {
    (void)failure;
    (void)host;
    *out = &plugin;
    return NAR_OK;
}

NAR_PLUGIN_NOTE(
    "{\"schema\":\"plugin/1\",\"id\":\"test.thinker\",\"name\":\"Thinker\","
    "\"version\":\"1.0.0\",\"abi\":\"1.0\","
    "\"extensions\":[\"" NAR_EXTENSION_NARRATOR "\"]}");
