// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_PREFIX = 4000, TRIES = 8 };
// The modification time of an untouched folder: creating or removing an entry changes it.
enum { UNTOUCHED_SECOND = 1 };

static char prefix[LONGEST_PREFIX];
// Shared by the reaper and its supervisors: true if one of them has swept.
static int *has_swept;

static struct {
    char variables[2][LONGEST_PREFIX + 48];
    const char *path;
    int folder;  // locked; -1: none
    unsigned generation;
    uint32_t supervisor;
    unsigned number;  // number of names that were already in use
} scratch = {.folder = -1};

void name_scratches(const char *its_prefix) {
    if (strlen(its_prefix) < sizeof prefix) strcpy(prefix, its_prefix);
    void *const shared =
        mmap(NULL, sizeof *has_swept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) has_swept = shared;
}

static void name_scratch(void) {
    char number[16] = "";
    if (scratch.number > 0) snprintf(number, sizeof number, "-%u", scratch.number);
    snprintf(scratch.variables[0], sizeof scratch.variables[0], "TMPDIR=%s%u%s", prefix,
             scratch.supervisor, number);
    snprintf(scratch.variables[1], sizeof scratch.variables[1], "HOME=%s%u%s", prefix,
             scratch.supervisor, number);
    scratch.path = scratch.variables[0] + sizeof "TMPDIR=" - 1;
}

void begin_scratch(uint32_t supervisor) {
    scratch.supervisor = supervisor;
    name_scratch();
}

char *scratch_variable(int number) { return scratch.variables[number]; }
const char *scratch_path(void) { return scratch.path; }
unsigned scratch_generation(void) { return scratch.generation; }

// ---- removing

static int is_dot(const char *name) {
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

// Removes the content of the folder. Moves nested folders up first, so that neither a deep tree nor
// a long path can exhaust a resource. Returns the number of removed or moved entries.
static unsigned remove_in(int folder, int top, unsigned *number) {
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
        // Its mode may forbid emptying or moving it. No process is left that could replace it by a
        // link.
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
        changed += remove_in(inner, top, number);
        close(inner);
        changed += unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0;
    }
    closedir(list);
    return changed;
}

static void remove_folder(int folder, const char *path) {
    fchmod(folder, 0700);
    unsigned number = 0;
    while (rmdir(path) != 0 && errno == ENOTEMPTY && remove_in(folder, folder, &number) > 0) {
    }
}

void remove_scratch(void) {
    if (scratch.folder < 0) return;
    remove_folder(scratch.folder, scratch.path);
    close(scratch.folder);
    scratch.folder = -1;
}

void remove_scratch_of(uint32_t supervisor) {
    if (*prefix == '\0') return;
    begin_scratch(supervisor);
    scratch.folder = open(scratch.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    remove_scratch();
    // A tool with write access may have replaced the folder by a file or a link. It is removed, not
    // followed.
    unlink(scratch.path);
}

// True only for names that this file creates: narratoria-scratch-<uuid>-<number>, optionally with a
// second -<number>. The UUID has version 4 and lower case; numbers are decimal, with at most ten
// digits and no leading zero.
static int is_name_of_scratch(const char *name) {
    static const char form[] =
        "narratoria-scratch-"  // as in base/scratch_name.hpp
        "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx";
    for (const char *wanted = form; *wanted != '\0'; ++wanted, ++name) {
        const char *const set = *wanted == 'x'   ? "0123456789abcdef"
                                : *wanted == 'v' ? "89ab"
                                                 : NULL;
        if (*name == '\0' || (set != NULL ? strchr(set, *name) == NULL : *name != *wanted))
            return 0;
    }
    int numbers = 0;
    while (*name == '-' && numbers < 2) {
        const size_t digits = strspn(++name, "0123456789");
        if (digits == 0 || digits > 10 || (*name == '0' && digits > 1)) return 0;
        name += digits;
        ++numbers;
    }
    return numbers > 0 && *name == '\0';
}

void sweep_scratches(void) {
    if (has_swept == NULL || __atomic_exchange_n(has_swept, 1, __ATOMIC_RELAXED) != 0) return;
    char path[LONGEST_PREFIX + 300];
    const char *const slash = strrchr(prefix, '/');
    if (slash == NULL) return;
    const size_t folder_length = (size_t)(slash + 1 - prefix);
    memcpy(path, prefix, folder_length);
    path[folder_length] = '\0';
    DIR *list = opendir(path);
    if (list == NULL) return;
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (!is_name_of_scratch(entry->d_name)) continue;
        const int folder =
            openat(dirfd(list), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat status;
        if (folder < 0) {
            // A tool has replaced the folder by a file or a link. unlinkat fails for a folder.
            if (fstatat(dirfd(list), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                status.st_uid == geteuid()) {
                unlinkat(dirfd(list), entry->d_name, 0);
            }
            continue;
        }
        if (fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
            (status.st_mode & 07777) == 0700 && flock(folder, LOCK_EX | LOCK_NB) == 0) {
            snprintf(path + folder_length, sizeof path - folder_length, "%s", entry->d_name);
            remove_folder(folder, path);
        }
        close(folder);
    }
    closedir(list);
}

// ---- using

static int is_untouched(const struct stat *status) {
    return status->st_mtim.tv_sec == UNTOUCHED_SECOND && status->st_mtim.tv_nsec == 0;
}

static int mark_untouched(int folder) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = UNTOUCHED_SECOND}};
    return futimens(folder, times) == 0;
}

// Returns false if the folder could not be emptied; it must then not be used again.
static int empty_and_mark(void) {
    unsigned number = 0;
    while (remove_in(scratch.folder, scratch.folder, &number) > 0) {
    }
    const int again = openat(scratch.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    if (list == NULL) {
        if (again >= 0) close(again);
        return 0;
    }
    int is_empty = 1;
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (!is_dot(entry->d_name)) is_empty = 0;
    }
    closedir(list);
    return is_empty && mark_untouched(scratch.folder);
}

static int make_scratch(void) {
    for (int tries = 0; tries < TRIES; ++tries) {
        if (mkdir(scratch.path, 0700) != 0) {
            if (errno != EEXIST) return errno;
            // A tool with write access has created something under this name.
            ++scratch.number;
            name_scratch();
            continue;
        }
        const int folder = open(scratch.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        // The sweep of another engine may have removed it before it was locked.
        if (folder < 0 && errno == ENOENT) continue;
        if (folder < 0) return errno;
        struct stat status;
        if (flock(folder, LOCK_SH | LOCK_NB) != 0) {
            const int error = errno;
            close(folder);
            // The sweep of another engine holds the lock and will remove the folder.
            if (error == EWOULDBLOCK) continue;
            rmdir(scratch.path);
            return error;
        }
        if (fstat(folder, &status) != 0 || status.st_nlink == 0) {
            close(folder);
            continue;
        }
        // Without the mark the folder is emptied before its next use.
        mark_untouched(folder);
        scratch.folder = folder;
        ++scratch.generation;
        return 0;
    }
    return EBUSY;
}

int take_scratch(void) {
    if (*prefix == '\0') return ENAMETOOLONG;
    struct stat status;
    if (scratch.folder >= 0 && fstat(scratch.folder, &status) == 0 && status.st_nlink > 0) {
        // Another program may have created files in it since it was emptied.
        if (is_untouched(&status) || empty_and_mark()) return 0;
        remove_scratch();
    }
    if (scratch.folder >= 0) close(scratch.folder);
    scratch.folder = -1;
    return make_scratch();
}

void empty_scratch(int may_stay) {
    struct stat status;
    if (scratch.folder < 0) return;
    if (!may_stay || fstat(scratch.folder, &status) != 0) {
        remove_scratch();
        return;
    }
    if (!is_untouched(&status) && !empty_and_mark()) remove_scratch();
}
