// SPDX-License-Identifier: Apache-2.0
#include "slurm/resources.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <cstdint>

namespace narratoria::slurm {
namespace {

std::uint64_t in_units(std::uint64_t value, std::uint64_t unit) {
    return value / unit + (value % unit != 0 ? 1 : 0);
}

}  // namespace

std::vector<std::string> options_of(std::string_view resources,
                                    const std::vector<std::string>& options) {
    std::vector<std::string> out;
    if (resources.empty()) return out;
    // The host has checked it.
    rapidjson::Document all;
    all.Parse(resources.data(), resources.size());
    const auto number = [&](const char* name) {
        return all.HasMember(name) && all[name].IsUint64() ? all[name].GetUint64() : 0;
    };
    if (const std::uint64_t cpus = number("cpus"))
        out.push_back("--cpus-per-task=" + std::to_string(cpus));
    // --mem, --mem-per-cpu and --mem-per-gpu exclude each other.
    const bool has_memory = std::any_of(options.begin(), options.end(), [](const auto& option) {
        // --mem-bind does not ask for memory.
        return option == "--mem" || option.starts_with("--mem=") ||
               option.starts_with("--mem-per-");
    });
    if (const std::uint64_t bytes = number("memory_bytes"); bytes != 0 && !has_memory)
        out.push_back("--mem=" + std::to_string(in_units(bytes, 1024)) + "K");
    if (const std::uint64_t gpus = number("gpus")) out.push_back("--gpus=" + std::to_string(gpus));
    // Slurm counts minutes.
    if (const std::uint64_t seconds = number("time_seconds"))
        out.push_back("--time=" + std::to_string(in_units(seconds, 60)));
    if (all.HasMember("partition") && all["partition"].IsString())
        out.push_back(std::string("--partition=") + all["partition"].GetString());
    return out;
}

std::string limit_commands(const nar_limits* limits) {
    std::string out;
    if (limits == nullptr) return out;
    // A value above the node's own limit is refused, and the node's applies.
    const auto set = [&](const char* option, std::uint64_t value) {
        out += std::string("ulimit ") + option + " " + std::to_string(value) + " 2>/dev/null\n";
    };
    const auto is_set = [](auto value) { return value != 0 && value != decltype(value)(-1); };
    // POSIX counts files in blocks of 512 bytes.
    if (is_set(limits->file_bytes)) set("-f", in_units(limits->file_bytes, 512));
    if (is_set(limits->open_files)) set("-n", limits->open_files);
    // SIGXCPU comes one second before SIGKILL.
    if (is_set(limits->cpu_seconds)) {
        set("-S -t", limits->cpu_seconds);
        set("-H -t", std::uint64_t{limits->cpu_seconds} + 1);
    }
    if (is_set(limits->memory_bytes)) set("-v", in_units(limits->memory_bytes, 1024));
    return out;
}

}  // namespace narratoria::slurm
