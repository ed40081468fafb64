/* SPDX-License-Identifier: Apache-2.0 */

/* Rows: the host has 5,000 descriptors open, blocked signals, stdin closed …: nothing leaks into
 * tools. Reports this process's inherited state as the fields of one log event "report":
 *
 * arguments    array of strings
 * environment  object, in no particular order
 * descriptors  array of {"number", "target" (from /proc/self/fd), "flags" (F_GETFL)}
 * blocked, ignored, caught   signals, 16 hexadecimal digits as in /proc/self/status
 * folder       working folder
 * umask        number
 * pid, parent, group, session
 * limits       object of soft limits: memory, cpu, file, files, core; "none" if unlimited
 * invocation   standard input, verbatim (it is JSON), or null if it was empty
 *
 * Bytes above 0x7F in names and values are written as the characters U+0080…U+00FF. `done`
 * follows. */

#include "bad.h"

#include <dirent.h>
#include <sys/stat.h>

extern char **environ;

static void put_string(FILE *out, const char *text, size_t size) {
    fputc('"', out);
    for (size_t index = 0; index < size; ++index) {
        const unsigned byte = (unsigned char)text[index];
        if (byte < 0x20 || byte > 0x7E || byte == '"' || byte == '\\') {
            fprintf(out, "\\u%04x", byte);
        } else {
            fputc((int)byte, out);
        }
    }
    fputc('"', out);
}

static void put_environment(FILE *out) {
    fputs("\"environment\":{", out);
    for (char **entry = environ; *entry != NULL; ++entry) {
        const size_t name = strcspn(*entry, "=");
        fputs(entry == environ ? "" : ",", out);
        put_string(out, *entry, name);
        fputc(':', out);
        const char *const value = *entry + name + ((*entry)[name] == '=' ? 1 : 0);
        put_string(out, value, strlen(value));
    }
    fputs("},", out);
}

static void put_descriptors(FILE *out) {
    DIR *const folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        bad_die(BAD_TROUBLE, "/proc/self/fd cannot be read: %s", strerror(errno));
    }
    fputs("\"descriptors\":[", out);
    bool first = true;
    for (const struct dirent *entry = NULL; (entry = readdir(folder)) != NULL;) {
        char *end = NULL;
        const long number = strtol(entry->d_name, &end, 10);
        if (*end != '\0' || end == entry->d_name || number == dirfd(folder)) {
            continue;
        }
        char target[4096];
        const ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);
        fprintf(out, "%s{\"number\":%ld,\"target\":", first ? "" : ",", number);
        put_string(out, target, size < 0 ? 0 : (size_t)size);
        fprintf(out, ",\"flags\":%d}", fcntl((int)number, F_GETFL));
        first = false;
    }
    fputs("],", out);
    (void)closedir(folder);
}

static void put_signals(FILE *out) {
    FILE *const status = fopen("/proc/self/status", "re");
    if (status == NULL) {
        bad_die(BAD_TROUBLE, "/proc/self/status cannot be read: %s", strerror(errno));
    }
    char line[1024];
    while (fgets(line, sizeof line, status) != NULL) {
        const char *const name = strncmp(line, "SigBlk:", 7) == 0   ? "blocked"
                                 : strncmp(line, "SigIgn:", 7) == 0 ? "ignored"
                                 : strncmp(line, "SigCgt:", 7) == 0 ? "caught"
                                                                    : NULL;
        if (name != NULL) {
            char *const value = line + 7 + strspn(line + 7, " \t");
            fprintf(out, "\"%s\":\"%.*s\",", name, (int)strcspn(value, "\n"), value);
        }
    }
    (void)fclose(status);
}

static void put_limit(FILE *out, const char *name, const struct rlimit *limit) {
    fprintf(out, "\"%s\":", name);
    if (limit->rlim_cur == RLIM_INFINITY) {
        fputs("\"none\"", out);
    } else {
        fprintf(out, "%llu", (unsigned long long)limit->rlim_cur);
    }
}

static void put_limits(FILE *out) {
    struct rlimit limit = {0, 0};
    fputs("\"limits\":{", out);
    (void)getrlimit(RLIMIT_AS, &limit);
    put_limit(out, "memory", &limit);
    fputc(',', out);
    (void)getrlimit(RLIMIT_CPU, &limit);
    put_limit(out, "cpu", &limit);
    fputc(',', out);
    (void)getrlimit(RLIMIT_FSIZE, &limit);
    put_limit(out, "file", &limit);
    fputc(',', out);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    put_limit(out, "files", &limit);
    fputc(',', out);
    (void)getrlimit(RLIMIT_CORE, &limit);
    put_limit(out, "core", &limit);
    fputs("},", out);
}

int main(int count, char **arguments) {
    char *report = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&report, &size);
    if (out == NULL) {
        bad_die(BAD_TROUBLE, "no memory");
    }
    fputs(
        "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"report\","
        "\"fields\":{\"arguments\":[",
        out);
    for (int index = 0; index < count; ++index) {
        fputs(index == 0 ? "" : ",", out);
        put_string(out, arguments[index], strlen(arguments[index]));
    }
    fputs("],", out);
    put_environment(out);
    /* First, before this process opens or limits anything itself. */
    put_descriptors(out);
    put_signals(out);
    put_limits(out);
    bad_begin();
    char folder[4096];
    if (getcwd(folder, sizeof folder) == NULL) {
        bad_die(BAD_TROUBLE, "the working folder is not known: %s", strerror(errno));
    }
    fputs("\"folder\":", out);
    put_string(out, folder, strlen(folder));
    const mode_t mask = umask(0);
    (void)umask(mask);
    fprintf(out, ",\"umask\":%u,\"pid\":%d,\"parent\":%d,\"group\":%d,\"session\":%d,",
            (unsigned)mask, (int)getpid(), (int)getppid(), (int)getpgrp(), (int)getsid(0));
    const bool empty = *bad_skip_blanks(bad_invocation) == '\0';
    /* A line break that ends the invocation would end the event. */
    bad_invocation[strcspn(bad_invocation, "\r\n")] = '\0';
    fprintf(out, "\"invocation\":%s}}\n", empty ? "null" : bad_invocation);
    if (fclose(out) != 0) {
        bad_die(BAD_TROUBLE, "no memory");
    }
    (void)bad_write(STDOUT_FILENO, report, size);
    free(report);
    bad_done(true);
    return 0;
}
