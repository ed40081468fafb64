/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SANDBOX_BITS_H
#define NARRATORIA_SUPERVISOR_SANDBOX_BITS_H
/* The restrictions of a tool. The first four select one of the seccomp filters. */
enum sandbox_bit {
    SANDBOX_NETWORK = 1,
    SANDBOX_WRITE = 2,
    SANDBOX_READ = 4,
    SANDBOX_SUBPROCESS = 8,
    SANDBOX_FILTERS = 16, /* the number of filters, one per combination of the bits above */
    /* Set in every sandbox: no access to other processes. It suffices for the guarantees about
     * environment variables, because the library chooses their values. */
    SANDBOX_ON = 16
};

/* With SANDBOX_SUBPROCESS an exec needs a key in the three registers after its arguments, which the
 * kernel ignores. The built filters contain placeholders for the halves of the key: the words from
 * SANDBOX_KEY_WORD on. Each supervisor replaces them by its own key. */
enum { SANDBOX_KEYS = 3 };
#define SANDBOX_KEY_WORD 0x9c3a7e10u

#endif
