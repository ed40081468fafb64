/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_SUPERVISOR_SYSTEM_CALL_H
#define NARRATORIA_SUPERVISOR_SYSTEM_CALL_H
/* System calls that return -errno and do not touch errno. The child of a clone that shares memory
 * runs concurrently with its parent and must not write to shared variables such as errno. */
#include <stdint.h>
#include <sys/syscall.h>

/* The first version of the kernel's struct clone_args that has `cgroup`. */
struct clone_into_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    uint64_t set_tid, set_tid_size, cgroup;
};

// The fifth argument is 0: some calls refuse other values.
static inline long system_call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
#else
#error \
    "Narratoria runs on Linux x86-64 and Linux aarch64. The supervisor does not support this one."
#endif
}

/* execve with three more values in the registers after its arguments. */
static inline long execute_with_key(const char *path, char **arguments, char **environment,
                                    const uint64_t *key) {
#if defined(__x86_64__)
    long result;
    register uint64_t r10 __asm__("r10") = key[0];
    register uint64_t r8 __asm__("r8") = key[1];
    register uint64_t r9 __asm__("r9") = key[2];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_execve), "D"(path), "S"(arguments), "d"(environment), "r"(r10),
                       "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = SYS_execve;
    register long x0 __asm__("x0") = (long)path;
    register char **x1 __asm__("x1") = arguments;
    register char **x2 __asm__("x2") = environment;
    register uint64_t x3 __asm__("x3") = key[0];
    register uint64_t x4 __asm__("x4") = key[1];
    register uint64_t x5 __asm__("x5") = key[2];
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#endif
}

/* Calls clone3. The child runs `child` on its own stack; `child` never returns. The parent gets
 * the child's process id, or -errno. */
static inline long clone_into(const struct clone_into_arguments *arguments, int (*child)(void *)) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile(
        "syscall\n\t"
        "test %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xor %%edi, %%edi\n\t"
        "call *%[child]\n\t"
        "ud2\n"
        "1:"
        : "=a"(result)
        : "a"(SYS_clone3), "D"(arguments), "S"(sizeof *arguments), [child] "r"(child)
        : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = SYS_clone3;
    register long x0 __asm__("x0") = (long)arguments;
    register long x1 __asm__("x1") = (long)sizeof *arguments;
    __asm__ volatile(
        "svc 0\n\t"
        "cbnz x0, 1f\n\t"
        "blr %[child]\n\t"
        "brk 0\n"
        "1:"
        : "+r"(x0)
        : "r"(x8), "r"(x1), [child] "r"(child)
        : "memory");
    return x0;
#endif
}

#endif
