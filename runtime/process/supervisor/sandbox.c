// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "landlock.h"
#include "sandbox_bits.h"
#include "sandbox_filters.h"
#include "scratch.h"
#include "system_call.h"

enum { NETWORK_ONLY = 1, NETWORK_OF_USER };
enum { ROUND_MS = 20, MOST_INSTRUCTIONS = 1024, MOST_READABLE = 128, READABLE_BYTES = 16384 };

// Identifies a file in the rules. A rule keeps a reference to the inode, so its number is not
// reused.
struct identity {
    dev_t device;
    ino_t inode;
};

static struct {
    uint32_t bits;
    int has_scratch;
    int landlock;  // the ABI of this kernel; 0: not queried yet
    // Namespaces, one of each for all invocations: all processes of an invocation end before the
    // next one starts, so it leaves nothing in them. The network namespace has no connection.
    int network, users;  // -1: none
    int network_was_tried;
    // The filter, and the key for the exec of the tool. No tool can learn the key: it exists only
    // in registers, which an exec clears, and in this process, which sandboxed tools cannot read.
    uint64_t key[SANDBOX_KEYS];
    struct sock_filter instructions[MOST_INSTRUCTIONS];
    struct sock_fprog filter;
    uint32_t filter_bits;
    int cannot_listen;  // an outer sandbox has a listener
    // Shared with the child until its exec.
    volatile uint32_t has_arrived;  // the child has its filter, or has failed
    volatile uint32_t in_namespace;
    volatile int listener;
} sandbox = {.network = -1, .users = -1, .listener = -1, .filter_bits = UINT32_MAX};

// Cache: the rules of the last invocation, which the next one usually needs again.
static struct {
    int ruleset;  // -1: none
    uint32_t bits;
    uint32_t readable_count;
    unsigned scratch;  // the generation of the scratch folder
    size_t size;
    char readable[READABLE_BYTES];
    struct identity identities[MOST_READABLE];
} rules = {.ruleset = -1};

// ---- before the clone

static int write_file(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const int is_written = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    close(file);
    return is_written;
}

// Creates a network namespace. Without privilege it also needs a user namespace; that one maps only
// the user. Writes the kind to `ready`.
static void make_namespaces(int ready) {
    char made = NETWORK_ONLY;
    if (unshare(CLONE_NEWNET) != 0) {
        char map[64];
        const uid_t user = geteuid();
        const gid_t users = getegid();
        made = NETWORK_OF_USER;
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return;
        snprintf(map, sizeof map, "%u %u 1", user, user);
        if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", map))
            return;
        snprintf(map, sizeof map, "%u %u 1", users, users);
        if (!write_file("/proc/self/gid_map", map)) return;
    }
    if (write(ready, &made, 1) != 1) return;
    for (;;) pause();
}

static int open_namespace(pid_t process, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)process, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

// Creates the namespaces in a child, because a security module may not let this process leave a
// namespace, and tools without a sandbox need the network.
static void open_network(void) {
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) return;
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() == self) make_namespaces(ready[1]);
        _exit(0);
    }
    close(ready[1]);
    char made;
    if (child > 0 && read(ready[0], &made, 1) == 1) {
        if (made == NETWORK_OF_USER) sandbox.users = open_namespace(child, "user");
        if (made == NETWORK_ONLY || sandbox.users >= 0) {
            sandbox.network = open_namespace(child, "net");
        }
    }
    close(ready[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    if (sandbox.network < 0 && sandbox.users >= 0) {
        close(sandbox.users);
        sandbox.users = -1;
    }
}

static int permit_file(int ruleset, int file, uint64_t rights) {
    struct stat status;
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) {
        rights &= LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE |
                  LANDLOCK_DEVICE;
    }
    const struct landlock_rule rule = {.allowed = rights, .folder = file};
    int error = 0;
    if (rights != 0 && syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_PATH_BENEATH, &rule, 0) != 0) {
        error = errno;
    }
    return error;
}

// Adds a rule for a file. A missing or inaccessible file is not an error: a rule only permits. A
// shortage of descriptors or memory is an error: the rules are cached, and the next invocation
// would lack the file as well.
static int permit(int ruleset, const char *path, uint64_t rights) {
    const int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : 0;
    const int error = permit_file(ruleset, file, rights);
    close(file);
    return error;
}

// Adds a rule for the scratch folder. The supervisor has created it, so if it is missing or
// replaced by a link, no tool may start.
static int permit_scratch(int ruleset, uint64_t rights) {
    const int file = open(scratch_path(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return errno;
    const int error = permit_file(ruleset, file, rights);
    close(file);
    return error;
}

// Sets `rules.ruleset`.
static int make_ruleset(char *const *readable, uint32_t readable_count, uint32_t *stage) {
    *stage = SUPERVISOR_STAGE_LANDLOCK;
    if (sandbox.landlock == 0) {
        const long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION);
        if (version < 0) return errno;
        sandbox.landlock = (int)version;
    }
    const int abi = sandbox.landlock;
    const uint32_t bits = sandbox.bits;
    uint64_t write = 0;
    if (bits & SANDBOX_WRITE) {
        // Without this right, a read-only file could be truncated.
        *stage = SUPERVISOR_STAGE_LANDLOCK_TRUNCATE;
        if (abi < LANDLOCK_ABI_TRUNCATE) return EOPNOTSUPP;
        write = LANDLOCK_WRITE_FILE | LANDLOCK_CHANGE_FOLDER | LANDLOCK_REFER | LANDLOCK_TRUNCATE;
        if (abi >= LANDLOCK_ABI_DEVICES) write |= LANDLOCK_DEVICE;
    }
    *stage = SUPERVISOR_STAGE_LANDLOCK;
    const uint64_t read = bits & SANDBOX_READ ? LANDLOCK_READ_FILE | LANDLOCK_READ_FOLDER : 0;
    struct landlock_ruleset ruleset = {.files = write | read};
    if (abi >= LANDLOCK_ABI_NETWORK && bits & SANDBOX_NETWORK) ruleset.network = LANDLOCK_NETWORK;
    if (abi >= LANDLOCK_ABI_SCOPES) {
        ruleset.scopes = LANDLOCK_SIGNALS | LANDLOCK_ABSTRACT_SOCKETS;
    } else if (ruleset.files == 0 && ruleset.network == 0) {
        // Any handled right creates a domain, which denies the tool access to other processes.
        ruleset.files = LANDLOCK_EXECUTE;
    }
    const size_t size = abi >= LANDLOCK_ABI_SCOPES    ? sizeof ruleset
                        : abi >= LANDLOCK_ABI_NETWORK ? 2 * sizeof(uint64_t)
                                                      : sizeof(uint64_t);
    // Landlock denies this right in every ruleset for files that does not handle it.
    if (ruleset.files != 0 && write == 0 && abi >= 2) ruleset.files |= LANDLOCK_REFER;
    const long made = syscall(LANDLOCK_CREATE_RULESET, &ruleset, size, 0);
    if (made < 0) return errno;
    rules.ruleset = (int)made;
    int error = 0;
    const uint64_t everywhere = ruleset.files & ~(write | read);
    if (everywhere != 0) error = permit(rules.ruleset, "/", everywhere);
    if (error == 0 && write != 0) {
        error = permit(rules.ruleset, "/dev/null", LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE);
    }
    if (error == 0 && sandbox.has_scratch) {
        error = permit_scratch(rules.ruleset, write | read);
    }
    for (uint32_t i = 0; i < readable_count && read != 0 && error == 0; ++i) {
        error = permit(rules.ruleset, readable[i], read);
    }
    return error;
}

static struct identity identity_of(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return (struct identity){0, 0};
    return (struct identity){status.st_dev, status.st_ino};
}

static void forget_rules(void) {
    if (rules.ruleset >= 0) close(rules.ruleset);
    rules.ruleset = -1;
}

// Reuses the cached ruleset or creates one. The texts of `readable` are contiguous in memory.
static int take_ruleset(char *const *readable, uint32_t readable_count, uint32_t *stage) {
    const char *const texts = readable_count == 0 ? "" : readable[0];
    const size_t size = readable_count == 0 ? 0
                                            : (size_t)(readable[readable_count - 1] - texts) +
                                                  strlen(readable[readable_count - 1]) + 1;
    struct identity found[MOST_READABLE];
    const int may_keep = readable_count <= MOST_READABLE && size <= READABLE_BYTES;
    int fits = may_keep && rules.ruleset >= 0 && rules.bits == sandbox.bits &&
               rules.readable_count == readable_count && rules.size == size &&
               (!sandbox.has_scratch || rules.scratch == scratch_generation()) &&
               memcmp(rules.readable, texts, size) == 0;
    for (uint32_t i = 0; may_keep && i < readable_count; ++i) {
        found[i] = identity_of(readable[i]);
        fits = fits && found[i].device == rules.identities[i].device &&
               found[i].inode == rules.identities[i].inode;
    }
    if (fits) return 0;
    forget_rules();
    const int error = make_ruleset(readable, readable_count, stage);
    if (error != 0) {
        forget_rules();
        return error;
    }
    // 0 matches no later invocation if the ruleset must not be cached.
    rules.bits = may_keep ? sandbox.bits : 0;
    rules.readable_count = readable_count;
    rules.size = size;
    rules.scratch = scratch_generation();
    if (may_keep) {
        memcpy(rules.readable, texts, size);
        memcpy(rules.identities, found, readable_count * sizeof *found);
    }
    return 0;
}

static int make_filter(void) {
    const uint32_t number = sandbox.bits % SANDBOX_FILTERS;
    if (sandbox.filter_bits == number) return 0;
    if (sandbox.filter_bits == UINT32_MAX &&
        getrandom(sandbox.key, sizeof sandbox.key, 0) != (ssize_t)sizeof sandbox.key) {
        return errno;
    }
    const struct sock_fprog *const made = &filters[number];
    if (made->len > MOST_INSTRUCTIONS) return E2BIG;
    memcpy(sandbox.instructions, made->filter, made->len * sizeof *made->filter);
    for (unsigned i = 0; i < made->len; ++i) {
        struct sock_filter *const one = &sandbox.instructions[i];
        const uint32_t word = one->k - SANDBOX_KEY_WORD;
        if (one->code == (BPF_JMP | BPF_JEQ | BPF_K) && word < 2 * SANDBOX_KEYS) {
            const uint64_t key = sandbox.key[word / 2];
            one->k = (uint32_t)(word % 2 == 0 ? key >> 32 : key);
        }
    }
    sandbox.filter = (struct sock_fprog){made->len, sandbox.instructions};
    sandbox.filter_bits = number;
    return 0;
}

int prepare_sandbox(uint32_t bits, int has_scratch, char *const *readable, uint32_t readable_count,
                    uint32_t *stage) {
    sandbox.bits = bits;
    sandbox.has_scratch = has_scratch;
    sandbox.has_arrived = 0;
    sandbox.in_namespace = 0;
    sandbox.listener = -1;
    if (has_scratch) {
        *stage = SUPERVISOR_STAGE_SCRATCH;
        const int error = take_scratch();
        if (error != 0) return error;
    }
    if (bits & SANDBOX_NETWORK && !sandbox.network_was_tried) {
        sandbox.network_was_tried = 1;
        open_network();
    }
    *stage = SUPERVISOR_STAGE_SANDBOX;
    const int error = make_filter();
    return error != 0 ? error : take_ruleset(readable, readable_count, stage);
}

int listens_to_sandbox(void) {
    return (sandbox.bits & (SANDBOX_SUBPROCESS | SANDBOX_NETWORK)) != 0 && !sandbox.cannot_listen;
}

// ---- the child, between clone and exec: it calls no library function and writes only to memory
// that is meant to be shared

static long wake(volatile uint32_t *word) {
    *word = 1;
    return system_call(SYS_futex, (long)word, FUTEX_WAKE, 1, 0);
}

void give_up_sandbox(void) { wake(&sandbox.has_arrived); }

// Leaves root only the capabilities for file access. An exec as root would restore all others, but
// no_new_privs prevents that.
static long drop_capabilities(uint32_t kept) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    const long failed = system_call(SYS_capget, (long)&header, (long)sets, 0, 0);
    if (failed != 0) return failed;
    const uint32_t left = sets[0].permitted & kept;
    // A capability that is not inheritable is not ambient either.
    sets[0] = (struct __user_cap_data_struct){.effective = left, .permitted = left};
    sets[1] = (struct __user_cap_data_struct){.effective = 0};
    return system_call(SYS_capset, (long)&header, (long)sets, 0, 0);
}

static uint32_t enter_namespaces(void) {
    const uint32_t kept = 1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH |
                          1u << CAP_FOWNER | 1u << CAP_FSETID;
    if (!(sandbox.bits & SANDBOX_NETWORK) || sandbox.network < 0) return kept;
    // A security module may refuse this. The filter alone also denies the network.
    const int has_users =
        sandbox.users >= 0 && system_call(SYS_setns, sandbox.users, CLONE_NEWUSER, 0, 0) == 0;
    if (sandbox.users >= 0 && !has_users) return kept;
    if (system_call(SYS_setns, sandbox.network, CLONE_NEWNET, 0, 0) == 0) sandbox.in_namespace = 1;
    return has_users ? 0 : kept;
}

static void answer_by_kernel(void) {
    for (unsigned i = 0; i < sandbox.filter.len; ++i) {
        struct sock_filter *const one = &sandbox.instructions[i];
        if (one->code == (BPF_RET | BPF_K) && one->k == SECCOMP_RET_USER_NOTIF) {
            one->k = SECCOMP_RET_ERRNO | EPERM;
        }
    }
}

static long set_filter(void) {
    if (listens_to_sandbox()) {
        const long made = system_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                      SECCOMP_FILTER_FLAG_NEW_LISTENER, (long)&sandbox.filter, 0);
        if (made >= 0) sandbox.listener = (int)made;
        if (made >= 0) return 0;
        if (made != -EBUSY) return made;
        sandbox.cannot_listen = 1;
    }
    // Without a listener the kernel refuses the calls itself, and they are not counted.
    if (sandbox.cannot_listen) answer_by_kernel();
    return system_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&sandbox.filter, 0);
}

long enter_sandbox(volatile uint32_t *stage) {
    *stage = SUPERVISOR_STAGE_SANDBOX;
    // Disables core dumps. With 1 the kernel writes no file and does not pipe the dump to a program
    // of the host; with 0 it would pipe it. EPERM: the limit is 0, and our user may not raise it.
    const struct rlimit none = {1, 1};
    long failed = system_call(SYS_prlimit64, 0, RLIMIT_CORE, (long)&none, 0);
    if (failed != 0 && failed != -EPERM) return failed;
    failed = drop_capabilities(enter_namespaces());
    if (failed != 0) return failed;
    // The kernel clears the parent death signal when credentials change.
    failed = system_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
    if (failed != 0) return failed;
    failed = system_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
    if (failed != 0) return failed;
    *stage = SUPERVISOR_STAGE_LANDLOCK;
    failed = system_call(LANDLOCK_RESTRICT_SELF, rules.ruleset, 0, 0, 0);
    if (failed != 0) return failed;
    *stage = SUPERVISOR_STAGE_SECCOMP;
    const int shares_descriptors = listens_to_sandbox();
    failed = set_filter();
    if (failed != 0) return failed;
    if (shares_descriptors) {
        *stage = SUPERVISOR_STAGE_SANDBOX;
        failed = system_call(SYS_unshare, CLONE_FILES, 0, 0, 0);
        if (failed != 0) return failed;
        wake(&sandbox.has_arrived);
    }
    return 0;
}

long execute_in_sandbox(const char *path, char **arguments, char **environment) {
    return execute_with_key(path, arguments, environment, sandbox.key);
}

// ---- after the clone

static int has_ended(pid_t child) {
    siginfo_t end = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid != 0;
}

int await_sandbox(pid_t child) {
    while (!sandbox.has_arrived) {
        const struct timespec round = {.tv_nsec = ROUND_MS * 1000000L};
        syscall(SYS_futex, &sandbox.has_arrived, FUTEX_WAIT, 0, &round, NULL, 0);
        if (!sandbox.has_arrived && has_ended(child)) break;
    }
    return sandbox.listener;
}

int take_refusal(int listener, struct supervisor_ended *ended) {
    struct pollfd calls = {.fd = listener, .events = POLLIN};
    if (poll(&calls, 1, 0) > 0 && !(calls.revents & POLLIN)) return 0;
    struct seccomp_notif call;
    memset(&call, 0, sizeof call);
    if (!(calls.revents & POLLIN) || ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
        return 1;
    if (call.data.nr == SYS_socket) ++ended->refused_sockets;
    else ++ended->refused_programs;
    const struct seccomp_notif_resp refusal = {.id = call.id, .error = -EPERM};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &refusal);
    return 1;
}

// ---- at the end

void clean_sandbox(struct supervisor_ended *ended) {
    if (sandbox.bits == 0) return;
    // Without SANDBOX_WRITE the tool may have changed attributes of the folder.
    if (sandbox.has_scratch) empty_scratch((sandbox.bits & SANDBOX_WRITE) != 0);
    ended->landlock = (uint32_t)sandbox.landlock;
    if (sandbox.in_namespace) {
        ended->network = sandbox.users >= 0 ? SUPERVISOR_NETWORK_OF_USER : SUPERVISOR_NETWORK;
    }
    sandbox.bits = 0;
}
