/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways of the corpus that bypass the check or damage what it relies on: the process, its code,
 * its memory, its descriptors. Part of plugin.h.
 */
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

extern char **environ;

static jmp_buf long_gone;
static char own_variable[] = "RAIN=heavy";

static int is_first_call(void) {
    static int calls;
    return calls++ == 0;
}

static void *exit_process(void *unused) {
    (void)unused;
    exit(0);
}
static void *raise_in_thread(void *unused) {
    (void)unused;
    raise(SIGUSR1);
    return NULL;
}
static void *reply_in_thread(void *user) {
    struct instance *instance = (struct instance *)user;
    (void)instance->narrator->reply(instance->host, instance->token,
                                    literal("{\"requestId\":\"a\",\"tools\":[]}"));
    return NULL;
}
static void in_two_threads(void *(*run)(void *), void *user) {
    pthread_t threads[2];
    for (int one = 0; one < 2; ++one) {
        if (pthread_create(&threads[one], NULL, run, user) != 0) abort();
    }
    for (int one = 0; one < 2; ++one) pthread_join(threads[one], NULL);
}
static void handle_once(int number) { (void)number; }

static void change_process_more(void) {
    if (way("reset-hand")) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = handle_once;
        action.sa_flags = (int)SA_RESETHAND;
        sigaction(SIGUSR2, &action, NULL);
    }
    if (way("uselocale")) {
        static locale_t own;
        if (own == (locale_t)0) own = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
        uselocale(own);
    }
    if (way("putenv")) putenv(own_variable);
    if (way("clearenv")) clearenv();
    if (way("environ")) environ = (char **)(uintptr_t)(zero + 8);
    if (way("fp-traps")) feenableexcept(FE_DIVBYZERO);
#ifdef __SSE2__
    if (way("flush-to-zero")) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    if (way("stack-limit")) {
        const struct rlimit little = {1 << 20, 1 << 20};
        setrlimit(RLIMIT_STACK, &little);
    }
    if (way("file-limit")) {
        const struct rlimit little = {4096, 4096};
        setrlimit(RLIMIT_FSIZE, &little);
    }
    if (way("subreaper")) prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    if (way("death-signal")) prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (way("dumpable")) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (way("no-new-privs")) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (way("timer-slack")) prctl(PR_SET_TIMERSLACK, 1000000, 0, 0, 0);
    if (way("posix-timer-now")) {
        timer_t timer;
        const struct itimerspec soon = {{0, 0}, {0, 1}};
        if (timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0) timer_settime(timer, 0, &soon, NULL);
        wait_for_ever();
    }
    if (way("seccomp")) prctl(PR_SET_SECCOMP, 1, 0, 0, 0);
}

static void end_process_more(void) {
    if (way("pthread-exit")) pthread_exit(NULL);
    if (way("cancel-self")) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    if (way("exit-thread")) in_two_threads(exit_process, NULL);
    if (way("raise-thread")) in_two_threads(raise_in_thread, NULL);
    if (way("stop-self")) raise(SIGSTOP);
    if (way("trace-me")) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGUSR1);
    }
    if (way("unload-self")) {
        Dl_info information;
        dladdr((const void *)own_name, &information);
        void *self = dlopen(information.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        for (int times = 0; self != NULL && times < 64; ++times) dlclose(self);
    }
    if (way("unload-once")) {
        Dl_info information;
        dladdr((const void *)own_name, &information);
        void *self = dlopen(information.dli_fname, RTLD_NOW | RTLD_NOLOAD);
        for (int times = 0; self != NULL && times < 2; ++times) dlclose(self);
    }
    if (way("longjmp")) longjmp(long_gone, 1);
    if (way("smash-stack")) memset(__builtin_frame_address(0), 0x5A, 64);
}

static void leave_behind_more(void) {
    if (way("daemon") && is_first_call() && fork() == 0) {
        setsid();
        if (fork() == 0) wait_for_ever();
        _exit(0);
    }
    if (way("fork-return") && is_first_call()) (void)!fork();
    if (way("vfork-exit") && vfork() == 0) _exit(0);
    if (way("flood-output")) {
        static char piece[1 << 20];
        for (;;) (void)!write(1, piece, sizeof piece);
    }
    if (way("fclose-stderr")) fclose(stderr);
}

/* Finds a descriptor by its target, for example "eventpoll", as a hostile plugin would. */
static int is_descriptor_of(int one, const char *kind) {
    char path[32], target[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", one);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    return strstr(target, kind) != NULL;
}

static void touch_descriptors_of_host(struct instance *instance) {
    int epoll = 3;
    while (epoll < 64 && !is_descriptor_of(epoll, "eventpoll")) ++epoll;
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    if (way("epoll-replace")) {
        const int own = epoll_create1(EPOLL_CLOEXEC);
        dup3(own, epoll, O_CLOEXEC);
        close(own);
    }
    if (way("epoll-add") && is_first_call()) {
        if (pipe2(instance->ends, O_CLOEXEC) != 0) abort();
        epoll_ctl(epoll, EPOLL_CTL_ADD, instance->ends[0], &event);
    }
    for (int one = 3; one < 64; ++one) {
        if (way("epoll-empty")) epoll_ctl(epoll, EPOLL_CTL_DEL, one, &event);
        if (way("epoll-change")) epoll_ctl(epoll, EPOLL_CTL_MOD, one, &event);
        if (way("keep-on-exec")) fcntl(one, F_SETFD, 0);
        const uint64_t count = 1;
        char byte;
        if (way("pipe-read") && is_descriptor_of(one, "pipe:")) (void)!read(one, &byte, 1);
        if (way("eventfd-write") && is_descriptor_of(one, "eventfd"))
            (void)!write(one, &count, sizeof count);
    }
}

static void signal_children(int number) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    if (fgets(line, sizeof line, file) != NULL) {
        for (char *end, *from = line;; from = end) {
            const long child = strtol(from, &end, 10);
            if (end == from || child <= 1) break;
            kill((pid_t)child, number);
        }
    }
    fclose(file);
}
static void kill_children(void) { signal_children(SIGKILL); }
__attribute__((destructor)) static void end_with_library(void) {
    if (way("destructor-kill-children")) kill_children();
}

static void touch_children_of_host(void) {
    if (way("kill-children")) kill_children();
    if (way("stop-children")) signal_children(SIGSTOP);
    if (way("atexit-kill-children")) atexit(kill_children);
    if (way("reap-children")) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
}

/* Makes read-only memory of the host writable. */
static void unlock(const void *address) {
    const uintptr_t page = (uintptr_t)address & ~(uintptr_t)4095;
    mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static void go_around_host(struct instance *instance, const struct given *given) {
    const nar_host *host = instance->host;
    if (way("unlock-table") && instance->log != NULL) {
        unlock(instance->log);
        ((volatile uint32_t *)(uintptr_t)instance->log)[1] = 77;
    }
    if (way("unlock-record") && given->record != NULL) {
        unlock(given->record);
        ((volatile char *)(uintptr_t)given->record)[8] = 1;
    }
    if (instance->log != NULL) {
        const nar_str endless = {"x", UINT64_MAX / 2};
        if (way("log-endless")) instance->log->write(host, 1, endless);
        const nar_str wild = {(const char *)(uintptr_t)(zero + 8), 5};
        if (way("log-wild")) instance->log->write(host, 1, wild);
    }
    if (instance->poll != NULL && way("poll-hot") && is_first_call()) {
        uint64_t handle = 0;
        if (pipe2(instance->ends, O_CLOEXEC) != 0 || write(instance->ends[1], "x", 1) != 1) abort();
        (void)instance->poll->start(host, instance->ends[0], NAR_POLL_READABLE, ignore_events, NULL,
                                    &handle);
    }
}

static void play_trick(struct instance *instance, const struct given *given) {
    change_process_more();
    end_process_more();
    leave_behind_more();
    touch_children_of_host();
    touch_descriptors_of_host(instance);
    if (instance->host != NULL) go_around_host(instance, given);
}
