/* SPDX-License-Identifier: Apache-2.0 */

/* Rows: plain text, half an object, a BOM, invalid UTF-8, NUL, lone surrogates, duplicate keys;
 * wrong version, unknown type, missing or wrongly typed field, array as patch.
 * Expected: protocol error naming line, byte, rule, excerpt, and the field's JSON Pointer
 * (duplicate keys: last wins).
 *
 * hex      the bytes of the line, two hexadecimal digits each; they may include newlines
 * before   valid log events before the bad one, default 0
 * newline  whether a newline follows, default true
 * done     whether `done` follows, default true
 * socket   says "tool" after writing, then waits: the runtime must end it */

#include "bad.h"

static unsigned digit(char letter) {
    static const char digits[] = "0123456789abcdef";
    const char *const found = memchr(digits, tolower((unsigned char)letter), 16);
    if (found == NULL) {
        bad_die(BAD_PARAMETER, "the parameter hex must have hexadecimal digits only");
    }
    return (unsigned)(found - digits);
}

int main(void) {
    bad_begin();
    const char *const hex = bad_text("hex", "");
    const size_t size = strlen(hex) / 2;
    char *const bytes = malloc(size + 1);
    if (strlen(hex) % 2 != 0 || bytes == NULL) {
        bad_die(BAD_PARAMETER, "the parameter hex needs two digits a byte");
    }
    for (size_t index = 0; index < size; ++index) {
        bytes[index] = (char)(digit(hex[2 * index]) << 4U | digit(hex[2 * index + 1]));
    }
    for (size_t before = bad_number("before", 0); before > 0; --before) {
        bad_log("a good line before the bad one");
    }
    (void)bad_write(STDOUT_FILENO, bytes, size);
    free(bytes);
    if (bad_flag("newline", true)) {
        bad_print("\n");
    }
    if (bad_flag("done", true)) {
        bad_done(true);
    }
    const int witness = bad_connect("tool");
    if (witness >= 0) {
        bad_serve(witness, "tool");
    }
    return 0;
}
