// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/process_state.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

// Defined only in builds with a sanitizer, which replaces the allocator.
extern "C" __attribute__((weak)) std::size_t __sanitizer_get_current_allocated_bytes();

namespace narratoria::command::plugin_check {
namespace {

std::string signal_name(int number) {
    const char* text = sigdescr_np(number);
    return fmt::format("signal {}{}", number, text != nullptr ? fmt::format(" ({})", text) : "");
}

std::map<int, std::string> numbered_entries(const char* folder, const char* detail) {
    std::map<int, std::string> entries;
    DIR* directory = opendir(folder);
    if (directory == nullptr) return entries;
    while (const dirent* entry = readdir(directory)) {
        if (entry->d_name[0] == '.') continue;
        const int number = std::atoi(entry->d_name);
        if (number == dirfd(directory) && detail == nullptr) continue;
        char text[256];
        ssize_t length = 0;
        if (detail == nullptr) {
            length = readlinkat(dirfd(directory), entry->d_name, text, sizeof text);
        } else {
            const std::string path = fmt::format("{}/{}/{}", folder, entry->d_name, detail);
            if (FILE* file = fopen(path.c_str(), "re")) {
                if (fgets(text, sizeof text, file) != nullptr) {
                    length = static_cast<ssize_t>(strcspn(text, "\n"));
                }
                fclose(file);
            }
        }
        entries[number] = length > 0 ? std::string(text, static_cast<std::size_t>(length)) : "";
    }
    closedir(directory);
    return entries;
}

using Values = std::map<std::string, std::string>;

void add_float_environment(Values& values) {
    values["the floating-point rounding"] = fmt::format("{}", fegetround());
    values["the floating-point traps"] = fmt::format("{}", fegetexcept());
#ifdef __SSE2__
    constexpr unsigned kFlushToZero = 0x8040;
    values["the floating-point handling of denormal numbers"] =
        fmt::format("{}", __builtin_ia32_stmxcsr() & kFlushToZero);
#endif
}

}  // namespace

ProcessState ProcessState::now() {
    ProcessState state;
    auto& values = state.values_;
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction action {};
        if (sigaction(number, nullptr, &action) != 0) continue;
        values["the handler of " + signal_name(number)] =
            fmt::format("{} {}", reinterpret_cast<const void*>(action.sa_sigaction),
                        static_cast<unsigned>(action.sa_flags));
    }
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    std::string blocked;
    for (int number = 1; number < NSIG; ++number) blocked += sigismember(&mask, number) == 1;
    values["the signal mask"] = blocked;
    struct stat folder {};
    if (stat(".", &folder) == 0) {
        values["the working folder"] = fmt::format("{} {}", folder.st_dev, folder.st_ino);
    }
    const char* locale = setlocale(LC_ALL, nullptr);
    values["the locale"] = locale != nullptr ? locale : "";
    values["the locale of the engine's thread"] =
        fmt::format("{}", static_cast<const void*>(uselocale(static_cast<locale_t>(nullptr))));
    // umask can only be read by setting it. No other code creates a file in the meantime.
    const mode_t masked = umask(0);
    umask(masked);
    values["the umask"] = fmt::format("{:o}", masked);
    for (int limit = 0; limit < static_cast<int>(RLIM_NLIMITS); ++limit) {
        rlimit both{};
        if (getrlimit(static_cast<__rlimit_resource>(limit), &both) == 0) {
            values[fmt::format("resource limit number {}", limit)] =
                fmt::format("{} {}", both.rlim_cur, both.rlim_max);
        }
    }
    std::vector<std::string> variables;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        variables.emplace_back(*variable);
    }
    std::sort(variables.begin(), variables.end());
    std::string& environment = values["the environment"];
    for (const std::string& variable : variables) environment += variable + '\0';
    for (const auto& [timer, name] :
         {std::pair{ITIMER_REAL, "the interval timer that raises SIGALRM"},
          std::pair{ITIMER_VIRTUAL, "the interval timer that raises SIGVTALRM"},
          std::pair{ITIMER_PROF, "the interval timer that raises SIGPROF"}}) {
        itimerval left{};
        getitimer(timer, &left);
        // Ignore the remaining time, which changes by itself.
        const bool runs = left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0;
        values[name] = runs ? "runs" : "";
    }
    add_float_environment(values);
    errno = 0;
    values["the priority"] = fmt::format("{}", getpriority(PRIO_PROCESS, 0));
    values["the scheduling policy"] = fmt::format("{}", sched_getscheduler(0));
    cpu_set_t processors;
    CPU_ZERO(&processors);
    std::string& affinity = values["the set of processors"];
    if (sched_getaffinity(0, sizeof processors, &processors) == 0) {
        for (int one = 0; one < CPU_SETSIZE; ++one)
            affinity += CPU_ISSET(one, &processors) ? '1' : '0';
    }
    char name[16] = {};
    prctl(PR_GET_NAME, name, 0, 0, 0);
    values["the name of the engine's thread"] = std::string(name, strnlen(name, sizeof name));
    values["the terminate handler of C++"] =
        fmt::format("{}", reinterpret_cast<const void*>(std::get_terminate()));
    for (const auto& [option, what] :
         {std::pair{PR_GET_DUMPABLE, "whether the process may be traced (PR_SET_DUMPABLE)"},
          std::pair{PR_GET_NO_NEW_PRIVS,
                    "whether programs may gain privileges "
                    "(PR_SET_NO_NEW_PRIVS)"},
          std::pair{PR_GET_KEEPCAPS, "PR_SET_KEEPCAPS"},
          std::pair{PR_GET_TIMERSLACK, "the timer slack of the engine's thread"}}) {
        values[what] = fmt::format("{}", prctl(option, 0, 0, 0, 0));
    }
    for (const auto& [option, what] :
         {std::pair{PR_GET_CHILD_SUBREAPER,
                    "whether orphans become its children (PR_SET_CHILD_SUBREAPER)"},
          std::pair{PR_GET_PDEATHSIG, "the signal at the end of its parent (PR_SET_PDEATHSIG)"}}) {
        int value = 0;
        prctl(option, &value, 0, 0, 0);
        values[what] = fmt::format("{}", value);
    }
    uid_t user = 0, effective_user = 0, saved_user = 0;
    gid_t group = 0, effective_group = 0, saved_group = 0;
    getresuid(&user, &effective_user, &saved_user);
    getresgid(&group, &effective_group, &saved_group);
    values["the user or group"] = fmt::format("{} {} {} {} {} {}", user, effective_user, saved_user,
                                              group, effective_group, saved_group);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        const int flags = fcntl(standard, F_GETFL);
        // P45 reports a closed descriptor.
        if (flags >= 0) {
            values[fmt::format("the flags of descriptor {}", standard)] = fmt::format("{}", flags);
        }
    }
    return state;
}

std::vector<std::string> ProcessState::changed_since(const ProcessState& before) const {
    std::vector<std::string> changed;
    for (const auto& [name, value] : values_) {
        const auto found = before.values_.find(name);
        if (found == before.values_.end() || found->second != value) changed.push_back(name);
    }
    return changed;
}

std::map<int, std::string> open_descriptors() { return numbered_entries("/proc/self/fd", nullptr); }

std::map<int, std::string> running_threads() { return numbered_entries("/proc/self/task", "comm"); }

std::vector<std::string> added(const std::map<int, std::string>& before,
                               const std::map<int, std::string>& after) {
    std::vector<std::string> names;
    for (const auto& [number, text] : after) {
        if (!before.contains(number)) names.push_back(fmt::format("{} ({})", number, text));
    }
    return names;
}

std::vector<std::string> lost(const std::map<int, std::string>& before,
                              const std::map<int, std::string>& after) {
    std::vector<std::string> names;
    for (const auto& [number, text] : before) {
        const auto found = after.find(number);
        if (found == after.end() || found->second != text) {
            names.push_back(fmt::format("{} ({})", number, text));
        }
    }
    return names;
}

std::vector<std::string> added_threads(const std::map<int, std::string>& before) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    for (;;) {
        std::vector<std::string> names;
        for (const auto& [number, name] : running_threads()) {
            if (!before.contains(number)) names.push_back(fmt::format("{} ({})", number, name));
        }
        if (names.empty() || std::chrono::steady_clock::now() >= deadline) return names;
        const timespec moment{0, 1'000'000};
        nanosleep(&moment, nullptr);
    }
}

bool has_sanitizers_allocator() noexcept {
    return __sanitizer_get_current_allocated_bytes != nullptr;
}

WritableData::WritableData(const void* address) {
    struct Search {
        const char* address;
        std::vector<Part>* parts;
    } search{static_cast<const char*>(address), &parts_};
    dl_iterate_phdr(
        [](dl_phdr_info* library, std::size_t, void* user) {
            auto* wanted = static_cast<Search*>(user);
            const char* base = reinterpret_cast<const char*>(library->dlpi_addr);
            const auto holds = [&](const ElfW(Phdr) & segment) {
                const char* begin = base + segment.p_vaddr;
                return segment.p_type == PT_LOAD && wanted->address >= begin &&
                       wanted->address < begin + segment.p_memsz;
            };
            const ElfW(Phdr)* end = library->dlpi_phdr + library->dlpi_phnum;
            if (std::none_of(library->dlpi_phdr, end, holds)) return 0;
            // Data that the loader made read-only after relocation (RELRO) is not variable.
            const char* constant_begin = nullptr;
            const char* constant_end = nullptr;
            std::for_each(library->dlpi_phdr, end, [&](const ElfW(Phdr) & segment) {
                if (segment.p_type != PT_GNU_RELRO) return;
                const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
                constant_begin = base + segment.p_vaddr;
                const auto whole =
                    reinterpret_cast<std::uintptr_t>(constant_begin + segment.p_memsz);
                constant_end = reinterpret_cast<const char*>(whole / page * page);
            });
            std::for_each(library->dlpi_phdr, end, [&](const ElfW(Phdr) & segment) {
                if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) return;
                const char* begin = base + segment.p_vaddr;
                const char* stop = begin + segment.p_memsz;
                if (constant_begin != nullptr && constant_begin <= begin && constant_end > begin) {
                    begin = std::min(constant_end, stop);
                }
                if (begin < stop) {
                    wanted->parts->push_back({begin, static_cast<std::size_t>(stop - begin)});
                }
            });
            return 1;
        },
        &search);
}

// A sanitizer poisons the space between the variables of a library that it instrumented.
__attribute__((no_sanitize("address"), no_sanitize("alignment"))) std::uintptr_t
WritableData::word_at(const Part& part, std::size_t at) {
    return *reinterpret_cast<const volatile std::uintptr_t*>(part.begin + at);
}

std::string WritableData::content() const {
    std::string all;
    for (const Part& part : parts_) {
        for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= part.size;
             at += sizeof(std::uintptr_t)) {
            const std::uintptr_t word = word_at(part, at);
            all.append(reinterpret_cast<const char*>(&word), sizeof word);
        }
    }
    return all;
}

}  // namespace narratoria::command::plugin_check
