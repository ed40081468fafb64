/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SANDBOX_BITS_H
#define NARRATORIA_SUPERVISOR_SANDBOX_BITS_H
/* What a tool may not do. The first four select one of the seccomp filters. */
enum sandbox_bit {
    SANDBOX_NETWORK = 1,
    SANDBOX_WRITE = 2,
    SANDBOX_READ = 4,
    SANDBOX_SUBPROCESS = 8,
    SANDBOX_FILTERS = 16, /* the number of filters, one per combination of the bits above */
    /* Set in every sandbox: no way into other processes. By itself it is enough for the guarantees
     * about environment variables, whose values the library chooses. */
    SANDBOX_ON = 16
};

/* With SANDBOX_SUBPROCESS an exec needs a key in the registers behind its three arguments, which the
 * kernel ignores. In the filters as they are made the halves of the key are the words from
 * SANDBOX_KEY_WORD on; each supervisor puts its own there. */
enum { SANDBOX_KEYS = 3 };
#define SANDBOX_KEY_WORD 0x9c3a7e10u

#endif
