/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that obeys every rule unless its file name selects a violation: LANGUAGE+WAY+PLACE.so
 * does WAY at PLACE (corpus.py has the table). One library, copied under many names, is the whole
 * corpus of a language. The C or C++ source that includes this file defines do_own(), the ways
 * that only its language has.
 *
 * Every violation is synchronous, so that a check of it has nothing to wait for.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "narratoria/asset_renderer.h"
#include "narratoria/event_sink.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_session.h"
#include "narratoria/narrator.h"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/ui_handler.h"

/* The library's file name, read once when it is loaded; constant afterwards. */
static char own_name[256];
static char chosen_way[128];
static char chosen_place[128];

static int way(const char *name) { return strcmp(chosen_way, name) == 0; }
static int place(const char *name) { return strcmp(chosen_place, name) == 0; }

struct instance {
    const nar_host *host;
    const nar_host_log *log;
    const nar_host_config *config;
    const nar_host_state *state;
    const nar_host_assets *assets;
    const nar_host_prompt *prompt;
    const nar_host_post *post;
    const nar_host_timer *timer;
    const nar_host_poll *poll;
    const nar_host_narrator *narrator;
    const nar_host_invocation *invocation;
    uint64_t token;
    uint64_t read;
    nar_str kept;
    const nar_event *kept_event;
    pthread_t threads[60];
    int thread_count;
    int ends[2];      /* a pipe that deinit closes */
    int is_cancelled; /* atomic */
};

/* The arguments of the call that misbehaves. */
struct given {
    const void *record;
    size_t record_size;
    nar_str text;
};

static void do_own(struct instance *instance);
static void misbehave(struct instance *instance, const struct given *given);

static void at(const char *name, struct instance *instance, const void *record, size_t record_size,
               nar_str text) {
    if (!place(name)) return;
    const struct given given = {record, record_size, text};
    misbehave(instance, &given);
}

static nar_str literal(const char *text) {
    nar_str found = {text, strlen(text)};
    return found;
}

static nar_str some_text(const char *text, uint64_t size) {
    nar_str found = {text, size};
    return found;
}

/* ---- the ways */

static volatile int zero;
static volatile uint64_t sum;
static const nar_host *volatile shared_host;

static void pause_for(long milliseconds) {
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

static int recurse(int depth) {
    volatile char frame[4096];
    frame[0] = (char)depth;
    if (depth < 0) return 0;
    const int deeper = recurse(depth + 1);
    return frame[0] + deeper;
}

static void ignore(void *user) { (void)user; }
static void ignore_events(void *user, uint32_t events) { (void)user, (void)events; }
static nar_status take(void *user, nar_str piece) {
    (void)user;
    sum += piece.size;
    return NAR_OK;
}
static void crash(void) { *(volatile int *)(uintptr_t)zero = 1; }
static void wait_for_ever(void) {
    for (;;) pause();
}
static void leave_with_3(void) { _exit(3); }

static void timer_again(void *user) {
    struct instance *instance = (struct instance *)user;
    uint64_t timer = 0;
    (void)instance->timer->start(instance->host, 0, timer_again, instance, &timer);
}
static void post_again(void *user) {
    struct instance *instance = (struct instance *)user;
    (void)instance->post->post(instance->host, post_again, NULL, instance);
}
static void in_timer(void *user) { at("timer", (struct instance *)user, NULL, 0, literal("")); }
static void in_post(void *user) { at("post", (struct instance *)user, NULL, 0, literal("")); }

static void *read_until_closed(void *user) {
    struct instance *instance = (struct instance *)user;
    char byte;
    while (read(instance->ends[0], &byte, 1) > 0) {
    }
    return NULL;
}
static void *sleep_for_ever(void *unused) {
    (void)unused;
    wait_for_ever();
    return NULL;
}

static void start_threads(struct instance *instance, int count) {
    if (instance->ends[0] < 0 && pipe2(instance->ends, O_CLOEXEC) != 0) return;
    while (instance->thread_count < count &&
           pthread_create(&instance->threads[instance->thread_count], NULL, read_until_closed,
                          instance) == 0) {
        ++instance->thread_count;
    }
}

/* Calls of host functions by name, for example "state-read". */
static int call_host(struct instance *instance, const char *name) {
    const nar_host *host = instance->host;
    uint64_t handle = 0;
#define CALL(text, has, what)                    \
    if (strcmp(name, text) == 0) {               \
        if (instance->has != NULL) (void)(what); \
        return 1;                                \
    }
    CALL("state-read", state, instance->state->read(host, literal(""), take, NULL))
    CALL("state-patch", state, instance->state->patch(host, literal("{\"a\":1}")))
    CALL("assets-list", assets, instance->assets->list(host, take, NULL))
    CALL("prompt-submit", prompt, instance->prompt->submit(host, literal("hello"), NULL))
    CALL("timer-start", timer, instance->timer->start(host, 1000, ignore, NULL, &handle))
    CALL("timer-stop", timer, instance->timer->stop(host, 1))
    CALL("poll-stop", poll, instance->poll->stop(host, 1))
    CALL("poll-start", poll,
         instance->poll->start(host, 0, NAR_POLL_READABLE, ignore_events, NULL, &handle))
    CALL("post", post, instance->post->post(host, ignore, NULL, NULL))
    CALL("settings", config, (sum += instance->config->settings(host).size))
#undef CALL
    return 0;
}

static void *call_on_thread(void *user) {
    (void)call_host((struct instance *)user, chosen_way + strlen("thread-"));
    return NULL;
}

static int is_prefix(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void change_process(void) {
    if (way("sigpipe")) signal(SIGPIPE, SIG_IGN);
    if (way("sigchld")) signal(SIGCHLD, SIG_IGN);
    if (way("sigint")) signal(SIGINT, SIG_IGN);
    if (way("sigterm")) signal(SIGTERM, SIG_IGN);
    if (way("sigmask")) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    if (way("chdir") && chdir("/") != 0) abort();
    if (way("locale")) setlocale(LC_ALL, "C.UTF-8");
    if (way("umask")) umask(0);
    if (way("rlimit")) {
        const struct rlimit few = {64, 64};
        setrlimit(RLIMIT_NOFILE, &few);
    }
    if (way("setenv")) setenv("RAIN", "1", 1);
    if (way("rounding")) fesetround(FE_UPWARD);
    if (way("alarm")) alarm(3600);
    const struct itimerval hour = {{0, 0}, {3600, 0}};
    if (way("itimer-virtual")) setitimer(ITIMER_VIRTUAL, &hour, NULL);
    if (way("itimer-prof")) setitimer(ITIMER_PROF, &hour, NULL);
    if (way("nice") && nice(1) == -1) abort();
    if (way("batch")) {
        const struct sched_param none = {0};
        sched_setscheduler(0, SCHED_BATCH, &none);
    }
    if (way("name")) prctl(PR_SET_NAME, "rain", 0, 0, 0);
    for (int one = 0; one < 3; ++one) {
        char name[32];
        snprintf(name, sizeof name, "nonblock-%d", one);
        if (way(name)) fcntl(one, F_SETFL, fcntl(one, F_GETFL) | O_NONBLOCK | O_APPEND);
    }
}

static void crash_somehow(void) {
    if (way("null-write")) crash();
    if (way("null-read")) sum += *(volatile uint64_t *)(uintptr_t)zero;
    if (way("null-call")) ((void (*)(void))(uintptr_t)zero)();
    if (way("divide")) sum = (uint64_t)(12345 / zero);
    if (way("illegal")) __builtin_trap();
    if (way("breakpoint")) {
#ifdef __x86_64__
        __asm__ volatile("int3");
#else
        raise(SIGTRAP);
#endif
    }
    if (way("overflow")) sum += (uint64_t)recurse(0);
    if (way("raise-segv")) raise(SIGSEGV);
    if (way("raise-bus")) raise(SIGBUS);
    if (way("sigsys")) raise(SIGSYS);
    if (way("double-free")) {
        char *volatile piece = (char *)malloc(64);
        free(piece);
        char *volatile again = piece;
        free(again);
    }
    if (way("free-stack")) {
        char piece[64];
        char *volatile inner = piece + 16;
        free(inner);
    }
    if (way("free-inner")) {
        char *volatile piece = (char *)malloc(64);
        free(piece + 24);
    }
    if (way("write-code")) {
        *(volatile char *)(uintptr_t)&crash = 0;
    }
}

static void end_process(void) {
    if (way("abort")) abort();
    if (way("exit")) exit(0);
    if (way("exit-7")) exit(7);
    if (way("_exit")) _exit(0);
    if (way("quick-exit")) quick_exit(0);
    if (way("exec")) execl("/bin/true", "true", (char *)NULL);
    if (way("raise-kill")) raise(SIGKILL);
    if (way("kill-group-term")) kill(0, SIGTERM);
    if (way("kill-group-int")) kill(0, SIGINT);
    if (way("kill-group-hup")) kill(0, SIGHUP);
    if (way("kill-group-usr1")) kill(0, SIGUSR1);
    if (way("alarm-now")) {
        const struct itimerval soon = {{0, 0}, {0, 1}};
        setitimer(ITIMER_REAL, &soon, NULL);
        wait_for_ever();
    }
    if (way("itimer-prof-now")) {
        const struct itimerval soon = {{0, 0}, {0, 1}};
        setitimer(ITIMER_PROF, &soon, NULL);
        for (;;) ++sum;
    }
}

static void leave_behind(struct instance *instance) {
    if (way("leak-fd") && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
    if (way("leak-pipe")) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) abort();
    }
    if (way("leak-socket") && socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0) abort();
    if (way("leak-child") && fork() == 0) wait_for_ever();
    if (way("leak-zombie") && fork() == 0) _exit(0);
    if (way("leak-thread")) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_for_ever, NULL) == 0) pthread_detach(thread);
    }
    if (way("share-host")) shared_host = instance->host;
    if (way("fork-bomb")) {
        for (;;) (void)!fork();
    }
    if (way("fork-wide")) {
        for (int one = 0; one < 40; ++one) {
            if (fork() == 0) wait_for_ever();
        }
        pause_for(500);
    }
    if (way("many-threads")) start_threads(instance, 60);
    if (way("all-memory")) {
        for (;;) {
            volatile char *volatile piece = (volatile char *)malloc(64 << 20);
            piece[0] = 1;
        }
    }
    if (way("close-0")) close(0);
    if (way("close-1")) close(1);
    if (way("close-2")) close(2);
    if (way("close-range")) {
        for (int one = 3; one < 64; ++one) close(one);
    }
    if (way("replace-1")) {
        const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, 1);
        close(null);
    }
    if (way("atexit-crash")) atexit(crash);
    if (way("atexit-hang")) atexit(wait_for_ever);
    if (way("atexit-status")) atexit(leave_with_3);
    if (way("hang")) wait_for_ever();
    if (way("spin")) {
        for (;;) ++sum;
    }
    if (way("slow")) pause_for(160);
}

static void use_host_badly(struct instance *instance) {
    const nar_host *host = instance->host;
    uint64_t handle = 0;
    if (is_prefix(chosen_way, "call-")) (void)call_host(instance, chosen_way + strlen("call-"));
    if (is_prefix(chosen_way, "thread-")) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, call_on_thread, instance) == 0)
            pthread_join(thread, NULL);
    }
    if (instance->log != NULL) {
        if (way("level-0")) instance->log->write(host, 0, literal("x"));
        if (way("level-9")) instance->log->write(host, 9, literal("x"));
        if (way("log-bytes")) instance->log->write(host, 1, literal("\xFF\xFE"));
        if (way("log-null")) {
            const nar_str nothing = {NULL, 5};
            instance->log->write(host, 1, nothing);
        }
        if (way("log-foreign")) {
            const nar_host copy = *host;
            instance->log->write(&copy, 1, literal("x"));
        }
    }
    if (instance->config != NULL && way("publish-many")) {
        char name[] = "rain-00";
        for (int one = 0; one < 33; ++one) {
            name[5] = (char)('0' + one / 10);
            name[6] = (char)('0' + one % 10);
            (void)instance->config->publish(host, literal(name), literal("x"));
        }
    }
    if (instance->state != NULL) {
        if (way("patch-text")) (void)instance->state->patch(host, literal("open"));
        if (way("patch-array")) (void)instance->state->patch(host, literal("[1]"));
        if (way("patch-bytes")) (void)instance->state->patch(host, literal("{\"a\":\"\xFF\"}"));
        if (way("pointer")) (void)instance->state->read(host, literal("no/slash"), take, NULL);
    }
    if (instance->prompt != NULL && way("prompt-bytes")) {
        (void)instance->prompt->submit(host, literal("\xC3"), NULL);
    }
    if (instance->post != NULL && way("post-null"))
        (void)instance->post->post(host, NULL, NULL, NULL);
    if (instance->timer != NULL && way("timer-null")) {
        (void)instance->timer->start(host, 1, NULL, NULL, &handle);
    }
    if (instance->poll != NULL) {
        if (way("poll-null"))
            (void)instance->poll->start(host, 0, NAR_POLL_READABLE, NULL, NULL, &handle);
        if (way("poll-bad"))
            (void)instance->poll->start(host, 999, NAR_POLL_READABLE, ignore_events, NULL, &handle);
        if (way("poll-events")) {
            (void)instance->poll->start(host, 0, 64, ignore_events, NULL, &handle);
        }
        if (way("poll-close") || way("poll-close-stop") || way("poll-reuse")) {
            const int file = eventfd(0, EFD_CLOEXEC);
            (void)instance->poll->start(host, file, NAR_POLL_READABLE, ignore_events, NULL,
                                        &handle);
            close(file);
            if (way("poll-close-stop")) (void)instance->poll->stop(host, handle);
            if (way("poll-reuse")) {
                const int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
                (void)instance->poll->stop(host, handle);
                close(other);
            }
        }
    }
    if (instance->narrator != NULL) {
        if (way("token-none")) (void)instance->narrator->reply(host, 7, literal("{}"));
        if (way("fail-none")) (void)instance->narrator->fail(host, 7, literal("x"));
    }
    if (instance->invocation != NULL) {
        if (way("output-none")) (void)instance->invocation->output(host, 7, literal("x"));
        if (way("ended-none")) (void)instance->invocation->ended(host, 7, NULL);
    }
    if (way("timer-again") && instance->timer != NULL) timer_again(instance);
    if (way("post-again") && instance->post != NULL) post_again(instance);
    if (way("prompt-again") && instance->prompt != NULL) {
        (void)instance->prompt->submit(host, literal("again"), NULL);
    }
}

static void touch_given(struct instance *instance, const struct given *given) {
    if (way("write-record")) ((volatile char *)(uintptr_t)given->record)[8] = 1;
    if (way("write-size")) *(volatile uint32_t *)(uintptr_t)given->record = 0;
    if (way("write-last")) {
        ((volatile char *)(uintptr_t)given->record)[given->record_size - 1] = 1;
    }
    if (way("write-text") && given->text.size > 0) {
        ((volatile char *)(uintptr_t)given->text.data)[0] = 'x';
    }
    if (way("write-text-end") && given->text.size > 0) {
        ((volatile char *)(uintptr_t)given->text.data)[given->text.size - 1] = 'x';
    }
    if (way("read-record"))
        sum += ((const volatile unsigned char *)given->record)[given->record_size];
    if (way("read-text") && given->text.size > 0) {
        sum += (unsigned char)((const volatile char *)given->text.data)[given->text.size];
    }
    if (way("strlen-text") && given->text.size > 0) {
        const volatile char *end = given->text.data;
        while (*end != '\0') ++end;
        sum += (uint64_t)(end - given->text.data);
    }
    if (way("keep-text")) {
        if (instance->kept.size > 0)
            sum += (unsigned char)*(const volatile char *)instance->kept.data;
        instance->kept = given->text;
    }
    if (way("keep-record")) {
        if (instance->kept_event != NULL) {
            sum += *(const volatile uint32_t *)(const void *)instance->kept_event;
        }
        instance->kept_event = (const nar_event *)given->record;
    }
#define WRITE_TABLE(name, member)                              \
    if (way("write-" name) && instance->member != NULL) {      \
        ((volatile char *)(uintptr_t)instance->member)[8] = 0; \
    }
    WRITE_TABLE("log", log)
    WRITE_TABLE("config", config)
    WRITE_TABLE("state", state)
    WRITE_TABLE("assets", assets)
    WRITE_TABLE("prompt", prompt)
    WRITE_TABLE("post-table", post)
    WRITE_TABLE("timer", timer)
    WRITE_TABLE("poll", poll)
    WRITE_TABLE("narrator", narrator)
    WRITE_TABLE("invocation", invocation)
    WRITE_TABLE("host", host)
#undef WRITE_TABLE
    if (way("write-settings") && instance->config != NULL) {
        ((volatile char *)(uintptr_t)instance->config->settings(instance->host).data)[0] = ' ';
    }
}

#include "tricks.h"

static void misbehave(struct instance *instance, const struct given *given) {
    play_trick(instance, given);
    change_process();
    crash_somehow();
    end_process();
    leave_behind(instance);
    if (instance->host != NULL) {
        use_host_badly(instance);
        touch_given(instance, given);
    }
    do_own(instance);
}

/* ---- event_sink */

static void sink_event(void *self, const nar_event *event) {
    struct instance *instance = (struct instance *)self;
    instance->read += event->seq;
    at("sink", instance, event, sizeof *event, event->body);
}

static nar_event_sink_extension event_sink = {sizeof(nar_event_sink_extension), 0, 0, sink_event};

/* ---- ui_handler */

static nar_status ui_handle(void *self, const nar_ui_event *event) {
    struct instance *instance = (struct instance *)self;
    at("handle", instance, event, sizeof *event, event->payload);
    if (way("status-5")) return 5;
    if (way("status-low")) return -1000;
    uint64_t timer = 0;
    if (instance->timer != NULL && place("timer")) {
        (void)instance->timer->start(instance->host, 0, in_timer, instance, &timer);
    }
    if (instance->post != NULL && place("post")) {
        (void)instance->post->post(instance->host, in_post, NULL, instance);
    }
    return NAR_OK;
}

static nar_str ui_events[] = {NAR_STR_INIT("narrative_choice"), NAR_STR_INIT("weather")};
static nar_ui_handler_extension ui_handler = {sizeof(nar_ui_handler_extension), 0, ui_events, 2,
                                              ui_handle};

/* ---- asset_renderer */

static nar_status render(void *self, const nar_asset *asset) {
    at("render", (struct instance *)self, asset, sizeof *asset, asset->path);
    return NAR_OK;
}

static nar_str media_types[] = {NAR_STR_INIT("image/*"), NAR_STR_INIT("text/plain")};
static nar_asset_renderer_extension asset_renderer = {sizeof(nar_asset_renderer_extension), 0,
                                                      media_types, 2, render};

/* ---- narrator */

#define PLAN "{\"requestId\":\"plan-1\",\"narrative\":\"Nothing happens.\",\"tools\":[]}"

static void generate(void *self, const nar_narrator_request *request) {
    const uint64_t token = request->token;
    struct instance *instance = (struct instance *)self;
    const nar_host_narrator *narrator = instance->narrator;
    at("generate", instance, NULL, 0, request->json);
    if (narrator == NULL) return;
    const nar_host *host = instance->host;
    if (way("no-reply")) return;
    if (way("reply-threads")) {
        instance->token = token;
        in_two_threads(reply_in_thread, instance);
    } else if (way("plan-text")) {
        (void)narrator->reply(host, token, literal("It rains."));
    } else if (way("plan-array")) {
        (void)narrator->reply(host, token, literal("[]"));
    } else if (way("plan-tools")) {
        (void)narrator->reply(host, token, literal("{\"requestId\":\"a\",\"tools\":5}"));
    } else if (way("plan-bytes")) {
        (void)narrator->reply(host, token, literal("{\"requestId\":\"\xFF\"}"));
    } else if (way("fail-first")) {
        (void)narrator->fail(host, token, literal("no"));
        (void)narrator->reply(host, token, literal(PLAN));
    } else {
        (void)narrator->reply(host, token, literal(PLAN));
    }
    if (way("reply-twice")) (void)narrator->reply(host, token, literal(PLAN));
    if (way("reply-fail")) (void)narrator->fail(host, token, literal("no"));
    if (way("reply-old") && instance->token != 0) {
        (void)narrator->reply(host, instance->token, literal(PLAN));
    }
    instance->token = token;
}

static void cancel_request(void *self, uint64_t token) {
    struct instance *instance = (struct instance *)self;
    if (way("no-reply") && place("cancel") && instance->narrator != NULL) {
        (void)instance->narrator->reply(instance->host, token, literal(PLAN));
    }
}

static nar_narrator_extension narrator_extension = {sizeof(nar_narrator_extension), 0, generate,
                                                    cancel_request};

/* ---- tool_runner and tool */

#define LOG "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"Working\"}\n"
#define DONE "{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"summary\":\"It is open.\"}\n"

static void end_later(void *user) {
    struct instance *instance = (struct instance *)user;
    (void)instance->invocation->ended(instance->host, instance->token, NULL);
}

/* Replaces the tool's ordinary output and its end. */
static void finish(struct instance *instance, uint64_t token) {
    const nar_host_invocation *invocation = instance->invocation;
    const nar_host *host = instance->host;
    const char *output = LOG DONE;
    if (way("garbage")) output = "It is open.\n" DONE;
    if (way("no-done")) output = LOG;
    if (way("two-dones")) output = DONE DONE;
    if (way("done-first")) output = DONE LOG;
    if (way("version-1")) output = "{\"version\":\"1\",\"type\":\"log\"}\n" DONE;
    if (way("unknown-type")) output = "{\"version\":\"0\",\"type\":\"rain\"}\n" DONE;
    if (way("no-level")) output = "{\"version\":\"0\",\"type\":\"log\",\"message\":\"x\"}\n" DONE;
    if (way("array-line")) output = "[]\n" DONE;
    if (way("bad-bytes")) output = "{\"version\":\"0\",\"type\":\"log\",\"a\":\"\xFF\"}\n" DONE;
    if (way("ok-text")) output = "{\"version\":\"0\",\"type\":\"done\",\"ok\":\"yes\"}\n";
    if (way("end-first")) (void)invocation->ended(host, token, NULL);
    (void)invocation->output(host, token, literal(output));
    if (way("no-end")) return;
    if (way("late-synchronous")) {
        uint64_t timer = 0;
        instance->token = token;
        if (instance->timer != NULL)
            (void)instance->timer->start(host, 1, end_later, instance, &timer);
        return;
    }
    if (way("end-first")) return;
    if (way("end-size-0") || way("end-size-huge")) {
        nar_invocation_end end;
        memset(&end, 0, sizeof end);
        end.size = way("end-size-0") ? 0 : 0xFFFFFFFFu;
        (void)invocation->ended(host, token, &end);
    }
    (void)invocation->ended(host, token, NULL);
    if (way("end-twice")) (void)invocation->ended(host, token, NULL);
    if (way("output-late")) (void)invocation->output(host, token, literal(LOG));
    if (way("diagnostics-late")) (void)invocation->diagnostics(host, token, literal("x"));
    if (way("run-late")) {
        const nar_str program = NAR_STR_INIT("/bin/true");
        nar_command command;
        memset(&command, 0, sizeof command);
        command.size = sizeof command;
        command.arguments = &program;
        command.argument_count = 1;
        (void)invocation->run(host, token, &command);
    }
}

static nar_status start(void *self, uint64_t token, const nar_invocation *invocation,
                        nar_failure *failure) {
    struct instance *instance = (struct instance *)self;
    at("start", instance, invocation, sizeof *invocation, invocation->request);
    if (instance->invocation == NULL || place("start-refused")) {
        const int is_silent = way("silent") && place("start-refused");
        snprintf(failure->message, 64, "%s", is_silent ? "" : "there is no service");
        if (way("reason-bytes") && place("start-refused")) memcpy(failure->message, "\xFF", 2);
        if (way("ended-refused") && instance->invocation != NULL)
            (void)instance->invocation->ended(instance->host, token, NULL);
        return NAR_UNSUPPORTED;
    }
    if (place("invoke")) {
        (void)instance->invocation->output(instance->host, token, literal(LOG DONE));
        (void)instance->invocation->ended(instance->host, token, NULL);
    } else {
        finish(instance, token);
    }
    return NAR_OK;
}

static void cancel_invocation(void *self, uint64_t token) {
    struct instance *instance = (struct instance *)self;
    (void)token;
    __atomic_store_n(&instance->is_cancelled, 1, __ATOMIC_RELEASE);
}

/* Ends an attempt soon, unless it is cancelled first, without comparing the service with NULL. */
static void *end_on_thread(void *user) {
    struct instance *instance = (struct instance *)user;
    pause_for(2);
    if (!__atomic_load_n(&instance->is_cancelled, __ATOMIC_ACQUIRE)) crash();
    return NULL;
}

static nar_str schemes[] = {NAR_STR_INIT("test"), NAR_STR_INIT("more")};
static nar_tool_runner_extension tool_runner = {
    sizeof(nar_tool_runner_extension), 0, schemes, 1, start, cancel_invocation};

static nar_tool echo_tool = {sizeof(nar_tool), 0, NAR_STR_INIT("echo"),
                             NAR_STR_INIT("Opens the door."),
                             NAR_STR_INIT("{\"type\":\"object\"}")};
static nar_tool other_tool = {
    sizeof(nar_tool), 0, NAR_STR_INIT("other"), NAR_STR_INIT("Waits."), {NULL, 0}};
static const nar_tool *tools[] = {&echo_tool, &other_tool};

static void invoke(void *self, uint64_t token, const nar_tool *tool,
                   const nar_invocation *invocation) {
    struct instance *instance = (struct instance *)self;
    (void)tool;
    at("invoke", instance, invocation, sizeof *invocation, invocation->request);
    if (instance->invocation == NULL && way("thread-needs") && instance->thread_count == 0) {
        if (pthread_create(&instance->threads[0], NULL, end_on_thread, instance) == 0)
            instance->thread_count = 1;
    }
    if (instance->invocation == NULL) return;
    if (place("start")) {
        (void)instance->invocation->output(instance->host, token, literal(LOG DONE));
        (void)instance->invocation->ended(instance->host, token, NULL);
    } else {
        finish(instance, token);
    }
}

static nar_tool_extension tool_extension = {sizeof(nar_tool_extension), 0, tools, 1, invoke,
                                            cancel_invocation};

/* ---- lifecycle */

static const void *offered(const nar_host *host, const char *id, uint64_t least) {
    const uint32_t *extension = (const uint32_t *)host->get_extension(host, literal(id));
    /* The way "needs-…" uses the result without checking it. */
    return extension != NULL && *extension >= least ? extension : NULL;
}

static void needs(const char *name, const void *table) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "needs-%s", name);
    if (way(wanted)) sum += *(const volatile uint32_t *)table;
}

static nar_status init(const nar_host *host, void **self, nar_failure *failure) {
    if (place("init-refused")) {
        const char *reason = "there is no device that it could use";
        if (way("silent")) reason = "";
        snprintf(failure->message, 64, "%s", reason);
        if (way("reason-bytes")) memcpy(failure->message, "\xFF", 2);
        if (way("reason-endless")) memset(failure->message, 'x', sizeof failure->message);
        return NAR_FAILED;
    }
    struct instance *instance = (struct instance *)calloc(1, sizeof *instance);
    if (instance == NULL) return NAR_OUT_OF_MEMORY;
    instance->host = host;
    instance->ends[0] = instance->ends[1] = -1;
#define OFFERED(member, type, id)                                             \
    instance->member = (const type *)offered(host, id, 2 * sizeof(uint32_t)); \
    needs(#member, instance->member);                                         \
    if (instance->member != NULL && instance->member->size < sizeof(type)) instance->member = NULL;
    OFFERED(log, nar_host_log, NAR_HOST_LOG)
    OFFERED(config, nar_host_config, NAR_HOST_CONFIG)
    OFFERED(state, nar_host_state, NAR_HOST_STATE)
    OFFERED(assets, nar_host_assets, NAR_HOST_ASSETS)
    OFFERED(prompt, nar_host_prompt, NAR_HOST_PROMPT)
    OFFERED(post, nar_host_post, NAR_HOST_POST)
    OFFERED(timer, nar_host_timer, NAR_HOST_TIMER)
    OFFERED(poll, nar_host_poll, NAR_HOST_POLL)
    OFFERED(narrator, nar_host_narrator, NAR_EXTENSION_NARRATOR)
    OFFERED(invocation, nar_host_invocation, NAR_HOST_INVOCATION)
#undef OFFERED
    at("init", instance, host, sizeof *host, literal(""));
    if (way("longjmp")) (void)setjmp(long_gone);
    *self = instance;
    return place("init") && way("status-5") ? 5 : NAR_OK;
}

static void deinit(void *self) {
    struct instance *instance = (struct instance *)self;
    at("deinit", instance, instance->host, sizeof(nar_host), literal(""));
    if (instance->ends[1] >= 0) close(instance->ends[1]);
    while (instance->thread_count > 0)
        pthread_join(instance->threads[--instance->thread_count], NULL);
    if (instance->ends[0] >= 0) close(instance->ends[0]);
    free(instance);
}

/* ---- the description; its faults are written into it when the library is loaded */

#define ID "org.narratoria.test.corpus"
static nar_str extensions[] = {
    NAR_STR_INIT(NAR_EXTENSION_EVENT_SINK),     NAR_STR_INIT(NAR_EXTENSION_UI_HANDLER),
    NAR_STR_INIT(NAR_EXTENSION_ASSET_RENDERER), NAR_STR_INIT(NAR_EXTENSION_NARRATOR),
    NAR_STR_INIT(NAR_EXTENSION_TOOL_RUNNER),    NAR_STR_INIT(NAR_EXTENSION_TOOL)};

/* The structs, in the order of the words of their ids. */
static struct {
    const char *word;
    uint32_t *size;
    uint32_t whole;
} structs[] = {
    {"event_sink", &event_sink.size, sizeof event_sink},
    {"ui_handler", &ui_handler.size, sizeof ui_handler},
    {"asset_renderer", &asset_renderer.size, sizeof asset_renderer},
    {"narrator", &narrator_extension.size, sizeof narrator_extension},
    {"tool_runner", &tool_runner.size, sizeof tool_runner},
    {"tool", &tool_extension.size, sizeof tool_extension},
};

static const void *get_extension(nar_str id) {
    struct instance none;
    memset(&none, 0, sizeof none);
    at("get_extension", &none, NULL, 0, id);
    for (size_t one = 0; one < sizeof structs / sizeof *structs; ++one) {
        const nar_str known = extensions[one];
        const int is_same = id.size == known.size && memcmp(id.data, known.data, id.size) == 0;
        if (is_same && place(structs[one].word)) {
            if (way("forgets")) return NULL;
            if (way("wild")) return (const void *)(uintptr_t)(zero + 4096);
            if (way("misaligned")) {
                static char moved[256];
                memcpy(moved + 1, structs[one].size, structs[one].whole);
                return moved + 1;
            }
            static uint32_t others[2][32];
            static int turn;
            if (way("changes")) {
                turn = !turn;
                memcpy(others[turn], structs[one].size, structs[one].whole);
                return others[turn];
            }
        }
        if (is_same) return structs[one].size;
        if (place("ids")) {
            if (way("prefix") && id.size > known.size &&
                memcmp(id.data, known.data, known.size) == 0) {
                return structs[one].size;
            }
            if (way("shorter") && id.size == known.size - 1 && id.size > 12 &&
                memcmp(id.data, known.data, id.size) == 0) {
                return structs[one].size;
            }
            if (way("any-version") && id.size == known.size &&
                memcmp(id.data, known.data, id.size - 1) == 0) {
                return structs[one].size;
            }
        }
    }
    if (place("ids") && way("every")) return structs[0].size;
    if (place("ids") && way("empty") && id.size == 0) return structs[0].size;
    if (place("ids") && way("unterminated") && id.size > 0) sum += strlen(id.data);
    if (place("ids") && way("crash") && id.size > 1000) crash();
    return NULL;
}

static nar_plugin plugin = {sizeof(nar_plugin),
                            NAR_ABI_VERSION,
                            NAR_STR_INIT(ID),
                            NAR_STR_INIT("Corpus"),
                            NAR_STR_INIT("1.0.0"),
                            extensions,
                            6,
                            init,
                            deinit,
                            get_extension};

NAR_PLUGIN_NOTE("{\"schema\":\"plugin/1\",\"id\":\"" ID
                "\",\"name\":\"Corpus\",\"version\":\"1.0.0\",\"abi\":\"1.0\",\"extensions\":["
                "\"narratoria.event_sink/1\",\"narratoria.ui_handler/1\","
                "\"narratoria.asset_renderer/1\",\"narratoria.narrator/1\","
                "\"narratoria.tool_runner/1\",\"narratoria.tool/1\"]}");

static void describe_badly(void) {
    if (way("size-0")) plugin.size = 0;
    if (way("size-1")) plugin.size = 1;
    if (way("size-3")) plugin.size = 3;
    if (way("size-8")) plugin.size = 8;
    if (way("size-huge")) plugin.size = 0xFFFFFFFFu;
    if (way("no-init")) plugin.init = NULL;
    if (way("no-deinit")) plugin.deinit = NULL;
    if (way("no-get-extension")) plugin.get_extension = NULL;
    if (way("no-list")) plugin.extensions = NULL;
    if (way("long-list")) plugin.extension_count = 1000000;
    if (way("list-id")) extensions[0] = literal("event sink");
    if (way("list-empty-id")) extensions[0] = literal("");
    if (way("major-2")) plugin.abi_version = 2u << 16;
    if (way("major-0")) plugin.abi_version = 5;
    if (way("id-empty")) plugin.id = literal("");
    if (way("id-upper")) plugin.id = literal("Org.example.Rain");
    if (way("id-space")) plugin.id = literal("org example");
    if (way("id-dash")) plugin.id = literal("-rain");
    if (way("id-bytes")) plugin.id = literal("\xFF");
    if (way("name-empty")) plugin.name = literal("");
    if (way("version-empty")) plugin.version = literal("");
    if (way("name-bytes")) plugin.name = literal("\xFF\xFE");
    if (way("version-bytes")) plugin.version = literal("\xFF\xFE");
}

static void extend_badly(void) {
    for (size_t one = 0; one < sizeof structs / sizeof *structs; ++one) {
        if (!place(structs[one].word)) continue;
        if (way("short")) *structs[one].size = 8;
        if (way("size-1")) *structs[one].size = 1;
        if (way("size-3")) *structs[one].size = 3;
        if (way("zero")) *structs[one].size = 0;
        if (way("huge")) *structs[one].size = 0xFFFFFFFFu;
    }
    if (place("function")) {
        if (way("no-event")) event_sink.event = NULL;
        if (way("no-handle")) ui_handler.handle = NULL;
        if (way("no-render")) asset_renderer.render = NULL;
        if (way("no-generate")) narrator_extension.generate = NULL;
        if (way("no-start")) tool_runner.start = NULL;
        if (way("no-cancel")) tool_runner.cancel = NULL;
        if (way("no-invoke")) tool_extension.invoke = NULL;
    }
    if (way("late-synchronous")) echo_tool.flags = NAR_TOOL_SYNCHRONOUS;
    if (place("list")) {
        if (way("no-events")) ui_handler.events = NULL;
        if (way("no-media-types")) asset_renderer.media_types = NULL;
        if (way("no-schemes")) tool_runner.schemes = NULL;
        if (way("no-tools")) tool_extension.tools = NULL;
        if (way("null-tool")) tools[0] = NULL;
        if (way("same-events")) ui_events[1] = ui_events[0];
        if (way("same-media-types")) media_types[1] = media_types[0];
        if (way("same-schemes")) {
            schemes[1] = schemes[0];
            tool_runner.scheme_count = 2;
        }
        if (way("same-tools")) {
            tools[1] = &echo_tool;
            tool_extension.tool_count = 2;
        }
        if (way("bytes-event")) ui_events[0] = literal("\xFF");
        if (way("empty-event")) ui_events[0] = literal("");
        if (way("bad-media-type")) media_types[0] = literal("image");
        if (way("colon-scheme")) schemes[0] = literal("test:");
        if (way("space-scheme")) schemes[0] = literal("te st");
        if (way("empty-tool")) echo_tool.name = literal("");
        if (way("space-tool")) echo_tool.name = literal("open door");
        if (way("schema-text")) echo_tool.input_schema = literal("object");
        if (way("schema-array")) echo_tool.input_schema = literal("[]");
        if (way("schema-type")) echo_tool.input_schema = literal("{\"type\":\"bogus\"}");
        if (way("schema-form")) echo_tool.input_schema = literal("{\"parameters\":{}}");
        if (way("result-text")) echo_tool.result_schema = literal("object");
        /* Only the runtime knows these (session_trial.cpp). */
        static char long_text[4097];
        memset(long_text, 'x', sizeof long_text);
        static nar_str many[4097];
        for (int one = 0; one < 4097; ++one) many[one] = some_text(long_text, (uint64_t)one + 1);
        if (way("many-events")) {
            ui_handler.events = many;
            ui_handler.event_count = 4097;
        }
        if (way("long-event")) ui_events[0] = many[4096];
        if (way("long-scheme")) schemes[0] = many[64];
        if (way("long-tool")) echo_tool.name = many[128];
        if (way("tool-flags")) echo_tool.flags = 1u << 31;
        if (way("runner-flags")) tool_runner.flags = 1u << 31;
        if (way("form-key")) {
            echo_tool.input_schema =
                literal("{\"name\":\"echo\",\"parameters\":[],\"returned\":{}}");
        }
        if (way("form-name")) {
            echo_tool.input_schema = literal("{\"name\":\"door\",\"parameters\":[]}");
        }
        if (way("short-tool")) echo_tool.size = 8;
        if (way("huge-tool")) echo_tool.size = 0xFFFFFFFFu;
        if (way("bytes-description")) echo_tool.description = literal("\xFF");
    }
}

__attribute__((constructor)) static void read_own_name(void) {
    Dl_info information;
    if (dladdr((const void *)own_name, &information) == 0) return;
    const char *base = strrchr(information.dli_fname, '/');
    snprintf(own_name, sizeof own_name, "%s", base != NULL ? base + 1 : information.dli_fname);
    /* LANGUAGE+WAY+PLACE.so */
    char *first = strchr(own_name, '+');
    char *second = first != NULL ? strchr(first + 1, '+') : NULL;
    char *dot = second != NULL ? strchr(second, '.') : NULL;
    if (dot == NULL) return;
    *second = *dot = '\0';
    snprintf(chosen_way, sizeof chosen_way, "%s", first + 1);
    snprintf(chosen_place, sizeof chosen_place, "%s", second + 1);
    if (place("description")) describe_badly();
    extend_badly();
    struct instance none;
    memset(&none, 0, sizeof none);
    none.ends[0] = none.ends[1] = -1;
    at("load", &none, NULL, 0, literal(""));
}

#ifdef __cplusplus
extern "C"
#endif
    nar_status
    nar_plugin_entry(const nar_host_description *host, const nar_plugin **found,
                     nar_failure *failure) {
    struct instance none;
    memset(&none, 0, sizeof none);
    none.ends[0] = none.ends[1] = -1;
    at("entry", &none, host, sizeof *host, literal(""));
    if (place("entry-refused")) {
        const char *reason = "no";
        if (way("silent")) reason = "";
        snprintf(failure->message, 64, "%s", reason);
        if (way("reason-bytes")) memcpy(failure->message, "\xFF", 2);
        if (way("reason-endless")) memset(failure->message, 'x', sizeof failure->message);
        return NAR_FAILED;
    }
    const uint32_t major = host->abi_version >> 16;
    const int accepts = place("versions") && (way("any-major") || (way("major-0") && major == 0) ||
                                              (way("major-2") && major == 2));
    if (major != NAR_ABI_MAJOR && !accepts) {
        snprintf(failure->message, 64, "built for another ABI");
        return place("versions") && way("wrong-status") ? NAR_FAILED : NAR_UNSUPPORTED;
    }
    if (place("versions") && way("later-minor") && host->abi_version > NAR_ABI_VERSION) {
        snprintf(failure->message, 64, "a later minor version");
        return NAR_UNSUPPORTED;
    }
    if (!(place("entry") && way("null-plugin"))) *found = &plugin;
    if (place("entry") && way("status-5")) return 5;
    return NAR_OK;
}
