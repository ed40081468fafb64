/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared code of the hostile tools: parameters, event lines, and a witness on a socket.
 *
 * Parameters come from the environment (BAD_SIZE for `size`) or else from the `input` of the
 * invocation on standard input. Tools that must not read standard input use only the environment.
 *
 * Witness. A process that a test must be able to observe connects to the Unix stream socket
 * `socket` (a path, or `@name` for an abstract one), sends "ROLE PID\n", and keeps the connection:
 * end of file proves its death. Each byte sent to it is a command, echoed after it has been
 * executed, which proves that the process lives:
 *     w   write one log event to standard output, "ROLE was told to write"
 *     d   write `done`, ok, and exit with 0 (the echo comes before the exit)
 *     x   exit with 0
 *     any other byte: nothing
 * When the test closes the connection, the process exits, so nothing outlives a failing test.
 * Without `socket`, tools do not wait for commands; tools that run until they are ended wait for a
 * signal.
 *
 * No hostile tool lives longer than BAD_LAST_RESORT seconds, whatever the runtime does.
 *
 * Exit status: 97 the test has closed the connection, 98 a parameter is wrong, 99 an internal
 * error; 98 and 99 explain themselves on standard error. Build without sanitizers: they reserve
 * the memory and the signals that some of these tools use. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BAD_LAST_RESORT = 900, BAD_TEST_GONE = 97, BAD_PARAMETER = 98, BAD_TROUBLE = 99 };

/* The unparsed invocation with a terminating NUL; NULL if standard input was not read. */
static char *bad_invocation;

__attribute__((noreturn, format(printf, 2, 3))) static inline void bad_die(int status,
                                                                           const char *format,
                                                                           ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vdprintf(STDERR_FILENO, format, arguments);
    va_end(arguments);
    (void)dprintf(STDERR_FILENO, "\n");
    _exit(status);
}

/* ---- Output ---------------------------------------------------------------------------------- */

/* Writes all bytes; false if the reader is gone. */
static inline bool bad_write(int descriptor, const void *data, size_t size) {
    const char *at = data;
    while (size > 0) {
        const ssize_t written = write(descriptor, at, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            at += written;
            size -= (size_t)written;
        }
    }
    return true;
}

/* Formats one line to standard output in one write; the format includes the newline. */
__attribute__((format(printf, 1, 2))) static inline void bad_print(const char *format, ...) {
    char line[8192];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= sizeof line) {
        bad_die(BAD_TROUBLE, "a line is too long for bad_print");
    }
    (void)bad_write(STDOUT_FILENO, line, (size_t)size);
}

static inline void bad_log(const char *message) {
    bad_print("{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"%s\"}\n",
              message);
}

static inline void bad_done(bool ok) {
    bad_print("{\"version\":\"0\",\"type\":\"done\",\"ok\":%s}\n", ok ? "true" : "false");
}

static inline void bad_error(const char *code, const char *message) {
    bad_print(
        "{\"version\":\"0\",\"type\":\"error\",\"errorCode\":\"%s\",\"errorMessage\":\"%s\"}\n",
        code, message);
}

/* The name of an error that a limit can cause. */
static inline const char *bad_errno_name(int number) {
    switch (number) {
        case 0: return "";
        case EAGAIN: return "EAGAIN";
        case EFBIG: return "EFBIG";
        case EMFILE: return "EMFILE";
        case ENFILE: return "ENFILE";
        case ENOMEM: return "ENOMEM";
        case ENOSPC: return "ENOSPC";
        default: return "OTHER";
    }
}

/* ---- Parameters ------------------------------------------------------------------------------- */

static inline char *bad_skip_blanks(char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') {
        ++at;
    }
    return at;
}

/* Moves from the opening quote past the closing one. */
static inline char *bad_skip_string(char *at) {
    for (++at; *at != '"'; ++at) {
        if (*at == '\\' && at[1] != '\0') {
            ++at;
        } else if (*at == '\0') {
            bad_die(BAD_PARAMETER, "the invocation ends inside a string");
        }
    }
    return at + 1;
}

/* Moves past the value at `at`. The runtime writes valid JSON, so counting brackets is enough. */
static inline char *bad_skip_value(char *at) {
    size_t depth = 0;
    do {
        at = bad_skip_blanks(at);
        if (*at == '"') {
            at = bad_skip_string(at);
        } else if (*at == '{' || *at == '[') {
            ++depth;
            ++at;
        } else if (*at == '}' || *at == ']') {
            --depth;
            ++at;
        } else if (*at == ',' || *at == ':') {
            ++at;
        } else if (*at == '\0') {
            bad_die(BAD_PARAMETER, "the invocation ends inside a value");
        } else {
            at += strcspn(at, " \t\r\n,:{}[]\"");
        }
    } while (depth > 0);
    return at;
}

/* The member's value in the object at `at`; NULL if it has none. */
static inline char *bad_member(char *at, const char *name) {
    const size_t length = strlen(name);
    if (at == NULL || *at != '{') {
        return NULL;
    }
    at = bad_skip_blanks(at + 1);
    while (*at == '"') {
        char *const key = at + 1;
        at = bad_skip_string(at);
        const bool found = (size_t)(at - 1 - key) == length && strncmp(key, name, length) == 0;
        at = bad_skip_blanks(at);
        if (*at != ':') {
            return NULL;
        }
        at = bad_skip_blanks(at + 1);
        if (found) {
            return at;
        }
        at = bad_skip_blanks(bad_skip_value(at));
        if (*at == ',') {
            at = bad_skip_blanks(at + 1);
        }
    }
    return NULL;
}

static inline const char *bad_environment(const char *name) {
    char variable[64];
    const int size = snprintf(variable, sizeof variable, "BAD_%s", name);
    if (size < 0 || (size_t)size >= sizeof variable) {
        bad_die(BAD_TROUBLE, "the parameter name %s is too long", name);
    }
    for (char *at = variable; *at != '\0'; ++at) {
        *at = (char)toupper((unsigned char)*at);
    }
    return getenv(variable);
}

/* The parameter's raw value in the input; NULL if the input has none. */
static inline char *bad_input_value(const char *name) {
    return bad_invocation == NULL
               ? NULL
               : bad_member(bad_member(bad_skip_blanks(bad_invocation), "input"), name);
}

/* The parameter as JSON text, for objects and arrays; valid until the process exits. */
static inline const char *bad_raw(const char *name, const char *fallback) {
    const char *const given = bad_environment(name);
    if (given != NULL) {
        return given;
    }
    char *const value = bad_input_value(name);
    if (value == NULL) {
        return fallback;
    }
    return strndup(value, (size_t)(bad_skip_value(value) - value));
}

static inline bool bad_flag(const char *name, bool fallback) {
    const char *const text = bad_raw(name, fallback ? "true" : "false");
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        bad_die(BAD_PARAMETER, "the parameter %s must be true or false, is %s", name, text);
    }
    return *text == 't';
}

static inline size_t bad_number(const char *name, size_t fallback) {
    const char *const text = bad_raw(name, NULL);
    if (text == NULL) {
        return fallback;
    }
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end != '\0') {
        bad_die(BAD_PARAMETER, "the parameter %s must be a whole number, is %s", name, text);
    }
    return (size_t)number;
}

/* The parameter as text. Supports only the escapes for one ASCII character; paths and hexadecimal
 * digits need no others. */
static inline const char *bad_text(const char *name, const char *fallback) {
    const char *const given = bad_environment(name);
    if (given != NULL) {
        return given;
    }
    const char *const raw = bad_raw(name, NULL);
    if (raw == NULL) {
        return fallback;
    }
    const size_t size = strlen(raw);
    if (*raw != '"') {
        bad_die(BAD_PARAMETER, "the parameter %s must be a string, is %s", name, raw);
    }
    char *const text = malloc(size);
    if (text == NULL) {
        bad_die(BAD_TROUBLE, "no memory for the parameter %s", name);
    }
    char *to = text;
    for (const char *from = raw + 1; from < raw + size - 1; ++from) {
        if (*from == '\\') {
            ++from;
            if (*from != '"' && *from != '\\' && *from != '/') {
                bad_die(BAD_PARAMETER, "the parameter %s has an escape that is not supported",
                        name);
            }
        }
        *to++ = *from;
    }
    *to = '\0';
    return text;
}

/* ---- Start ------------------------------------------------------------------------------------ */

/* Called in every process of a hostile tool, because fork() does not inherit the alarm. */
static inline void bad_set_last_resort(void) { (void)alarm(BAD_LAST_RESORT); }

/* For tools that must not read standard input. */
static inline void bad_begin_without_input(void) {
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    bad_set_last_resort();
}

static inline void bad_begin(void) {
    bad_begin_without_input();
    size_t size = 0;
    size_t room = 65536;
    bad_invocation = malloc(room);
    for (;;) {
        if (bad_invocation == NULL) {
            bad_die(BAD_TROUBLE, "no memory for the invocation");
        }
        const ssize_t got = read(STDIN_FILENO, bad_invocation + size, room - size - 1);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR) {
            bad_die(BAD_TROUBLE, "standard input cannot be read: %s", strerror(errno));
        }
        size += got > 0 ? (size_t)got : 0;
        if (size + 1 == room) {
            room *= 2;
            bad_invocation = realloc(bad_invocation, room);
        }
    }
    bad_invocation[size] = '\0';
}

/* ---- The witness ------------------------------------------------------------------------------ */

/* Connects and sends the role; -1 without a socket. The descriptor stays open across exec. */
static inline int bad_connect(const char *role) {
    const char *const path = bad_text("socket", NULL);
    if (path == NULL) {
        return -1;
    }
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    const size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) {
        bad_die(BAD_PARAMETER, "the socket's path is empty or too long: %s", path);
    }
    memcpy(address.sun_path, path, length);
    if (*path == '@') {
        address.sun_path[0] = '\0';
    }
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    const int witness = socket(AF_UNIX, SOCK_STREAM, 0);
    if (witness < 0 || connect(witness, (const struct sockaddr *)&address, size) != 0) {
        bad_die(BAD_TROUBLE, "the socket %s cannot be reached: %s", path, strerror(errno));
    }
    if (dprintf(witness, "%s %d\n", role, (int)getpid()) < 0) {
        bad_die(BAD_TEST_GONE, "the test is gone");
    }
    return witness;
}

/* Reads the next command; the caller echoes it. */
static inline char bad_command(int witness) {
    char command = 0;
    for (;;) {
        const ssize_t got = read(witness, &command, 1);
        if (got == 1) {
            return command;
        }
        if (got == 0 || errno != EINTR) {
            _exit(BAD_TEST_GONE);
        }
    }
}

static inline void bad_echo(int witness, char command) {
    /* No SIGPIPE: the next read notices that the test has closed the connection. */
    (void)send(witness, &command, 1, MSG_NOSIGNAL);
}

/* Waits for one byte of any value and echoes it; without a socket it returns at once. */
static inline void bad_await(int witness) {
    if (witness >= 0) {
        bad_echo(witness, bad_command(witness));
    }
}

/* Executes commands until told to exit; without a socket, waits for a signal. */
__attribute__((noreturn)) static inline void bad_serve(int witness, const char *role) {
    while (witness < 0) {
        (void)pause();
    }
    for (;;) {
        const char command = bad_command(witness);
        if (command == 'w') {
            bad_print(
                "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\","
                "\"message\":\"%s was told to write\"}\n",
                role);
        } else if (command == 'd') {
            bad_done(true);
        }
        bad_echo(witness, command);
        if (command == 'd' || command == 'x') {
            _exit(0);
        }
    }
}

/* Forks a process that connects as `role` and serves forever; it closes the caller's witness.
 * Returns once that process has connected, so that it cannot be ended earlier: the pid, or -1 with
 * errno if no process could be started. `prepare` (may be NULL) runs first in the new process. */
static inline pid_t bad_fork_serving(const char *role, int own_witness, void (*prepare)(void)) {
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0) {
        return -1;
    }
    const pid_t child = fork();
    if (child == 0) {
        (void)close(ready[0]);
        if (own_witness >= 0) {
            (void)close(own_witness);
        }
        bad_set_last_resort();
        if (prepare != NULL) {
            prepare();
        }
        const int witness = bad_connect(role);
        (void)bad_write(ready[1], "r", 1);
        (void)close(ready[1]);
        bad_serve(witness, role);
    }
    const int trouble = errno;
    (void)close(ready[1]);
    char byte = 0;
    while (child > 0 && read(ready[0], &byte, 1) < 0 && errno == EINTR) {
    }
    (void)close(ready[0]);
    errno = trouble;
    return child;
}

static inline void bad_ignore_endings(void) {
    const int endings[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2};
    for (size_t index = 0; index < sizeof endings / sizeof *endings; ++index) {
        (void)signal(endings[index], SIG_IGN);
    }
}
