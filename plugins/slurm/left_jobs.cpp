// SPDX-License-Identifier: Apache-2.0
#include "slurm/left_jobs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

namespace narratoria::slurm {
namespace {

constexpr std::string_view kPrefix = "narratoria-";
// Not ended by the SIGTERM that a process gets at the end of the session.
constexpr const char* kCancel = "trap '' TERM; exec scancel --quiet \"$@\"";
// scancel needs some milliseconds.
constexpr std::uint32_t kGraceMs = 5000;

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// The 22nd field of /proc/PID/stat; 0 if there is no such process.
std::uint64_t start_of(std::uint64_t process) {
    const std::string text = line_of("/proc/" + std::to_string(process) + "/stat");
    // The second field is a name in parentheses, which may have spaces and parentheses.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream fields(text.substr(name_end + 1));
    std::string field;
    for (int i = 0; i < 20; ++i) fields >> field;
    std::uint64_t started = 0;
    std::from_chars(field.data(), field.data() + field.size(), started);
    return started;
}

// Process ids have a meaning only in one boot and one process namespace. FNV-1a.
std::string this_machine() {
    struct stat space {};
    ::stat("/proc/self/ns/pid", &space);
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char each :
         line_of("/proc/sys/kernel/random/boot_id") + "/" + std::to_string(space.st_ino)) {
        hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
    }
    char out[17];
    std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(hash));
    return out;
}

// Removes "-FIELD" from the end of `text` and returns FIELD; empty if there is none.
std::string_view take_last(std::string_view& text) {
    const std::size_t dash = text.rfind('-');
    if (dash == text.npos) return {};
    const std::string_view field = text.substr(dash + 1);
    text.remove_suffix(text.size() - dash);
    return field;
}

std::uint64_t number_of(std::string_view text) {
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() ? out : 0;
}

}  // namespace

Owner Owner::of_this_process() {
    const auto process = static_cast<std::uint64_t>(::getpid());
    return {this_machine(), process, start_of(process)};
}

std::string Owner::job_name(std::string_view what) const {
    return std::string(kPrefix) + std::string(what) + "-" + machine + "-" +
           std::to_string(process) + "-" + std::to_string(started);
}

bool Owner::is_left_behind(std::string_view name) const {
    if (started == 0 || !name.starts_with(kPrefix)) return false;
    const std::uint64_t its_start = number_of(take_last(name));
    const std::uint64_t its_process = number_of(take_last(name));
    if (its_start == 0 || its_process == 0 || take_last(name) != machine) return false;
    return start_of(its_process) != its_start;
}

LeftJobs::~LeftJobs() { cancellation_.release(kGraceMs); }

void LeftJobs::remove(const Owner& self, const std::vector<std::string>& environment) {
    if (std::exchange(was_called_, true)) return;
    plugin::Program program;
    program.arguments = {"squeue", "--noheader", "--user=" + std::to_string(::geteuid()),
                         "--format=%i %j"};
    program.environment = environment;
    plugin::ProcessEvents events;
    events.on_output = [this](std::string_view bytes) { listed_ += bytes; };
    events.on_exit = [this, self, environment](const plugin::ProcessExit&) {
        cancel(self, environment);
    };
    try {
        list_ = plugin::Process(host_, program, std::move(events));
    } catch (const narratoria::Error&) {
        // Without Slurm's programs the tool fails with the reason.
    }
}

// Lines "17 narratoria-tool-…".
void LeftJobs::cancel(const Owner& self, const std::vector<std::string>& environment) {
    plugin::Program program;
    program.arguments = {"sh", "-c", kCancel, "sh"};
    program.environment = environment;
    std::string jobs;
    for (std::string_view rest = listed_; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const std::size_t space = std::min(line.find(' '), line.size());
        if (!self.is_left_behind(line.substr(std::min(space + 1, line.size())))) continue;
        program.arguments.emplace_back(line.substr(0, space));
        jobs.append(" ").append(line.substr(0, space));
    }
    if (jobs.empty()) return;
    host_.log(plugin::Level::Info, "cancels jobs that a killed host left in Slurm:" + jobs);
    try {
        cancellation_ = plugin::Process(host_, program, {});
    } catch (const narratoria::Error&) {
        // Too many processes or descriptors at the moment: their leases end them.
    }
}

}  // namespace narratoria::slurm
