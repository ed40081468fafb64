/* SPDX-License-Identifier: Apache-2.0 */
/* log_done without the C library: the start costs only kernel time and runtime overhead. */

static const char kLines[] =
    "{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"here\"}\n"
    "{\"version\":\"0\",\"type\":\"done\",\"ok\":true}\n";

#if defined(__x86_64__)
enum { kWrite = 1, kExit = 60 };
static long call(long number, long first, long second, long third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { kWrite = 64, kExit = 93 };
static long call(long number, long first, long second, long third) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#else
#error "write the two system calls of this processor here"
#endif

__attribute__((noreturn)) void _start(void) {
    const long written = call(kWrite, 1, (long)kLines, sizeof kLines - 1);
    for (;;) call(kExit, written == (long)(sizeof kLines - 1) ? 0 : 1, 0, 0);
}
