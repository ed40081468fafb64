/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A family of plugins from one source. Without definitions it obeys every rule of
 * docs/plugin-rules.md (well_behaved); each -DMISBEHAVIOUR_…=1 violates exactly one rule, only at
 * the place listed below. The validator's tests name the rule that finds each variant; the
 * runtime's tests show what the runtime survives. All variants offer the same six extensions:
 *
 *   event_sink      all kinds; counts
 *   ui_handler      handles "narrative_choice", declines "weather"
 *   asset_renderer  image/…, text/plain; opens and reads the file; NAR_FAILED if it is missing
 *   narrator        a plan without tools, from the instance's own thread
 *   tool_runner     scheme "test": log, state_patch, done, 5 ms later by the host's timer
 *   tool            "echo" ends in invoke; "later" behaves like the runner
 *
 * variant                    behaviour
 * no_entry                   exports nothing
 * second_export              exports surplus_function as well
 * undefined_symbol           calls an undefined function; RTLD_NOW refuses it
 * links_runtime              needs libnarratoria.so
 * executable_stack           asks for an executable stack
 * slow_constructor           300 ms pass before dlopen returns
 * throws_in_constructor      a constructor throws a C++ exception (throwing.cpp)
 * constructor_ignores_pipe   a constructor sets SIGPIPE to be ignored
 * no_note                    no metadata
 * bad_note                   metadata that is not valid JSON
 * bad_settings               metadata whose schema of the settings has an unknown type
 * note_lies                  the metadata name a different version
 * note_lists_more            lists and provides only the event_sink; the metadata list all six
 * null_plugin                entry returns NAR_OK without setting *plugin
 * refuses_silently           entry returns NAR_FAILED without a reason
 * accepts_any_major          entry accepts every host
 * refuses_later_minor        entry refuses, with a reason, any other minor version
 * wrong_major                nar_plugin.abi_version is 2.0
 * wrong_size                 nar_plugin.size is too small
 * bad_id                     nar_plugin.id is "Not an id!"
 * forgets_extension          lists event_sink, but get_extension returns NULL for it
 * knows_every_id             get_extension returns a struct for any id
 * unknown_extension          lists and provides "org.example.unknown/1" as well
 * misspelled_extension       lists "narratoria.uihandler/1" as well, and returns NULL for it
 * short_extension            the ui_handler's struct has too small a size
 * init_fails                 init returns NAR_FAILED with a reason
 * init_fails_silently        init returns NAR_FAILED without a reason
 * reads_state_in_init        init calls state.read
 * hangs_in_deinit            deinit never returns
 * leaks_thread               a thread of init is never joined
 * shares_global              the nar_host is a global variable: the last init's is used
 * reads_state_on_thread      the narrator's thread calls state.read
 * hangs_in_handler           ui_handler handle never returns
 * blocks                     each handle takes 300 ms
 * throws                     handle throws a C++ exception (throwing.cpp)
 * aborts                     handle calls abort
 * exits                      handle calls exit(0)
 * crashes                    handle writes to address 0
 * installs_handler           init sets SIGPIPE to be ignored
 * changes_folder             handle changes the working folder to /
 * leaks_descriptor           init opens /dev/null, deinit does not close it
 * leaves_child               init starts a process that waits forever
 * reads_beyond_size          the sink reads past nar_event without checking size
 * writes_beyond_size         start refuses and clears more bytes than the nar_failure has
 * reads_unterminated_id      get_extension treats the id as a C string
 * keeps_view                 the sink reads the body of the previous event
 * needs_log                  assumes that the host has a log
 * crashes_on_unknown_kind    the sink assumes that it knows every kind
 * crashes_on_odd_data        handle reads the first byte of an empty payload
 * bad_level                  logs with level 9
 * without_cancel             violates no rule: the narrator's cancel is NULL
 * never_answers              the narrator neither replies nor fails
 * never_renders              the renderer returns NAR_PENDING and reports no outcome
 * answers_twice              the narrator replies twice
 * answers_after_cancel       the narrator replies when it is cancelled, otherwise only later
 * bad_plan                   the narrator's plan has no requestId
 * ends_twice                 the runner calls ended twice
 * never_ends                 the runner never calls ended, not even after cancel
 * output_garbage             the runner's output is not an event
 * missing_done               the runner's output has no done
 * throws_in_get_extension    get_extension throws a C++ exception (throwing.cpp)
 * double_free                handle frees twice
 * huge_size                  nar_plugin.size is 0xFFFFFFFF
 * huge_extension             the same for the ui_handler's struct
 * huge_end                   the same for the nar_invocation_end of a tool
 * huge_output                a tool's output has a size of 2^60 bytes
 * odd_code                   a tool ends with the error_code "no door"
 * end_without_data           the only end of a tool has NULL as the data of its error
 * done_without_end           the tool writes done, but never calls ended
 * sets_alarm                 init sets an alarm for SIGALRM in an hour
 * lets_timer_end_it          handle sets a timer that raises SIGALRM at once
 * changes_flags              init makes standard output non-blocking
 * changes_priority           init raises its nice value
 * changes_affinity           init pins itself to one processor
 * renames_thread             init renames the thread
 * sets_terminate             init replaces the terminate handler (throwing.cpp)
 * writes_record              the sink writes into the nar_event
 * writes_body                the sink writes into the body
 * writes_table               init writes NULL into nar_host_log.write
 * forks_without_end          handle starts a process, which starts the next, and so on
 * starts_many_threads        init starts 60 threads, deinit joins them
 * timer_without_end          a timer of 0 ms restarts itself
 * post_without_end           a posted function posts itself again
 * prompts_without_end        the sink submits a prompt for each prompt record
 * closes_polled              handle closes a descriptor that is polled
 * closes_standard            handle closes the descriptors 0 to 2
 * signals_group              handle sends SIGTERM to its process group
 * crashes_at_exit            init registers an atexit handler that crashes
 * crashes_after_deinit       an unjoined thread of init crashes 20 ms after deinit
 * logs_after_deinit          an unjoined thread of init logs 300 ms after deinit
 * metadata_without_size      handle registers state metadata with size 0
 * overwrites_check           handle overwrites the memory that the check shares with its processes
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "narratoria/asset_renderer.h"
#include "narratoria/context.h"
#include "narratoria/event_sink.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_session.h"
#include "narratoria/narrator.h"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/ui_handler.h"

#define ID "org.narratoria.test." VARIANT

/* Defined in throwing.cpp. */
void throw_something(void);
void replace_terminate_handler(void);

/* ---- the instance */

struct pending {
    struct pending *next;
    struct instance *instance;
    uint64_t token;
    uint64_t timer;
};

struct instance {
    const nar_host *host;
    const nar_host_log *log;
    const nar_host_state *state;
    const nar_host_timer *timer;
    const nar_host_narrator *narrator;
    const nar_host_invocation *invocation;
    uint64_t events;
    struct pending *pending;

    /* The narrator's thread answers the requests in `asked`. */
    pthread_t thread;
    int has_thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int stops;
    struct pending *asked;

#if MISBEHAVIOUR_KEEPS_VIEW
    nar_str kept;
#endif
#if MISBEHAVIOUR_STARTS_MANY_THREADS
    pthread_t many[60];
    int many_count;
#endif
#if MISBEHAVIOUR_CLOSES_POLLED
    const nar_host_poll *poll;
    int polled;
#endif
#if MISBEHAVIOUR_CRASHES_AFTER_DEINIT || MISBEHAVIOUR_LOGS_AFTER_DEINIT
    struct late *late;
#endif
#if MISBEHAVIOUR_POST_WITHOUT_END
    const nar_host_post *post;
#endif
#if MISBEHAVIOUR_PROMPTS_WITHOUT_END
    const nar_host_prompt *prompt;
#endif
};

static const void *offered(const nar_host *host, nar_str id, uint64_t least) {
    const uint32_t *extension = host->get_extension(host, id);
    return extension != NULL && *extension >= least ? extension : NULL;
}

#if MISBEHAVIOUR_SHARES_GLOBAL
static const nar_host *the_host;
#define HOST_OF(instance) ((void)(instance), the_host)
#else
#define HOST_OF(instance) ((instance)->host)
#endif

static void say(struct instance *instance, nar_str message) {
#if MISBEHAVIOUR_NEEDS_LOG
    instance->log->write(instance->host, 1, message);
#elif MISBEHAVIOUR_BAD_LEVEL
    if (instance->log != NULL) instance->log->write(instance->host, 9, message);
#else
    if (instance->log != NULL) instance->log->write(HOST_OF(instance), 1, message);
#endif
}

#if MISBEHAVIOUR_HANGS_IN_DEINIT || MISBEHAVIOUR_HANGS_IN_HANDLER || MISBEHAVIOUR_LEAKS_THREAD || \
    MISBEHAVIOUR_LEAVES_CHILD
static void wait_for_ever(void) {
    for (;;) pause();
}
#endif

#if MISBEHAVIOUR_BLOCKS || MISBEHAVIOUR_SLOW_CONSTRUCTOR || MISBEHAVIOUR_CRASHES_AFTER_DEINIT || \
    MISBEHAVIOUR_LOGS_AFTER_DEINIT
static void wait_milliseconds(long milliseconds) {
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
}
#endif

/* ---- event_sink */

static void sink_event(void *self, const nar_event *event) {
    struct instance *instance = self;
    if (event->kind == NAR_KIND_TOOL_EVENT) ++instance->events;
#if MISBEHAVIOUR_READS_BEYOND_SIZE
    instance->events += ((const volatile unsigned char *)event)[sizeof *event + 8];
#endif
#if MISBEHAVIOUR_KEEPS_VIEW
    if (instance->kept.size > 0) {
        instance->events += *(const volatile unsigned char *)instance->kept.data;
    }
    instance->kept = event->body;
#endif
#if MISBEHAVIOUR_CRASHES_ON_UNKNOWN_KIND
    static const char *const names[] = {NULL, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k",
                                        "l",  "m", "n", "o", "p", "q", "r", "s", "t", "u", "v"};
    const uint32_t known = event->kind <= NAR_KIND_NARRATOR_USAGE ? event->kind : 0;
    instance->events += *(const volatile unsigned char *)names[known];
#endif
#if MISBEHAVIOUR_WRITES_RECORD
    ((nar_event *)(uintptr_t)event)->seq = 0;
#elif MISBEHAVIOUR_WRITES_BODY
    if (event->body.size > 0) *(char *)(uintptr_t)event->body.data = 'x';
#elif MISBEHAVIOUR_PROMPTS_WITHOUT_END
    if (event->kind == NAR_KIND_PROMPT && instance->prompt != NULL) {
        (void)instance->prompt->submit(instance->host, NAR_STR("and again"), NULL);
    }
#endif
}

static const nar_event_sink_extension event_sink = {sizeof event_sink, 0, 0, sink_event};

/* ---- ui_handler */

static nar_status take_piece(void *user, nar_str piece) {
    *(uint64_t *)user += piece.size;
    return NAR_OK;
}

static int is_text(nar_str text, const char *wanted) {
    return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

#if MISBEHAVIOUR_TIMER_WITHOUT_END
static void start_again(void *user) {
    struct instance *instance = user;
    uint64_t timer = 0;
    (void)instance->timer->start(instance->host, 0, start_again, instance, &timer);
}
#elif MISBEHAVIOUR_POST_WITHOUT_END
static void post_again(void *user) {
    struct instance *instance = user;
    (void)instance->post->post(instance->host, post_again, NULL, instance);
}
#elif MISBEHAVIOUR_CLOSES_POLLED
static void ignore(void *user, uint32_t events) { (void)user, (void)events; }
#endif

#if MISBEHAVIOUR_OVERWRITES_CHECK
static void overwrite_shared_memory(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char access[8];
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) != 3) continue;
        if (strcmp(access, "rw-s") == 0) memset((void *)begin, 0xFF, end - begin);
    }
    if (maps != NULL) fclose(maps);
}
#endif

static nar_status ui_handle(void *self, const nar_ui_event *event) {
    struct instance *instance = self;
#if MISBEHAVIOUR_DOUBLE_FREE
    char *volatile piece = malloc(64);
    free(piece);
    char *volatile again = piece;
    free(again);
#elif MISBEHAVIOUR_LETS_TIMER_END_IT
    const struct itimerval soon = {{0, 0}, {0, 1}};
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;) pause();
#elif MISBEHAVIOUR_FORKS_WITHOUT_END
    for (;;) (void)!fork();
#elif MISBEHAVIOUR_TIMER_WITHOUT_END
    if (instance->timer != NULL) start_again(instance);
#elif MISBEHAVIOUR_POST_WITHOUT_END
    if (instance->post != NULL) post_again(instance);
#elif MISBEHAVIOUR_CLOSES_POLLED
    uint64_t poll = 0;
    instance->polled = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (instance->poll != NULL) {
        (void)instance->poll->start(instance->host, instance->polled, NAR_POLL_READABLE, ignore,
                                    NULL, &poll);
    }
    close(instance->polled);
#elif MISBEHAVIOUR_CLOSES_STANDARD
    for (int one = 0; one < 3; ++one) close(one);
#elif MISBEHAVIOUR_SIGNALS_GROUP
    kill(0, SIGTERM);
#elif MISBEHAVIOUR_OVERWRITES_CHECK
    overwrite_shared_memory();
#endif
#if MISBEHAVIOUR_HANGS_IN_HANDLER
    wait_for_ever();
#elif MISBEHAVIOUR_BLOCKS
    wait_milliseconds(300);
#elif MISBEHAVIOUR_THROWS
    throw_something();
#elif MISBEHAVIOUR_ABORTS
    abort();
#elif MISBEHAVIOUR_EXITS
    exit(0);
#elif MISBEHAVIOUR_CRASHES
    *(volatile int *)(uintptr_t)instance->stops = 1;
#elif MISBEHAVIOUR_CHANGES_FOLDER
    if (chdir("/") != 0) return NAR_FAILED;
#elif MISBEHAVIOUR_CRASHES_ON_ODD_DATA
    instance->events += *(const volatile unsigned char *)event->payload.data;
#elif MISBEHAVIOUR_METADATA_WITHOUT_SIZE
    const nar_host_context *context =
        offered(instance->host, NAR_STR(NAR_HOST_CONTEXT), sizeof(nar_host_context));
    const nar_state_metadata metadata = {.description = NAR_STR_INIT("times")};
    if (context != NULL) {
        (void)context->register_state_metadata(instance->host, NAR_STR("visits"), &metadata, NULL);
    }
#endif
    if (instance->state != NULL) {
        uint64_t size = 0;
        (void)instance->state->read(HOST_OF(instance), NAR_STR("/visits"), take_piece, &size);
        (void)instance->state->patch(HOST_OF(instance), NAR_STR("{\"seen\":true}"));
    }
    say(instance, NAR_STR("asked for something"));
    return is_text(event->name, "narrative_choice") ? NAR_OK : NAR_DECLINED;
}

static const nar_str ui_events[] = {NAR_STR_INIT("narrative_choice"), NAR_STR_INIT("weather")};
static const nar_ui_handler_extension ui_handler = {
#if MISBEHAVIOUR_SHORT_EXTENSION
    8,
#elif MISBEHAVIOUR_HUGE_EXTENSION
    0xFFFFFFFFu,
#else
    sizeof ui_handler,
#endif
    0, ui_events, 2, ui_handle};

/* ---- asset_renderer */

static nar_status render(void *self, const nar_asset *asset) {
    struct instance *instance = self;
#if MISBEHAVIOUR_NEVER_RENDERS
    return NAR_PENDING;
#endif
    char *path = malloc(asset->path.size + 1);
    if (path == NULL) return NAR_OUT_OF_MEMORY;
    if (asset->path.size > 0) memcpy(path, asset->path.data, asset->path.size);
    path[asset->path.size] = '\0';
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    if (file < 0) {
        say(instance, NAR_STR("an asset's file is not there"));
        return NAR_FAILED;
    }
    char piece[64];
    const ssize_t got = read(file, piece, sizeof piece);
    close(file);
    return got >= 0 ? NAR_OK : NAR_FAILED;
}

static const nar_str media_types[] = {NAR_STR_INIT("image/*"), NAR_STR_INIT("text/plain")};
static const nar_asset_renderer_extension asset_renderer = {sizeof asset_renderer, 0, media_types,
                                                            2, render};

/* ---- narrator */

#if MISBEHAVIOUR_BAD_PLAN
#define PLAN "{\"narrative\":\"Nothing happens.\",\"tools\":[]}"
#else
#define PLAN "{\"requestId\":\"plan-1\",\"narrative\":\"Nothing happens.\",\"tools\":[]}"
#endif

static struct pending *take_pending(struct pending **list, uint64_t token) {
    for (; *list != NULL; list = &(*list)->next) {
        struct pending *found = *list;
        if (token != 0 && found->token != token) continue;
        *list = found->next;
        return found;
    }
    return NULL;
}

static void *answer_requests(void *self) {
    struct instance *instance = self;
    pthread_mutex_lock(&instance->mutex);
    while (!instance->stops) {
        struct pending *asked = take_pending(&instance->asked, 0);
        if (asked == NULL) {
            pthread_cond_wait(&instance->changed, &instance->mutex);
            continue;
        }
#if MISBEHAVIOUR_READS_STATE_ON_THREAD
        uint64_t size = 0;
        if (instance->state != NULL) {
            (void)instance->state->read(instance->host, NAR_STR(""), take_piece, &size);
        }
#endif
        /* Holds the mutex, so that a cancel comes either before the reply or after it. */
#if !MISBEHAVIOUR_NEVER_ANSWERS
        (void)instance->narrator->reply(HOST_OF(instance), asked->token, NAR_STR(PLAN));
#endif
#if MISBEHAVIOUR_ANSWERS_TWICE
        (void)instance->narrator->reply(instance->host, asked->token, NAR_STR(PLAN));
#endif
        free(asked);
    }
    pthread_mutex_unlock(&instance->mutex);
    return NULL;
}

#if MISBEHAVIOUR_ANSWERS_AFTER_CANCEL
static void answer_late(void *user) {
    struct pending *asked = user;
    struct instance *instance = asked->instance;
    (void)instance->narrator->reply(instance->host, asked->token, NAR_STR(PLAN));
    free(take_pending(&instance->pending, asked->token));
}
#endif

static void generate(void *self, const nar_narrator_request *request) {
    const uint64_t token = request->token;
    struct instance *instance = self;
    if (instance->narrator == NULL) return;
    struct pending *asked = calloc(1, sizeof *asked);
    if (asked == NULL || request->json.size == 0) {
        free(asked);
        (void)instance->narrator->fail(HOST_OF(instance), token, NAR_STR("there is no request"));
        return;
    }
    asked->token = token;
    asked->instance = instance;
#if MISBEHAVIOUR_ANSWERS_AFTER_CANCEL
    if (instance->timer != NULL &&
        instance->timer->start(instance->host, 20, answer_late, asked, &asked->timer) == NAR_OK) {
        asked->next = instance->pending;
        instance->pending = asked;
        return;
    }
#endif
    pthread_mutex_lock(&instance->mutex);
    if (!instance->has_thread) {
        instance->has_thread =
            pthread_create(&instance->thread, NULL, answer_requests, instance) == 0;
    }
    if (instance->has_thread) {
        asked->next = instance->asked;
        instance->asked = asked;
        pthread_cond_signal(&instance->changed);
    }
    pthread_mutex_unlock(&instance->mutex);
    if (!instance->has_thread) {
        free(asked);
        (void)instance->narrator->fail(HOST_OF(instance), token, NAR_STR("there is no thread"));
    }
}

static void cancel_request(void *self, uint64_t token) {
    struct instance *instance = self;
#if MISBEHAVIOUR_ANSWERS_AFTER_CANCEL
    struct pending *late = take_pending(&instance->pending, token);
    if (late != NULL) {
        (void)instance->timer->stop(instance->host, late->timer);
        (void)instance->narrator->reply(instance->host, token, NAR_STR(PLAN));
        free(late);
    }
#endif
    pthread_mutex_lock(&instance->mutex);
    free(take_pending(&instance->asked, token));
    pthread_mutex_unlock(&instance->mutex);
}

static const nar_narrator_extension narrator = {sizeof narrator, 0, generate,
#if MISBEHAVIOUR_WITHOUT_CANCEL
                                                NULL
#else
                                                cancel_request
#endif
};

/* ---- tool_runner and tool */

#define LOG "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"Working…\"}\n"
#define PATCH "{\"version\":\"0\",\"type\":\"state_patch\",\"patch\":{\"door\":{\"open\":true}}}\n"
#define DONE "{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"summary\":\"It is open.\"}\n"

static void finish(struct instance *instance, uint64_t token, int is_runners) {
    const nar_host_invocation *invocation = instance->invocation;
    const nar_host *host = HOST_OF(instance);
    (void)is_runners;
#if MISBEHAVIOUR_NEVER_ENDS
    if (is_runners) return;
#endif
#if MISBEHAVIOUR_OUTPUT_GARBAGE
    if (is_runners) (void)invocation->output(host, token, NAR_STR("It is open.\n"));
#endif
    /* Split in the middle of a line. */
    (void)invocation->output(host, token, NAR_STR(LOG "{\"version\":\"0\",\"ty"));
    (void)invocation->output(
        host, token, NAR_STR("pe\":\"log\",\"level\":\"debug\",\"message\":\"x\"}\n" PATCH));
#if MISBEHAVIOUR_MISSING_DONE
    if (!is_runners) (void)invocation->output(host, token, NAR_STR(DONE));
#else
    (void)invocation->output(host, token, NAR_STR(DONE));
#endif
    (void)invocation->diagnostics(host, token, NAR_STR("all went well\n"));
#if MISBEHAVIOUR_HUGE_OUTPUT
    if (!is_runners) (void)invocation->output(host, token, (nar_str){"x", (uint64_t)1 << 60});
#endif
#if MISBEHAVIOUR_ODD_CODE || MISBEHAVIOUR_END_WITHOUT_DATA
    nar_invocation_end end;
    memset(&end, 0, sizeof end);
    end.size = sizeof end;
#if MISBEHAVIOUR_ODD_CODE
    end.error_code = NAR_STR("no door");
#else
    end.error = (nar_str){NULL, 5};
#endif
    if (!is_runners) {
        (void)invocation->ended(host, token, &end);
        return;
    }
#endif
#if MISBEHAVIOUR_DONE_WITHOUT_END
    if (!is_runners) return;
#endif
#if MISBEHAVIOUR_HUGE_END
    nar_invocation_end end;
    memset(&end, 0, sizeof end);
    end.size = is_runners ? sizeof end : 0xFFFFFFFFu;
    (void)invocation->ended(host, token, &end);
    if (!is_runners)
#endif
        (void)invocation->ended(host, token, NULL);
#if MISBEHAVIOUR_ENDS_TWICE
    if (is_runners) (void)invocation->ended(host, token, NULL);
#endif
}

static void finish_later(void *user) {
    struct pending *later = user;
    struct instance *instance = later->instance;
    const uint64_t token = later->token;
    free(take_pending(&instance->pending, token));
    finish(instance, token, 1);
}

static void begin(struct instance *instance, uint64_t token) {
    struct pending *later = instance->timer != NULL ? calloc(1, sizeof *later) : NULL;
    if (later == NULL) {
        finish(instance, token, 1);
        return;
    }
    later->instance = instance;
    later->token = token;
    if (instance->timer->start(HOST_OF(instance), 5, finish_later, later, &later->timer) !=
        NAR_OK) {
        free(later);
        finish(instance, token, 1);
        return;
    }
    later->next = instance->pending;
    instance->pending = later;
}

static void cancel_invocation(void *self, uint64_t token) {
    struct instance *instance = self;
    struct pending *later = take_pending(&instance->pending, token);
    if (later == NULL) return;
    (void)instance->timer->stop(HOST_OF(instance), later->timer);
    free(later);
#if !MISBEHAVIOUR_NEVER_ENDS
    nar_invocation_end end;
    memset(&end, 0, sizeof end);
    end.size = sizeof end;
    end.error_code = NAR_STR("CANCELLED");
    end.error = NAR_STR("it was cancelled");
    (void)instance->invocation->ended(HOST_OF(instance), token, &end);
#endif
}

static void give_reason(nar_failure *failure, const char *reason) {
    const size_t room = failure->size - offsetof(nar_failure, message);
    const size_t size = strlen(reason) < room ? strlen(reason) : room - 1;
    memcpy(failure->message, reason, size);
    failure->message[size] = '\0';
}

static nar_status start(void *self, uint64_t token, const nar_invocation *invocation,
                        nar_failure *failure) {
    struct instance *instance = self;
    (void)invocation;
#if MISBEHAVIOUR_WRITES_BEYOND_SIZE
    memset(failure->message, 0, sizeof *failure);
    give_reason(failure, "there is no room");
    return NAR_FAILED;
#endif
    if (instance->invocation == NULL) {
        give_reason(failure, "the host has no " NAR_HOST_INVOCATION);
        return NAR_UNSUPPORTED;
    }
    begin(instance, token);
    return NAR_OK;
}

static const nar_str schemes[] = {NAR_STR_INIT("test")};
static const nar_tool_runner_extension tool_runner = {sizeof tool_runner, 0, schemes, 1, start,
                                                      cancel_invocation};

static const nar_tool echo_tool = {sizeof echo_tool,
                                   0,
                                   NAR_STR_INIT("echo"),
                                   NAR_STR_INIT("Opens the door."),
                                   NAR_STR_INIT("{\"type\":\"object\",\"required\":[\"door\"],"
                                                "\"properties\":{\"door\":{\"type\":\"string\"}}}"),
                                   0,
                                   0,
                                   {NULL, 0},
                                   0,
                                   0};
static const nar_tool later_tool = {sizeof later_tool,
                                    0,
                                    NAR_STR_INIT("later"),
                                    NAR_STR_INIT("Opens it later."),
                                    {NULL, 0},
                                    0,
                                    0,
                                    {NULL, 0},
                                    0,
                                    0};
static const nar_tool *const tools[] = {&echo_tool, &later_tool};

static void invoke(void *self, uint64_t token, const nar_tool *tool,
                   const nar_invocation *invocation) {
    struct instance *instance = self;
    (void)invocation;
    if (instance->invocation == NULL) return;
    if (tool == &later_tool && instance->timer != NULL) {
#if MISBEHAVIOUR_NEVER_ENDS
        finish(instance, token, 0);
#else
        begin(instance, token);
#endif
    } else {
        finish(instance, token, 0);
    }
}

static const nar_tool_extension tool_extension = {sizeof tool_extension, 0, tools, 2, invoke,
                                                  cancel_invocation};

/* ---- lifecycle */

#if MISBEHAVIOUR_STARTS_MANY_THREADS
static void *wait_for_deinit(void *self) {
    struct instance *instance = self;
    pthread_mutex_lock(&instance->mutex);
    while (!instance->stops) pthread_cond_wait(&instance->changed, &instance->mutex);
    pthread_mutex_unlock(&instance->mutex);
    return NULL;
}
#elif MISBEHAVIOUR_CRASHES_AT_EXIT
static void crash(void) { *(volatile int *)NULL = 1; }
#endif

#if MISBEHAVIOUR_LEAKS_THREAD
static void *run_for_ever(void *unused) {
    (void)unused;
    wait_for_ever();
    return NULL;
}
#endif

#if MISBEHAVIOUR_CRASHES_AFTER_DEINIT || MISBEHAVIOUR_LOGS_AFTER_DEINIT
/* The thread waits for the mutex until deinit unlocks it. */
struct late {
    pthread_mutex_t mutex;
    const nar_host *host;
    nar_host_log log;
};
static void *go_on_after_deinit(void *user) {
    struct late *late = user;
    pthread_mutex_lock(&late->mutex);
#if MISBEHAVIOUR_CRASHES_AFTER_DEINIT
    wait_milliseconds(20);
    *(volatile int *)(uintptr_t)late->log.reserved = 1;
#else
    wait_milliseconds(300);
    if (late->log.write != NULL) late->log.write(late->host, 1, NAR_STR("too late"));
#endif
    free(late);
    return NULL;
}
static struct late *start_late(const nar_host *host, const nar_host_log *log) {
    struct late *late = calloc(1, sizeof *late);
    pthread_t thread;
    late->host = host;
    if (log != NULL) late->log = *log;
    pthread_mutex_init(&late->mutex, NULL);
    pthread_mutex_lock(&late->mutex);
    if (pthread_create(&thread, NULL, go_on_after_deinit, late) == 0) pthread_detach(thread);
    return late;
}
#endif

static nar_status init(const nar_host *host, void **self, nar_failure *failure) {
#if MISBEHAVIOUR_INIT_FAILS
    give_reason(failure, "there is no device that it could use");
    return NAR_FAILED;
#elif MISBEHAVIOUR_INIT_FAILS_SILENTLY
    return NAR_FAILED;
#endif
    struct instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL) {
        give_reason(failure, "memory ran out");
        return NAR_OUT_OF_MEMORY;
    }
    instance->host = host;
    instance->log = offered(host, NAR_STR(NAR_HOST_LOG), sizeof(nar_host_log));
    instance->state = offered(host, NAR_STR(NAR_HOST_STATE), sizeof(nar_host_state));
    instance->timer = offered(host, NAR_STR(NAR_HOST_TIMER), sizeof(nar_host_timer));
    instance->narrator = offered(host, NAR_STR(NAR_EXTENSION_NARRATOR), sizeof(nar_host_narrator));
    instance->invocation = offered(host, NAR_STR(NAR_HOST_INVOCATION), sizeof(nar_host_invocation));
    pthread_mutex_init(&instance->mutex, NULL);
    pthread_cond_init(&instance->changed, NULL);
#if MISBEHAVIOUR_SHARES_GLOBAL
    the_host = host;
#elif MISBEHAVIOUR_READS_STATE_IN_INIT
    uint64_t size = 0;
    if (instance->state != NULL) {
        (void)instance->state->read(host, NAR_STR(""), take_piece, &size);
    }
#elif MISBEHAVIOUR_LEAKS_THREAD
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_for_ever, NULL) == 0) pthread_detach(thread);
#elif MISBEHAVIOUR_INSTALLS_HANDLER
    signal(SIGPIPE, SIG_IGN);
#elif MISBEHAVIOUR_LEAKS_DESCRIPTOR
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) say(instance, NAR_STR("no /dev/null"));
#elif MISBEHAVIOUR_LEAVES_CHILD
    if (fork() == 0) wait_for_ever();
#elif MISBEHAVIOUR_SETS_ALARM
    alarm(3600);
#elif MISBEHAVIOUR_CHANGES_FLAGS
    fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
#elif MISBEHAVIOUR_CHANGES_PRIORITY
    (void)!nice(1);
#elif MISBEHAVIOUR_CHANGES_AFFINITY
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
#elif MISBEHAVIOUR_RENAMES_THREAD
    prctl(PR_SET_NAME, "rain", 0, 0, 0);
#elif MISBEHAVIOUR_SETS_TERMINATE
    replace_terminate_handler();
#elif MISBEHAVIOUR_WRITES_TABLE
    if (instance->log != NULL) ((nar_host_log *)(uintptr_t)instance->log)->write = NULL;
#elif MISBEHAVIOUR_STARTS_MANY_THREADS
    while (instance->many_count < 60 && pthread_create(&instance->many[instance->many_count], NULL,
                                                       wait_for_deinit, instance) == 0) {
        ++instance->many_count;
    }
#elif MISBEHAVIOUR_CLOSES_POLLED
    instance->poll = offered(host, NAR_STR(NAR_HOST_POLL), sizeof(nar_host_poll));
#elif MISBEHAVIOUR_POST_WITHOUT_END
    instance->post = offered(host, NAR_STR(NAR_HOST_POST), sizeof(nar_host_post));
#elif MISBEHAVIOUR_PROMPTS_WITHOUT_END
    instance->prompt = offered(host, NAR_STR(NAR_HOST_PROMPT), sizeof(nar_host_prompt));
#elif MISBEHAVIOUR_CRASHES_AT_EXIT
    atexit(crash);
#elif MISBEHAVIOUR_CRASHES_AFTER_DEINIT || MISBEHAVIOUR_LOGS_AFTER_DEINIT
    instance->late = start_late(host, instance->log);
#endif
    const nar_host_config *config =
        offered(host, NAR_STR(NAR_HOST_CONFIG), sizeof(nar_host_config));
    if (config != NULL && config->settings(host).size > 2) say(instance, NAR_STR("has settings"));
    say(instance, NAR_STR("ready"));
    *self = instance;
    return NAR_OK;
}

static void free_all(struct pending *list) {
    while (list != NULL) free(take_pending(&list, 0));
}

static void deinit(void *self) {
    struct instance *instance = self;
#if MISBEHAVIOUR_HANGS_IN_DEINIT
    wait_for_ever();
#endif
    pthread_mutex_lock(&instance->mutex);
    instance->stops = 1;
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->mutex);
    if (instance->has_thread) pthread_join(instance->thread, NULL);
#if MISBEHAVIOUR_STARTS_MANY_THREADS
    while (instance->many_count > 0) pthread_join(instance->many[--instance->many_count], NULL);
#endif
#if MISBEHAVIOUR_CRASHES_AFTER_DEINIT || MISBEHAVIOUR_LOGS_AFTER_DEINIT
    pthread_mutex_unlock(&instance->late->mutex);
#endif
    free_all(instance->asked);
    free_all(instance->pending);
    pthread_mutex_destroy(&instance->mutex);
    pthread_cond_destroy(&instance->changed);
    free(instance);
}

/* ---- the description */

#if MISBEHAVIOUR_UNKNOWN_EXTENSION
static const uint32_t unknown_extension[2] = {sizeof unknown_extension, 0};
#define MORE_EXTENSIONS , NAR_STR_INIT("org.example.unknown/1")
#define MORE_NOTED ",\"org.example.unknown/1\""
#elif MISBEHAVIOUR_MISSPELLED_EXTENSION
#define MORE_EXTENSIONS , NAR_STR_INIT("narratoria.uihandler/1")
#define MORE_NOTED ",\"narratoria.uihandler/1\""
#else
#define MORE_EXTENSIONS
#define MORE_NOTED
#endif

#if MISBEHAVIOUR_NOTE_LISTS_MORE
static const nar_str extensions[] = {NAR_STR_INIT(NAR_EXTENSION_EVENT_SINK)};
#else
static const nar_str extensions[] = {
    NAR_STR_INIT(NAR_EXTENSION_EVENT_SINK),     NAR_STR_INIT(NAR_EXTENSION_UI_HANDLER),
    NAR_STR_INIT(NAR_EXTENSION_ASSET_RENDERER), NAR_STR_INIT(NAR_EXTENSION_NARRATOR),
    NAR_STR_INIT(NAR_EXTENSION_TOOL_RUNNER),    NAR_STR_INIT(NAR_EXTENSION_TOOL) MORE_EXTENSIONS};
#endif

static const void *get_extension(nar_str id) {
#if MISBEHAVIOUR_KNOWS_EVERY_ID
    static const uint32_t anything[16] = {sizeof anything};
#define NOT_KNOWN anything
#else
#define NOT_KNOWN NULL
#endif
#if MISBEHAVIOUR_THROWS_IN_GET_EXTENSION
    throw_something();
#endif
#if MISBEHAVIOUR_READS_UNTERMINATED_ID
    if (id.size == 0) return NULL;
    id.size = strlen(id.data);
#endif
#if !MISBEHAVIOUR_FORGETS_EXTENSION
    if (is_text(id, NAR_EXTENSION_EVENT_SINK)) return &event_sink;
#endif
#if MISBEHAVIOUR_NOTE_LISTS_MORE
    return NOT_KNOWN;
#endif
    if (is_text(id, NAR_EXTENSION_UI_HANDLER)) return &ui_handler;
    if (is_text(id, NAR_EXTENSION_ASSET_RENDERER)) return &asset_renderer;
    if (is_text(id, NAR_EXTENSION_NARRATOR)) return &narrator;
    if (is_text(id, NAR_EXTENSION_TOOL_RUNNER)) return &tool_runner;
    if (is_text(id, NAR_EXTENSION_TOOL)) return &tool_extension;
#if MISBEHAVIOUR_UNKNOWN_EXTENSION
    if (is_text(id, "org.example.unknown/1")) return unknown_extension;
#endif
    return NOT_KNOWN;
}

static const nar_plugin plugin = {
#if MISBEHAVIOUR_WRONG_SIZE
    8,
#elif MISBEHAVIOUR_HUGE_SIZE
    0xFFFFFFFFu,
#else
    sizeof plugin,
#endif
#if MISBEHAVIOUR_WRONG_MAJOR
    2u << 16,
#else
    NAR_ABI_VERSION,
#endif
#if MISBEHAVIOUR_BAD_ID
    NAR_STR_INIT("Not an id!"),
#else
    NAR_STR_INIT(ID),
#endif
    NAR_STR_INIT("Test"),
    NAR_STR_INIT("1.0.0"),
    extensions,
    sizeof extensions / sizeof *extensions,
    init,
    deinit,
    get_extension};

#if MISBEHAVIOUR_NOTE_LIES
#define NOTED_VERSION "1.0.1"
#else
#define NOTED_VERSION "1.0.0"
#endif

#if MISBEHAVIOUR_BAD_SETTINGS
#define NOTED_SETTINGS ",\"settings\":{\"properties\":{\"mood\":{\"type\":\"strin\"}}}"
#elif MISBEHAVIOUR_WELL_BEHAVED
#define NOTED_SETTINGS ",\"settings\":{\"properties\":{\"mood\":{\"type\":\"string\"}}}"
#else
#define NOTED_SETTINGS ""
#endif

#if MISBEHAVIOUR_BAD_NOTE
NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",");
#elif !MISBEHAVIOUR_NO_NOTE
NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",\"id\":\"" ID
                "\",\"name\":\"Test\","
                "\"version\":\"" NOTED_VERSION
                "\",\"abi\":\"1.0\",\"extensions\":["
                "\"narratoria.event_sink/1\",\"narratoria.ui_handler/1\","
                "\"narratoria.asset_renderer/1\",\"narratoria.narrator/1\","
                "\"narratoria.tool_runner/1\",\"narratoria.tool/1\"" MORE_NOTED "]" NOTED_SETTINGS
                "}");
#endif

#if MISBEHAVIOUR_SECOND_EXPORT
NAR_PLUGIN_EXPORT void surplus_function(void);
void surplus_function(void) {}
#endif

#if MISBEHAVIOUR_UNDEFINED_SYMBOL
void function_that_nobody_defines(void);
#endif

#if MISBEHAVIOUR_LINKS_RUNTIME
#define nothing_more nar_abi_version() == 0
#else
#define nothing_more 0
#endif

#if MISBEHAVIOUR_SLOW_CONSTRUCTOR
__attribute__((constructor)) static void construct(void) { wait_milliseconds(300); }
#elif MISBEHAVIOUR_CONSTRUCTOR_IGNORES_PIPE
__attribute__((constructor)) static void construct(void) { signal(SIGPIPE, SIG_IGN); }
#endif

#if MISBEHAVIOUR_NO_ENTRY
#define nar_plugin_entry entry_of_another_name
nar_status nar_plugin_entry(const nar_host_description *, const nar_plugin **, nar_failure *);
#endif
nar_status nar_plugin_entry(const nar_host_description *host, const nar_plugin **found,
                            nar_failure *failure) {
#if MISBEHAVIOUR_UNDEFINED_SYMBOL
    function_that_nobody_defines();
#endif
#if MISBEHAVIOUR_REFUSES_SILENTLY
    return NAR_FAILED;
#endif
#if !MISBEHAVIOUR_ACCEPTS_ANY_MAJOR
    if (host->abi_version >> 16 != NAR_ABI_MAJOR) {
        give_reason(failure, "built for ABI 1.0, and the host has another major");
        return NAR_UNSUPPORTED;
    }
#endif
#if MISBEHAVIOUR_REFUSES_LATER_MINOR
    if (host->abi_version != NAR_ABI_VERSION) {
        give_reason(failure, "built for ABI 1.0 and nothing else");
        return NAR_UNSUPPORTED;
    }
#endif
    if (nothing_more) return NAR_FAILED;
#if !MISBEHAVIOUR_NULL_PLUGIN
    *found = &plugin;
#endif
    return NAR_OK;
}
