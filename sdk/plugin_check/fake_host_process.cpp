// SPDX-License-Identifier: Apache-2.0
// The fake host's process extension (narratoria/host_process.h).
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "plugin_check/fake_host.hpp"
#include "plugin_check/tokens.hpp"

namespace narratoria::command::plugin_check {

void PluginCheckHost::write_reason(nar_failure* failure, std::string_view why) {
    if (failure == nullptr || failure->size < sizeof *failure) return;
    failure->message[why.copy(failure->message, sizeof failure->message - 1)] = '\0';
}

nar_status PluginCheckHost::process_start(const nar_host* host, const nar_program* program,
                                          const nar_process_events* events, void* user,
                                          std::uint64_t* process, nar_failure* failure) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.start", kInActive, true, &status);
    if (self == nullptr) return status;
    const auto refuse = [&](nar_status answer, const std::string& why) {
        write_reason(failure, why);
        return answer;
    };
    nar_program what{};
    nar_process_events callbacks{};
    const auto is_size = [](std::uint32_t size) {
        return size >= sizeof size && size <= kMaxStructSize;
    };
    const bool has_sizes = program != nullptr && is_size(program->size) &&
                           (events == nullptr || is_size(events->size));
    if (has_sizes) {
        std::memcpy(&what, program, std::min<std::size_t>(program->size, sizeof what));
        if (events != nullptr) {
            std::memcpy(&callbacks, events, std::min<std::size_t>(events->size, sizeof callbacks));
        }
    }
    if (!has_sizes || process == nullptr || what.arguments == nullptr || what.argument_count == 0 ||
        what.arguments[0].size == 0 ||
        (what.environment == nullptr && what.environment_count > 0) ||
        (what.folder.size > 0 && what.folder.data[0] != '/')) {
        self->report_.add_finding(
            "P34",
            "process.start: a struct is NULL or its size is wrong, nar_program names no program, "
            "or its folder is not absolute");
        return refuse(NAR_INVALID_ARGUMENT, "an argument is missing or out of range");
    }
    std::vector<std::string> arguments, environment;
    for (std::uint64_t at = 0; at < what.argument_count; ++at) {
        arguments.emplace_back(to_view(what.arguments[at]));
    }
    for (std::uint64_t at = 0; at < what.environment_count; ++at) {
        environment.emplace_back(to_view(what.environment[at]));
    }
    if (what.environment == nullptr) {
        const char* const path = getenv("PATH");
        environment.push_back(std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"));
    }
    const std::uint64_t handle = fresh_token();
    std::string why;
    if (!self->processes_.start(handle, std::move(arguments), std::move(environment),
                                std::string(to_view(what.folder)), callbacks, user, why)) {
        return refuse(NAR_IO, why);
    }
    *process = handle;
    return NAR_OK;
}

nar_status PluginCheckHost::process_write(const nar_host* host, std::uint64_t process,
                                          nar_str bytes) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.write", kInActive, true, &status);
    if (self == nullptr) return status;
    if (!self->is_readable(bytes, "process.write", "bytes")) return NAR_INVALID_ARGUMENT;
    return self->processes_.write(process, to_view(bytes));
}

nar_status PluginCheckHost::process_close_input(const nar_host* host, std::uint64_t process) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.close_input", kInActive, true, &status);
    return self != nullptr ? self->processes_.close_input(process) : status;
}

nar_status PluginCheckHost::process_terminate(const nar_host* host, std::uint64_t process,
                                              std::uint32_t grace_ms) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.terminate", kInActive, true, &status);
    return self != nullptr ? self->processes_.terminate(process, grace_ms) : status;
}

nar_status PluginCheckHost::process_release(const nar_host* host, std::uint64_t process,
                                            std::uint32_t) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.release", kInActive, true, &status);
    return self != nullptr ? self->processes_.release(process) : status;
}

}  // namespace narratoria::command::plugin_check
