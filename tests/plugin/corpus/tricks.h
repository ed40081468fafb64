/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways of the corpus that bypass the check or damage what it relies on: the process, its code,
 * its memory, its descriptors. Part of plugin.h.
 */
#include <setjmp.h>
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
    if (instance->host != NULL) go_around_host(instance, given);
}
