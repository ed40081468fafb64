// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "landlock.h"
#include "sandbox_bits.h"
#include "sandbox_filters.h"
#include "system_call.h"

enum { ROUND_MS = 20 };

static struct {
    uint32_t bits;
    const char *scratch;  // NULL: none
    int ruleset;
    int landlock;  // the ABI of this kernel; 0: not asked yet
    // A network namespace without any connection. Its descriptor is kept for all invocations:
    // nothing of one can stay in it, because all its processes are gone before the next.
    int network;  // -1: none
    int network_was_tried;
    // Shared with the child until its exec.
    volatile uint32_t has_arrived;  // the child has its filter, or has failed
    volatile int listener;
} sandbox = {.ruleset = -1, .network = -1, .listener = -1};

// ---- before the clone

static int open_network(void) {
    const int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0) return -1;
    int made = -1;
    if (unshare(CLONE_NEWNET) == 0) {
        made = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        // Tools without a sandbox need the network.
        if (setns(own, CLONE_NEWNET) != 0) _exit(3);
    }
    close(own);
    return made;
}

// Nothing that is missing is an error: a rule only permits.
static int permit(const char *path, uint64_t rights) {
    const int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return 0;
    struct stat status;
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) {
        rights &= LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE |
                  LANDLOCK_DEVICE;
    }
    const struct landlock_rule rule = {.allowed = rights, .folder = file};
    int error = 0;
    if (rights != 0 &&
        syscall(LANDLOCK_ADD_RULE, sandbox.ruleset, LANDLOCK_PATH_BENEATH, &rule, 0) != 0) {
        error = errno;
    }
    close(file);
    return error;
}

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
        // Without it a file that may only be read could be emptied.
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
        // Any rule makes a domain, which is what keeps the tool out of other processes.
        ruleset.files = LANDLOCK_EXECUTE;
    }
    const size_t size = abi >= LANDLOCK_ABI_SCOPES    ? sizeof ruleset
                        : abi >= LANDLOCK_ABI_NETWORK ? 2 * sizeof(uint64_t)
                                                      : sizeof(uint64_t);
    // Landlock refuses this right in every ruleset about files that does not name it.
    if (ruleset.files != 0 && write == 0 && abi >= 2) ruleset.files |= LANDLOCK_REFER;
    const long made = syscall(LANDLOCK_CREATE_RULESET, &ruleset, size, 0);
    if (made < 0) return errno;
    sandbox.ruleset = (int)made;
    int error = 0;
    const uint64_t everywhere = ruleset.files & ~(write | read);
    if (everywhere != 0) error = permit("/", everywhere);
    if (error == 0 && write != 0) {
        error = permit("/dev/null", LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE);
    }
    if (error == 0 && sandbox.scratch != NULL) error = permit(sandbox.scratch, write | read);
    for (uint32_t i = 0; i < readable_count && read != 0 && error == 0; ++i) {
        error = permit(readable[i], read);
    }
    return error;
}

int prepare_sandbox(uint32_t bits, const char *scratch, char *const *readable,
                    uint32_t readable_count, uint32_t *stage) {
    sandbox.bits = bits;
    sandbox.scratch = NULL;
    sandbox.has_arrived = 0;
    sandbox.listener = -1;
    if (*scratch != '\0') {
        *stage = SUPERVISOR_STAGE_SCRATCH;
        if (mkdir(scratch, 0700) != 0) return errno;
        sandbox.scratch = scratch;
    }
    if (bits & SANDBOX_NETWORK && !sandbox.network_was_tried) {
        sandbox.network_was_tried = 1;
        sandbox.network = open_network();
    }
    return make_ruleset(readable, readable_count, stage);
}

// ---- the child, between clone and exec: it calls no library function and writes only to what is
// shared with it

static long wake(volatile uint32_t *word) {
    *word = 1;
    return system_call(SYS_futex, (long)word, FUTEX_WAKE, 1, 0);
}

void give_up_sandbox(void) { wake(&sandbox.has_arrived); }

// The exec gives root every capability of the bounding set. -EPERM if one is left besides `kept`.
static long check_capabilities(uint64_t kept) {
    if (system_call(SYS_geteuid, 0, 0, 0, 0) != 0 && system_call(SYS_getuid, 0, 0, 0, 0) != 0) {
        return 0;
    }
    for (int capability = 0; capability < 64; ++capability) {
        if (kept >> capability & 1) continue;
        const long has = system_call(SYS_prctl, PR_CAPBSET_READ, capability, 0, 0);
        if (has < 0) return 0;  // EINVAL: the one after the last
        if (has != 0) return -EPERM;
    }
    return 0;
}

// What root may do is the file rights of its user and no more. The exec takes all others away.
static long drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    long failed = system_call(SYS_capget, (long)&header, (long)sets, 0, 0);
    if (failed != 0) return failed;
    if (sets[0].inheritable != 0 || sets[1].inheritable != 0) {
        sets[0].inheritable = sets[1].inheritable = 0;
        failed = system_call(SYS_capset, (long)&header, (long)sets, 0, 0);
        if (failed != 0) return failed;
    }
    // Kernels since 4.3 have it.
    failed = system_call(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0);
    if (failed != 0) return failed;
    static const uint64_t kept = 1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE |
                                 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_FOWNER |
                                 1ull << CAP_FSETID;
    for (int capability = 0; capability < 64; ++capability) {
        if (kept >> capability & 1) continue;
        failed = system_call(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0);
        if (failed == -EINVAL) return 0;  // the one after the last
        // Without CAP_SETPCAP none can be dropped. Only root has any behind the exec then.
        if (failed == -EPERM) return check_capabilities(kept);
        if (failed != 0) return failed;
    }
    return 0;
}

long enter_sandbox(volatile uint32_t *stage) {
    long failed = 0;
    *stage = SUPERVISOR_STAGE_SANDBOX;
    if (sandbox.bits & SANDBOX_NETWORK && sandbox.network >= 0) {
        failed = system_call(SYS_setns, sandbox.network, CLONE_NEWNET, 0, 0);
        if (failed != 0) return failed;
    }
    failed = drop_capabilities();
    if (failed != 0) return failed;
    // 1 writes no memory image into a file and pipes none to a program of the host; 0 would pipe it.
    // EPERM: the limit is 0, and our user may not raise it.
    const struct rlimit none = {1, 1};
    failed = system_call(SYS_prlimit64, 0, RLIMIT_CORE, (long)&none, 0);
    if (failed != 0 && failed != -EPERM) return failed;
    failed = system_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
    if (failed != 0) return failed;
    *stage = SUPERVISOR_STAGE_LANDLOCK;
    failed = system_call(LANDLOCK_RESTRICT_SELF, sandbox.ruleset, 0, 0, 0);
    if (failed != 0) return failed;
    *stage = SUPERVISOR_STAGE_SECCOMP;
    const int listens = (sandbox.bits & SANDBOX_SUBPROCESS) != 0;
    failed = system_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                         listens ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0,
                         (long)&filters[sandbox.bits % SANDBOX_FILTERS], 0);
    if (failed < 0) return failed;
    if (listens) {
        sandbox.listener = (int)failed;
        failed = system_call(SYS_unshare, CLONE_FILES, 0, 0, 0);
        if (failed != 0) return failed;
        wake(&sandbox.has_arrived);
    }
    return 0;
}

// ---- after the clone

int listens_to_sandbox(void) { return (sandbox.bits & SANDBOX_SUBPROCESS) != 0; }

static int has_ended(pid_t child) {
    siginfo_t end = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid != 0;
}

// Answers one notification. `flags`: SECCOMP_USER_NOTIF_FLAG_CONTINUE, or 0 to refuse. False if there
// was none.
static int answer(int listener, uint32_t flags) {
    struct seccomp_notif call;
    memset(&call, 0, sizeof call);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return 0;
    const struct seccomp_notif_resp response = {
        .id = call.id, .error = flags == 0 ? -EPERM : 0, .flags = flags};
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

int await_sandbox(pid_t child) {
    while (!sandbox.has_arrived) {
        const struct timespec round = {.tv_nsec = ROUND_MS * 1000000L};
        syscall(SYS_futex, &sandbox.has_arrived, FUTEX_WAIT, 0, &round, NULL, 0);
        if (!sandbox.has_arrived && has_ended(child)) break;
    }
    const int listener = sandbox.listener;
    if (listener < 0) return -1;
    for (;;) {
        struct pollfd calls = {.fd = listener, .events = POLLIN};
        const int ready = poll(&calls, 1, ROUND_MS);
        // The only program that may start: until it has started, the child runs nothing but our own
        // code, so what the call says cannot be changed behind the filter's back.
        if (ready > 0 && calls.revents & POLLIN &&
            answer(listener, SECCOMP_USER_NOTIF_FLAG_CONTINUE)) {
            return listener;
        }
        if ((ready > 0 && !(calls.revents & POLLIN)) || has_ended(child)) break;
    }
    close(listener);
    return -1;
}

int refuse_program(int listener) {
    struct pollfd calls = {.fd = listener, .events = POLLIN};
    if (poll(&calls, 1, 0) > 0 && !(calls.revents & POLLIN)) return 0;
    if (calls.revents & POLLIN) answer(listener, 0);
    return 1;
}

// ---- at the end

static int is_dot(const char *name) {
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// Removes what is in the folder. Folders inside folders are first moved up, so that neither a deep
// tree nor a long path can exhaust anything. Returns how many entries it removed or moved.
static unsigned empty_folder(int folder, int top, unsigned *number) {
    unsigned changed = 0;
    const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    if (list == NULL) {
        if (again >= 0) close(again);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (is_dot(entry->d_name)) continue;
        if (unlinkat(folder, entry->d_name, 0) == 0 ||
            unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0) {
            ++changed;
            continue;
        }
        // Its own rights may forbid to empty or to move it. No process is left that could put a link
        // into its place.
        fchmodat(folder, entry->d_name, 0700, 0);
        if (folder != top) {
            char name[32];
            snprintf(name, sizeof name, ".removed-%u", (*number)++);
            changed += renameat(folder, entry->d_name, top, name) == 0;
            continue;
        }
        const int inner =
            openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0) continue;
        changed += empty_folder(inner, top, number);
        close(inner);
        changed += unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0;
    }
    closedir(list);
    return changed;
}

static void remove_scratch(void) {
    const int folder = open(sandbox.scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0) {
        fchmod(folder, 0700);
        unsigned number = 0;
        while (rmdir(sandbox.scratch) != 0 && errno == ENOTEMPTY &&
               empty_folder(folder, folder, &number) > 0) {
        }
        close(folder);
    }
    rmdir(sandbox.scratch);
}

void clean_sandbox(struct supervisor_ended *ended) {
    if (sandbox.bits == 0) return;
    if (sandbox.ruleset >= 0) close(sandbox.ruleset);
    sandbox.ruleset = -1;
    if (sandbox.scratch != NULL) remove_scratch();
    sandbox.scratch = NULL;
    ended->landlock = (uint32_t)sandbox.landlock;
    ended->has_network_namespace = sandbox.bits & SANDBOX_NETWORK && sandbox.network >= 0;
    sandbox.bits = 0;
}
