// SPDX-License-Identifier: Apache-2.0
// A tool that tries one forbidden act, named by "act" in its input, and reports the outcome:
// "succeeded", "refused: ERRNO", or "absent: ERRNO" (or "absent") if the machine lacks the feature
// or the user lacks the right. The acts work on files that the test has made for them:
// PLACE/ACT.file, and the empty folder PLACE/ACT.folder.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

extern char **environ;

// The result of an act: OK, a positive errno, or ABSENT, minus the errno if there is one.
enum { OK = 0, ABSENT = -1000 };

static char act_name[64];
static char place[512];
static char file[640], folder[640], unused[640], scratch[640];
static long host, sibling, port;

// OK if `result` is not negative, else errno.
static int judge(long result) { return result < 0 ? errno : OK; }

static int close_and(int descriptor) {
    if (descriptor < 0) return errno;
    close(descriptor);
    return OK;
}

static int absent_if(int error, int one, int other) {
    return error == one || error == other ? ABSENT - error : error;
}

static void path_of(char *out, size_t size, const char *format, long pid) {
    snprintf(out, size, format, pid);
}

static struct sockaddr_in local_address(void) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return address;
}

static socklen_t unix_address(struct sockaddr_un *address, const char *path, int is_abstract) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = strlen(path);
    if (length > sizeof address->sun_path - 2) length = sizeof address->sun_path - 2;
    memcpy(address->sun_path + is_abstract, path, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)is_abstract + length);
}

// ---- the network

static int connect_tcp(void) {
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    if (made < 0) return errno;
    const struct sockaddr_in address = local_address();
    return judge(connect(made, (const struct sockaddr *)&address, sizeof address));
}
static int send_udp(void) {
    const int made = socket(AF_INET, SOCK_DGRAM, 0);
    if (made < 0) return errno;
    const struct sockaddr_in address = local_address();
    return judge(sendto(made, "x", 1, 0, (const struct sockaddr *)&address, sizeof address));
}
static int listen_tcp(void) {
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    return made < 0 ? errno : judge(listen(made, 1));
}
static int open_socket(int family, int type, int protocol) {
    const int error = close_and(socket(family, type, protocol));
    return absent_if(error, EAFNOSUPPORT, EPROTONOSUPPORT);
}
static int ipv6_socket(void) { return open_socket(AF_INET6, SOCK_STREAM, 0); }
static int raw_socket(void) { return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }
static int packet_socket(void) { return open_socket(AF_PACKET, SOCK_RAW, 0); }
static int netlink_socket(void) { return open_socket(AF_NETLINK, SOCK_RAW, 0); }
static int vsock_socket(void) { return open_socket(AF_VSOCK, SOCK_STREAM, 0); }
static int bluetooth_socket(void) { return open_socket(AF_BLUETOOTH, SOCK_STREAM, 3); }
static int alg_socket(void) { return open_socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0); }
static int mptcp_socket(void) { return open_socket(AF_INET, SOCK_STREAM, 262); }
static int socket_with_high_bits(void) {
    return close_and((int)syscall(SYS_socket, (1L << 32) | AF_UNIX, (long)SOCK_STREAM, 0L));
}
static int connect_unix(void) {
    struct sockaddr_un address;
    char path[600];
    snprintf(path, sizeof path, "%s/service", place);
    const socklen_t size = unix_address(&address, path, 0);
    const int made = socket(AF_UNIX, SOCK_STREAM, 0);
    return made < 0 ? errno : judge(connect(made, (const struct sockaddr *)&address, size));
}
// The service passes a descriptor of a file that it has opened for writing.
static int receive_descriptor(void) {
    struct sockaddr_un address;
    char path[600];
    snprintf(path, sizeof path, "%s/service", place);
    const socklen_t size = unix_address(&address, path, 0);
    const int made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (made < 0) return errno;
    if (connect(made, (const struct sockaddr *)&address, size) != 0) return errno;
    char byte;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    if (recvmsg(made, &message, 0) < 0) return errno;
    const struct cmsghdr *got = CMSG_FIRSTHDR(&message);
    if (got == NULL) return EBADF;
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(got), sizeof descriptor);
    return judge(write(descriptor, "x", 1));
}
static int connect_abstract(void) {
    struct sockaddr_un address;
    char name[64];
    snprintf(name, sizeof name, "narratoria-escape-%ld", port);
    const socklen_t size = unix_address(&address, name, 1);
    const int made = socket(AF_UNIX, SOCK_STREAM, 0);
    return made < 0 ? errno : judge(connect(made, (const struct sockaddr *)&address, size));
}
static int send_from_pair(int type) {
    int pair[2];
    if (socketpair(AF_UNIX, type, 0, pair) != 0) return errno;
    struct sockaddr_un address;
    char path[600];
    snprintf(path, sizeof path, "%s/datagrams", place);
    const socklen_t size = unix_address(&address, path, 0);
    return judge(sendto(pair[0], "x", 1, 0, (const struct sockaddr *)&address, size));
}
static int datagram_from_pair(void) { return send_from_pair(SOCK_DGRAM); }
static int raw_from_pair(void) { return send_from_pair(SOCK_RAW); }
static int io_uring(void) {
    char parameters[120] = {0};
    return absent_if(close_and((int)syscall(425, 1, parameters)), ENOSYS, ENOSYS);
}
static void *in_thread(void *result) {
    *(int *)result = connect_tcp();
    return NULL;
}
static int connect_in_thread(void) {
    pthread_t thread;
    int result = EAGAIN;
    if (pthread_create(&thread, NULL, in_thread, &result) != 0) return ABSENT;
    pthread_join(thread, NULL);
    return result;
}
static int in_child(int (*act)(void)) {
    const pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) _exit(act());
    int status;
    if (waitpid(child, &status, 0) != child) return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
}
static int connect_in_child(void) { return in_child(connect_tcp); }
static int old_socket(void) {  // int 0x80: the system calls of i386
#if defined(__x86_64__)
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(359), "b"(1), "c"(1), "d"(0) : "memory");
    if (result == -ENOSYS) return ABSENT;
    return result < 0 ? -result : OK;
#else
    return ABSENT;
#endif
}
static int x32_socket(void) {
#if defined(__x86_64__)
    const long made = syscall(0x40000000 + 41, AF_INET, SOCK_STREAM, 0);
    return absent_if(made < 0 ? errno : OK, ENOSYS, ENOSYS);
#else
    return ABSENT;
#endif
}
static int enter_namespace_of_host(void) {
    char path[64];
    path_of(path, sizeof path, "/proc/%ld/ns/net", host);
    const int space = open(path, O_RDONLY);
    if (space < 0) return errno;
    return judge(setns(space, CLONE_NEWNET));
}

// ---- writing

static int create_file(void) { return close_and(open(unused, O_WRONLY | O_CREAT, 0600)); }
static int append_to_file(void) {
    const int opened = open(file, O_WRONLY | O_APPEND);
    return opened < 0 ? errno : judge(write(opened, "x", 1));
}
static int read_and_write(void) { return close_and(open(file, O_RDWR)); }
static int empty_by_open(void) { return close_and(open(file, O_RDONLY | O_TRUNC)); }
static int empty_by_truncate(void) { return judge(truncate(file, 0)); }
static int open_by_openat2(void) {
    const struct open_how how = {.flags = O_WRONLY};
    return close_and((int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof how));
}
static int make_folder(void) { return judge(mkdir(unused, 0700)); }
static int remove_folder(void) { return judge(rmdir(folder)); }
static int remove_file(void) { return judge(unlink(file)); }
static int rename_file(void) { return judge(rename(file, unused)); }
static int exchange_files(void) {
    return absent_if(judge(syscall(SYS_renameat2, AT_FDCWD, file, AT_FDCWD, folder, 2)), EINVAL,
                     ENOSYS);
}
static int make_hard_link(void) { return judge(link(file, unused)); }
static int make_symbolic_link(void) { return judge(symlink(file, unused)); }
static int make_fifo(void) { return judge(mkfifo(unused, 0600)); }
static int make_device(void) {
    return absent_if(judge(mknod(unused, S_IFCHR | 0600, 0x103)), EPERM, -1);
}
static int bind_in_folder(void) {
    struct sockaddr_un address;
    const socklen_t size = unix_address(&address, unused, 0);
    const int made = socket(AF_UNIX, SOCK_STREAM, 0);
    return made < 0 ? errno : judge(bind(made, (const struct sockaddr *)&address, size));
}
static int unnamed_file(void) {
    return absent_if(close_and(open(folder, O_TMPFILE | O_RDWR, 0600)), EOPNOTSUPP, EISDIR);
}
static int change_mode(void) { return judge(chmod(file, 0777)); }
static int change_mode_of_open(void) { return judge(fchmod(open(file, O_RDONLY), 0777)); }
static int change_mode_newly(void) {
    return absent_if(judge(syscall(452, AT_FDCWD, file, 0777, 0)), ENOSYS, ENOSYS);
}
static int change_owner(void) { return judge(chown(file, getuid(), getgid())); }
static int change_times(void) { return judge(utimensat(AT_FDCWD, file, NULL, 0)); }
static int change_times_of_open(void) { return judge(futimens(open(file, O_RDONLY), NULL)); }
static int change_times_oldly(void) { return judge(utime(file, NULL)); }
static int set_attribute(void) {
    return absent_if(judge(setxattr(file, "user.a", "x", 1, 0)), EOPNOTSUPP, -1);
}
static int set_attribute_newly(void) {
    struct {
        uint64_t value;
        uint32_t size, flags;
    } value = {(uint64_t)(uintptr_t) "x", 1, 0};
    return absent_if(judge(syscall(463, AT_FDCWD, file, 0, "user.a", &value, sizeof value)), ENOSYS,
                     EOPNOTSUPP);
}
static int remove_attribute(void) {
    const int error = judge(removexattr(file, "user.a"));
    return error == ENODATA ? OK : absent_if(error, EOPNOTSUPP, -1);
}
static int set_flags_of(unsigned long command) {
    const int opened = open(file, O_RDONLY);
    if (opened < 0) return errno;
    long flags = 0x40;  // no dump
    return absent_if(judge(syscall(SYS_ioctl, opened, command, &flags)), ENOTTY, EOPNOTSUPP);
}
static int set_flags(void) { return set_flags_of(0x40086602u); }
static int set_flags_with_high_bits(void) { return set_flags_of(0x140086602ul); }
static int set_version(void) { return set_flags_of(0x40086604u); }
static int make_subvolume(void) {
    char arguments[4096] = {0};
    const int opened = open(folder, O_RDONLY | O_DIRECTORY);
    if (opened < 0) return errno;
    const int error = judge(ioctl(opened, 0x5000940e, arguments));
    // A file system other than btrfs fails with these, so the call was not refused.
    return error == ENOTTY || error == EINVAL ? OK : error;
}
static int reopen_for_writing(void) {
    const int opened = open(file, O_RDONLY);
    if (opened < 0) return errno;
    char path[64];
    path_of(path, sizeof path, "/proc/self/fd/%ld", opened);
    return close_and(open(path, O_WRONLY));
}
static int write_through_link(void) {
    if (scratch[0] == 0) snprintf(scratch, sizeof scratch, "%s", folder);
    char path[700];
    snprintf(path, sizeof path, "%s/link", scratch);
    if (symlink(file, path) != 0) return errno;
    return close_and(open(path, O_WRONLY));
}
static int in_scratch(char *path, size_t size) {
    if (scratch[0] == 0) snprintf(scratch, sizeof scratch, "%s", folder);
    return snprintf(path, size, "%s/other", scratch);
}
static int link_into_scratch_and_write(void) {
    char path[700];
    in_scratch(path, sizeof path);
    if (link(file, path) != 0) return errno;
    return close_and(open(path, O_WRONLY));
}
static int move_into_scratch(void) {
    char path[700];
    in_scratch(path, sizeof path);
    return judge(rename(file, path));
}
static int move_out_of_scratch(void) {
    char path[700];
    in_scratch(path, sizeof path);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    return judge(rename(path, unused));
}
static int own_memory_file(void) { return close_and(open("/proc/self/mem", O_RDWR)); }
static int own_name_file(void) { return close_and(open("/proc/self/comm", O_WRONLY)); }
static int shared_memory_file(void) {
    const int made = shm_open("/narratoria-escape", O_RDWR | O_CREAT, 0600);
    if (made < 0) return errno;
    shm_unlink("/narratoria-escape");
    return OK;
}
static int mount_somewhere(void) {
    return absent_if(judge(mount("none", folder, "tmpfs", 0, NULL)), EPERM, -1);
}
static int accounting(void) { return absent_if(judge(acct(file)), EPERM, ENOSYS); }
static int by_handle(int flags) {
    union {
        struct file_handle handle;
        char bytes[256];
    } given;
    given.handle.handle_bytes = 128;
    int mount_id;
    if (name_to_handle_at(AT_FDCWD, file, &given.handle, &mount_id, 0) != 0) return ABSENT;
    const int base = open(".", O_RDONLY | O_DIRECTORY | O_PATH);
    const int root = base < 0 ? -1 : open("/", O_RDONLY | O_PATH);
    return absent_if(close_and(open_by_handle_at(root, &given.handle, flags)), ESTALE, EBADF);
}
static int write_by_handle(void) { return by_handle(O_WRONLY); }
static int write_in_child(void) { return in_child(append_to_file); }
static int write_by_shell(void) {
    char line[700];
    snprintf(line, sizeof line, "echo x >'%s'", unused);
    const int status = system(line);
    if (status < 0) return errno;
    return status == 0 ? OK : EACCES;
}
static int message_queue(void) {
    const mqd_t made = mq_open("/narratoria-escape", O_RDWR | O_CREAT, 0600, NULL);
    if (made == (mqd_t)-1) return absent_if(errno, ENOSYS, -1);
    mq_unlink("/narratoria-escape");
    return OK;
}
static int old_shared_memory(void) {
    const int made = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    if (made < 0) return absent_if(errno, ENOSYS, -1);
    shmctl(made, IPC_RMID, NULL);
    return OK;
}
static int old_message_queue(void) {
    const int made = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    if (made < 0) return absent_if(errno, ENOSYS, -1);
    msgctl(made, IPC_RMID, NULL);
    return OK;
}
static int old_semaphore(void) {
    const int made = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
    if (made < 0) return absent_if(errno, ENOSYS, -1);
    semctl(made, 0, IPC_RMID);
    return OK;
}

// ---- reading

static int read_file(void) { return close_and(open(file, O_RDONLY)); }
static int read_passwords(void) { return close_and(open("/etc/passwd", O_RDONLY)); }
static int list_folder(void) { return close_and(open(folder, O_RDONLY | O_DIRECTORY)); }
static int list_root(void) { return close_and(open("/", O_RDONLY | O_DIRECTORY)); }
static int read_by_openat2(void) {
    const struct open_how how = {.flags = O_RDONLY};
    return close_and((int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof how));
}
static int read_through_path(void) {
    const int opened = open(file, O_PATH);
    if (opened < 0) return errno;
    char path[64];
    path_of(path, sizeof path, "/proc/self/fd/%ld", opened);
    return close_and(open(path, O_RDONLY));
}
static int link_into_scratch_and_read(void) {
    char path[700];
    in_scratch(path, sizeof path);
    if (link(file, path) != 0) return errno;
    return close_and(open(path, O_RDONLY));
}
static int read_attribute(void) {
    char value[16];
    const int error = judge(getxattr(file, "user.a", value, sizeof value));
    return error == ENODATA ? OK : absent_if(error, EOPNOTSUPP, -1);
}
static int list_attributes(void) {
    char value[256];
    return absent_if(judge(listxattr(file, value, sizeof value)), EOPNOTSUPP, -1);
}
static int watch_file(void) {
    const int watch = inotify_init1(0);
    return watch < 0 ? errno : judge(inotify_add_watch(watch, file, IN_ACCESS));
}
static int read_command_lines(void) {
    char path[64];
    path_of(path, sizeof path, "/proc/%ld/cmdline", host);
    return close_and(open(path, O_RDONLY));
}
static int read_own_maps(void) { return close_and(open("/proc/self/maps", O_RDONLY)); }
static int read_by_handle(void) { return by_handle(O_RDONLY); }
static int read_in_child(void) { return in_child(read_file); }

// ---- programs

static int fork_child(void) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    return judge(child);
}
static int vfork_and_exec(void) {
    const pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    return judge(child);
}
static int clone_child(long flags) {
    const long child = syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (child == 0) syscall(SYS_exit_group, 0);
    return judge(child);
}
static int plain_clone(void) { return clone_child(SIGCHLD); }
static int clone_of_parent(void) { return clone_child(CLONE_PARENT | SIGCHLD); }
static int clone_with_high_bits(void) {
    return clone_child((long)(0xffffffff00000000ul | SIGCHLD));
}
static int clone3_child(void) {
    uint64_t arguments[8] = {0, 0, 0, 0, SIGCHLD};
    const long child = syscall(SYS_clone3, arguments, sizeof arguments);
    if (child == 0) syscall(SYS_exit_group, 0);
    return judge(child);
}
static int spawn_program(void) {
    char name[] = "true";
    char *arguments[] = {name, NULL};
    pid_t child;
    return posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ);
}
static int run_shell(void) {
    const int status = system("true");
    if (status < 0) return errno;
    return status == 0 ? OK : EACCES;
}
static int open_pipe_to_shell(void) { return popen("true", "r") == NULL ? errno : OK; }
// A program that replaces this one reports success itself: see main().
static char self[] = "/proc/self/exe";
static char marker[] = "replaced";
static char *again[] = {self, marker, NULL};
static int replace_itself(void) { return judge(execve(self, again, environ)); }
static int replace_with_a_key(void) {
    return judge(syscall(SYS_execve, self, again, environ, 0x9c3a7e109c3a7e11, 0x9c3a7e129c3a7e13,
                         0x9c3a7e149c3a7e15));
}
static int replace_by_loader(void) {
    char loader[] = "/lib64/ld-linux-x86-64.so.2", own[512];
    const ssize_t size = readlink(self, own, sizeof own - 1);
    if (size < 0 || access(loader, X_OK) != 0) return ABSENT;
    own[size] = 0;
    char *arguments[] = {loader, own, marker, NULL};
    return judge(execve(loader, arguments, environ));
}
static int replace_by_descriptor(void) {
    const int opened = open(self, O_RDONLY | O_CLOEXEC);
    if (opened < 0) return errno;
    return judge(syscall(SYS_execveat, opened, "", again, environ, AT_EMPTY_PATH));
}
static int replace_from_memory(void) {
    const int from = open(self, O_RDONLY);
    const int made = memfd_create("program", MFD_CLOEXEC);
    if (from < 0 || made < 0) return errno;
    char buffer[65536];
    for (ssize_t got; (got = read(from, buffer, sizeof buffer)) > 0;) {
        if (write(made, buffer, (size_t)got) != got) return errno;
    }
    fexecve(made, again, environ);
    return errno;
}
static void *replace_in_thread_main(void *result) {
    *(int *)result = replace_itself();
    return NULL;
}
static int replace_in_thread(void) {
    pthread_t thread;
    int result = EAGAIN;
    if (pthread_create(&thread, NULL, replace_in_thread_main, &result) != 0) return ABSENT;
    pthread_join(thread, NULL);
    return result;
}
static int x32_fork(void) {
#if defined(__x86_64__)
    const long child = syscall(0x40000000 + 57);
    if (child == 0) syscall(SYS_exit_group, 0);
    return absent_if(judge(child), ENOSYS, ENOSYS);
#else
    return ABSENT;
#endif
}
static int old_fork(void) {
#if defined(__x86_64__)
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(2) : "memory", "r8", "r9", "r10", "r11");
    if (result == 0) _exit(0);
    if (result == -ENOSYS) return ABSENT;
    return result < 0 ? -result : OK;
#else
    return ABSENT;
#endif
}

// ---- other processes, and the machine

static int open_of(const char *format, long pid, int flags) {
    char path[64];
    path_of(path, sizeof path, format, pid);
    return close_and(open(path, flags));
}
static int environment_of_host(void) { return open_of("/proc/%ld/environ", host, O_RDONLY); }
static int environment_of_parent(void) { return open_of("/proc/%ld/environ", getppid(), O_RDONLY); }
static int environment_of_sibling(void) { return open_of("/proc/%ld/environ", sibling, O_RDONLY); }
static int memory_of_host(void) { return open_of("/proc/%ld/mem", host, O_RDONLY); }
static int memory_of_sibling(void) { return open_of("/proc/%ld/mem", sibling, O_RDWR); }
static int own_home(void) {
    const char *home = getenv("HOME");
    return home != NULL && strcmp(home, "/home-of-the-host") == 0 ? OK : ENOENT;
}
static int read_memory(void) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)environ, 1};
    const int error = judge(process_vm_readv((pid_t)sibling, &here, 1, &there, 1, 0));
    return error == EFAULT ? OK : error;
}
static int write_memory(void) {
    char byte = 0;
    struct iovec here = {&byte, 1}, there = {(void *)16, 1};
    const int error = judge(process_vm_writev((pid_t)sibling, &here, 1, &there, 1, 0));
    return error == EFAULT ? OK : error;
}
static int trace_sibling(void) {
    const int error = judge(ptrace(PTRACE_SEIZE, (pid_t)sibling, NULL, NULL));
    return error;
}
static int take_descriptor(void) {
    const long process = syscall(SYS_pidfd_open, sibling, 0);
    if (process < 0) return ABSENT;
    return close_and((int)syscall(438, process, 0, 0));
}
static int signal_host(void) { return judge(kill((pid_t)host, 0)); }
static int signal_parent(void) { return judge(kill(getppid(), 0)); }
static int signal_sibling(void) { return judge(kill((pid_t)sibling, SIGURG)); }
static int signal_thread_of_host(void) { return judge(syscall(SYS_tgkill, host, host, 0)); }
static int queue_signal(void) { return judge(sigqueue((pid_t)sibling, SIGURG, (union sigval){0})); }
static int signal_by_descriptor(void) {
    const long process = syscall(SYS_pidfd_open, host, 0);
    if (process < 0) return ABSENT;
    return judge(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
}
static int limit_host(void) {
    struct rlimit limit;
    if (prlimit((pid_t)host, RLIMIT_NOFILE, NULL, &limit) != 0) return errno;
    return judge(prlimit((pid_t)host, RLIMIT_NOFILE, &limit, NULL));
}
// Sets the scheduling of another process to its current value or to a harmlessly lower one.
static int nice_sibling(void) { return judge(setpriority(PRIO_PROCESS, (id_t)sibling, 1)); }
static int nice_group(void) { return judge(setpriority(PRIO_PGRP, 0, 1)); }
static int io_priority_of_sibling(void) {
    return judge(syscall(SYS_ioprio_set, 1, sibling, 2 << 13 | 7));
}
static int schedule_sibling(void) {
    const struct sched_param none = {0};
    return judge(sched_setscheduler((pid_t)sibling, SCHED_BATCH, &none));
}
static int parameters_of_sibling(void) {
    const struct sched_param none = {0};
    return judge(sched_setparam((pid_t)sibling, &none));
}
static int attributes_of_sibling(void) {
    uint64_t attributes[6] = {48, 0, 1, 0, 0, 0};  // the size; SCHED_OTHER; nice 1
    return judge(syscall(SYS_sched_setattr, sibling, attributes, 0));
}
static int pin_sibling(void) {
    cpu_set_t processors;
    if (sched_getaffinity((pid_t)sibling, sizeof processors, &processors) != 0) return errno;
    return judge(sched_setaffinity((pid_t)sibling, sizeof processors, &processors));
}
static int write_about_sibling(const char *format, const char *text) {
    char path[64];
    path_of(path, sizeof path, format, sibling);
    const int opened = open(path, O_WRONLY);
    return opened < 0 ? errno : judge(write(opened, text, strlen(text)));
}
static int memory_score_of_sibling(void) {
    return write_about_sibling("/proc/%ld/oom_score_adj", "0");
}
static int core_filter_of_sibling(void) {
    return write_about_sibling("/proc/%ld/coredump_filter", "0x33");
}
static int push_into_terminal(void) {
    char pseudo[] = "/dev/ptmx";
    const int made = open(pseudo, O_RDWR | O_NOCTTY);
    if (made < 0) return ABSENT;
    unlockpt(made);
    const int terminal = open(ptsname(made), O_RDWR);
    if (terminal < 0 || ioctl(terminal, TIOCSCTTY, 0) != 0) return ABSENT;
    char key = 'x';
    return absent_if(judge(syscall(SYS_ioctl, terminal, 0x100000000ul | TIOCSTI, &key)), EIO, -1);
}
static int use_keys(void) {
    return absent_if(judge(syscall(SYS_keyctl, 0, -3, 1)), ENOSYS, EDQUOT);
}
static int add_a_key(void) {
    return absent_if(judge(syscall(SYS_add_key, "user", "narratoria", "x", 1, -1)), ENOSYS, EDQUOT);
}
static int use_bpf(void) {
    uint64_t attributes[16] = {2 | (4ull << 32), 4 | (1ull << 32)};
    return absent_if(close_and((int)syscall(SYS_bpf, 0, attributes, sizeof attributes)), ENOSYS,
                     EPERM);
}
static int use_userfaultfd(void) {
    return absent_if(close_and((int)syscall(SYS_userfaultfd, 1)), ENOSYS, -1);
}
static int use_perf(void) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_TASK_CLOCK};
    return absent_if(close_and((int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0)),
                     ENOSYS, ENOENT);
}
static int leave_namespace(int space) { return absent_if(judge(unshare(space)), EINVAL, ENOSPC); }
static int new_user_namespace(void) { return leave_namespace(CLONE_NEWUSER); }
static int new_network_namespace(void) { return leave_namespace(CLONE_NEWNET | CLONE_NEWUSER); }
static int new_mount_namespace(void) { return leave_namespace(CLONE_NEWNS | CLONE_NEWUSER); }
static int new_name_namespace(void) { return leave_namespace(CLONE_NEWUTS | CLONE_NEWUSER); }
static int clone_into_namespace(void) { return clone_child(CLONE_NEWUSER | SIGCHLD); }
static int change_root(void) { return absent_if(judge(chroot("/")), EPERM, -1); }
static int open_file_system(void) {
    return absent_if(close_and((int)syscall(430, "tmpfs", 0)), EPERM, ENOSYS);
}
static int clone_tree(void) {
    return absent_if(close_and((int)syscall(428, AT_FDCWD, "/", 1)), EPERM, ENOSYS);
}
static int load_module(void) {
    const int error = judge(syscall(SYS_init_module, "", 0, ""));
    // A permitted caller gets these errors, because this is not a module.
    return error == ENOEXEC || error == EFAULT ? OK : absent_if(error, EPERM, ENOSYS);
}
static int load_kernel(void) {
    const int error = judge(syscall(SYS_kexec_load, 0, 0, NULL, 1 << 30));
    return error == EINVAL ? OK : absent_if(error, EPERM, ENOSYS);
}
static int read_kernel_log(void) {
    char text[64];
    return absent_if(judge(syscall(SYS_syslog, 3, text, sizeof text)), EPERM, ENOSYS);
}
static int set_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return absent_if(judge(clock_settime(CLOCK_REALTIME, &now)), EPERM, -1);
}
static int set_host_name(void) {
    char name[256];
    gethostname(name, sizeof name);
    return absent_if(judge(sethostname(name, strlen(name))), EPERM, -1);
}
static int input_output_ports(void) {
#if defined(__x86_64__)
    return absent_if(judge(syscall(SYS_iopl, 0)), ENOSYS, -1);
#else
    return ABSENT;
#endif
}
static int have_capability(void) {
    // CAP_SYS_ADMIN, which root has outside of the sandbox.
    uint32_t header[2] = {0x20080522, 0}, sets[6];
    if (syscall(SYS_capget, header, sets) != 0) return errno;
    if (getuid() != 0) return ABSENT;
    return sets[0] >> 21 & 1 ? OK : EPERM;
}

static int change_user(void) { return getuid() != 0 ? ABSENT : judge(setuid(65534)); }
static int dump_core(void) {
    // Any limit other than 1 lets the kernel pipe the memory image to a program of the host.
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) != 0) return errno;
    if (limit.rlim_cur != 1) return OK;
    limit.rlim_cur = 0;
    const int error = judge(setrlimit(RLIMIT_CORE, &limit));
    return error == OK ? OK : judge(syscall(SYS_prlimit64, 0, 1ul << 32 | RLIMIT_CORE, &limit, 0));
}
static int listen_to_own_calls(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int error = close_and((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                             SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
    // EBUSY is not the refusal of the sandbox: the kernel allows one listener, the supervisor's.
    return error == EBUSY ? OK : error;
}
static int outlive_supervisor(void) { return judge(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)); }

// These must work in every sandbox.
static void *empty_thread(void *unused_argument) { return unused_argument; }
static int threads_work(void) {
    for (int i = 0; i < 4; ++i) {
        pthread_t thread;
        const int error = pthread_create(&thread, NULL, empty_thread, NULL);
        if (error != 0) return error;
        pthread_join(thread, NULL);
    }
    return OK;
}
static int pair_works(void) {
    int pair[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return errno;
    if (send(pair[0], "x", 1, 0) != 1 || recv(pair[1], &byte, 1, 0) != 1) return errno;
    return OK;
}
static int null_works(void) { return close_and(open("/dev/null", O_WRONLY)); }
static int scratch_works(void) {
    char path[700];
    if (scratch[0] == 0) return ABSENT;
    in_scratch(path, sizeof path);
    const int made = open(path, O_RDWR | O_CREAT, 0600);
    if (made < 0 || write(made, "x", 1) != 1) return errno;
    char deeper[720];
    snprintf(deeper, sizeof deeper, "%s/deep", scratch);
    if (mkdir(deeper, 0700) != 0) return errno;
    snprintf(deeper, sizeof deeper, "%s/deep/file", scratch);
    return judge(rename(path, deeper));
}
// Looks for descriptors that this tool should not have inherited.
static int inherited_descriptor(void) {
    for (int i = 3; i < 1024; ++i) {
        if (fcntl(i, F_GETFD) >= 0) return OK;
    }
    return EBADF;
}

#define ACT(name) \
    { #name, name }
static const struct {
    const char *name;
    int (*act)(void);
} acts[] = {
    ACT(connect_tcp),
    ACT(send_udp),
    ACT(listen_tcp),
    ACT(ipv6_socket),
    ACT(raw_socket),
    ACT(packet_socket),
    ACT(netlink_socket),
    ACT(vsock_socket),
    ACT(bluetooth_socket),
    ACT(alg_socket),
    ACT(mptcp_socket),
    ACT(socket_with_high_bits),
    ACT(connect_unix),
    ACT(receive_descriptor),
    ACT(connect_abstract),
    ACT(datagram_from_pair),
    ACT(raw_from_pair),
    ACT(io_uring),
    ACT(connect_in_thread),
    ACT(connect_in_child),
    ACT(old_socket),
    ACT(x32_socket),
    ACT(enter_namespace_of_host),
    ACT(create_file),
    ACT(append_to_file),
    ACT(read_and_write),
    ACT(empty_by_open),
    ACT(empty_by_truncate),
    ACT(open_by_openat2),
    ACT(make_folder),
    ACT(remove_folder),
    ACT(remove_file),
    ACT(rename_file),
    ACT(exchange_files),
    ACT(make_hard_link),
    ACT(make_symbolic_link),
    ACT(make_fifo),
    ACT(make_device),
    ACT(bind_in_folder),
    ACT(unnamed_file),
    ACT(change_mode),
    ACT(change_mode_of_open),
    ACT(change_mode_newly),
    ACT(change_owner),
    ACT(change_times),
    ACT(change_times_of_open),
    ACT(change_times_oldly),
    ACT(set_attribute),
    ACT(set_attribute_newly),
    ACT(remove_attribute),
    ACT(set_flags),
    ACT(set_flags_with_high_bits),
    ACT(set_version),
    ACT(make_subvolume),
    ACT(reopen_for_writing),
    ACT(write_through_link),
    ACT(link_into_scratch_and_write),
    ACT(move_into_scratch),
    ACT(move_out_of_scratch),
    ACT(own_memory_file),
    ACT(own_name_file),
    ACT(memory_score_of_sibling),
    ACT(core_filter_of_sibling),
    ACT(shared_memory_file),
    ACT(mount_somewhere),
    ACT(accounting),
    ACT(write_by_handle),
    ACT(write_in_child),
    ACT(write_by_shell),
    ACT(message_queue),
    ACT(old_shared_memory),
    ACT(old_message_queue),
    ACT(old_semaphore),
    ACT(read_file),
    ACT(read_passwords),
    ACT(list_folder),
    ACT(list_root),
    ACT(read_by_openat2),
    ACT(read_through_path),
    ACT(link_into_scratch_and_read),
    ACT(read_attribute),
    ACT(list_attributes),
    ACT(watch_file),
    ACT(read_command_lines),
    ACT(read_own_maps),
    ACT(read_by_handle),
    ACT(read_in_child),
    ACT(fork_child),
    ACT(vfork_and_exec),
    ACT(plain_clone),
    ACT(clone_of_parent),
    ACT(clone_with_high_bits),
    ACT(clone3_child),
    ACT(spawn_program),
    ACT(run_shell),
    ACT(open_pipe_to_shell),
    ACT(replace_itself),
    ACT(replace_with_a_key),
    ACT(replace_by_loader),
    ACT(replace_by_descriptor),
    ACT(replace_from_memory),
    ACT(replace_in_thread),
    ACT(x32_fork),
    ACT(old_fork),
    ACT(environment_of_host),
    ACT(environment_of_parent),
    ACT(environment_of_sibling),
    ACT(memory_of_host),
    ACT(memory_of_sibling),
    ACT(own_home),
    ACT(read_memory),
    ACT(write_memory),
    ACT(trace_sibling),
    ACT(take_descriptor),
    ACT(signal_host),
    ACT(signal_parent),
    ACT(signal_sibling),
    ACT(signal_thread_of_host),
    ACT(queue_signal),
    ACT(signal_by_descriptor),
    ACT(limit_host),
    ACT(nice_sibling),
    ACT(nice_group),
    ACT(io_priority_of_sibling),
    ACT(schedule_sibling),
    ACT(parameters_of_sibling),
    ACT(attributes_of_sibling),
    ACT(pin_sibling),
    ACT(push_into_terminal),
    ACT(use_keys),
    ACT(add_a_key),
    ACT(use_bpf),
    ACT(use_userfaultfd),
    ACT(use_perf),
    ACT(new_user_namespace),
    ACT(new_network_namespace),
    ACT(new_mount_namespace),
    ACT(new_name_namespace),
    ACT(clone_into_namespace),
    ACT(change_root),
    ACT(open_file_system),
    ACT(clone_tree),
    ACT(load_module),
    ACT(load_kernel),
    ACT(read_kernel_log),
    ACT(set_clock),
    ACT(set_host_name),
    ACT(input_output_ports),
    ACT(have_capability),
    ACT(change_user),
    ACT(dump_core),
    ACT(listen_to_own_calls),
    ACT(outlive_supervisor),
    ACT(threads_work),
    ACT(pair_works),
    ACT(null_works),
    ACT(scratch_works),
    ACT(inherited_descriptor),
};

static void tell(const char *how) {
    char line[256];
    const int size =
        snprintf(line, sizeof line,
                 "{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"result\":\"%s\"}\n", how);
    (void)!write(STDOUT_FILENO, line, (size_t)size);
}

static void copy_text(const char *request, const char *key, char *out, size_t size) {
    const char *at = strstr(request, key);
    if (at == NULL) return;
    at += strlen(key);
    const size_t length = strcspn(at, "\"");
    snprintf(out, size, "%.*s", (int)length, at);
}

static long number(const char *request, const char *key) {
    const char *at = strstr(request, key);
    return at == NULL ? 0 : strtol(at + strlen(key), NULL, 10);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[count - 1], marker) == 0) {
        tell("succeeded");
        return 0;
    }
    static char request[8192];
    size_t size = 0;
    for (ssize_t got; size < sizeof request - 1 &&
                      (got = read(STDIN_FILENO, request + size, sizeof request - 1 - size)) > 0;) {
        size += (size_t)got;
    }
    copy_text(request, "\"act\":\"", act_name, sizeof act_name);
    copy_text(request, "\"place\":\"", place, sizeof place);
    host = number(request, "\"host\":");
    sibling = number(request, "\"sibling\":");
    port = number(request, "\"port\":");
    snprintf(file, sizeof file, "%s/%s.file", place, act_name);
    snprintf(folder, sizeof folder, "%s/%s.folder", place, act_name);
    snprintf(unused, sizeof unused, "%s/%s.new", place, act_name);
    const char *temporary = getenv("TMPDIR");
    if (temporary != NULL && strstr(temporary, "narratoria-scratch-") != NULL) {
        snprintf(scratch, sizeof scratch, "%s", temporary);
    }
    for (size_t i = 0; i < sizeof acts / sizeof *acts; ++i) {
        if (strcmp(acts[i].name, act_name) != 0) continue;
        const int error = acts[i].act();
        char how[64];
        if (error == ABSENT) snprintf(how, sizeof how, "absent");
        else if (error < ABSENT)
            snprintf(how, sizeof how, "absent: %s", strerrorname_np(ABSENT - error));
        else if (error == OK) snprintf(how, sizeof how, "succeeded");
        else snprintf(how, sizeof how, "refused: %s", strerrorname_np(error));
        tell(how);
        return 0;
    }
    tell("no such act");
    return 0;
}
