// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a process has for itself and a plugin must not change: looked at before and after.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace narratoria::command::plugin_check {

// Signal handlers and mask, timers that raise signals, folders, locales, umask, limits, users and
// groups, what prctl sets, priority, processors, name, environment, floating point, terminate handler,
// flags of the standard descriptors: each under a name for people.
class ProcessState {
public:
    static ProcessState now();

    // "the handler of signal 13 (Broken pipe)", …
    std::vector<std::string> changed_since(const ProcessState& before) const;

private:
    std::map<std::string, std::string> values_;
};

// Open descriptors and what they are: "/tmp/x", "pipe:[4711]".
std::map<int, std::string> open_descriptors();

// Running threads and their names.
std::map<int, std::string> running_threads();

// Descriptors that were not there before: "7 (/tmp/x)".
std::vector<std::string> added(const std::map<int, std::string>& before,
                               const std::map<int, std::string>& after);

// Descriptors that are closed, or something else than before: "1 (/dev/null)".
std::vector<std::string> lost(const std::map<int, std::string>& before,
                              const std::map<int, std::string>& after);

// The same for threads, which take a moment to be gone after they were joined.
std::vector<std::string> added_threads(const std::map<int, std::string>& before);

// This process has children, ended ones included.
bool has_children();

// A sanitizer's allocator replaces that of the C library in this process.
bool has_sanitizers_allocator() noexcept;

// The writable data of a loaded library.
class WritableData {
public:
    // Of the library that `address` lies in.
    explicit WritableData(const void* address);

    struct Part {
        const char* begin;
        std::size_t size;
    };
    const std::vector<Part>& parts() const { return parts_; }
    std::string content() const;
    // A word of a part; `at` is a multiple of its size.
    static std::uintptr_t word_at(const Part& part, std::size_t at);

private:
    std::vector<Part> parts_;
};

}  // namespace narratoria::command::plugin_check
