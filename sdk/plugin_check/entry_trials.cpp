// SPDX-License-Identifier: Apache-2.0
// Trials of loading the library and of calling its entry with hosts of several versions.
#include <fmt/core.h>

#include "plugin_check/decoys.hpp"
#include "plugin_check/fake_host.hpp"
#include "plugin_check/leak_check.hpp"
#include "plugin_check/process_state.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command::plugin_check {
namespace {

constexpr double kLoadBudget = 0.25;

}  // namespace

void try_loading(TrialReport& report, const std::string& path) {
    const ProcessSnapshot before;
    const Clock::time_point began = Clock::now();
    const Library library = load_library(report, path);
    const double seconds = seconds_since(began);
    if (library.handle == nullptr) return;
    cover(report, {"P1", "P2", "P5"});
    if (seconds > kLoadBudget) {
        report.add_finding("P5", fmt::format("loading took {:.0f} ms; the limit is {:.0f} ms",
                                             seconds * 1000, kLoadBudget * 1000));
    }
    before.report_state_changes(report, "P5", "once it is loaded");
    const auto threads = added_threads(before.threads);
    if (!threads.empty()) {
        report.add_finding("P5", fmt::format("loading started a thread: {}", joined(threads)));
    }
    const auto open = added(before.descriptors, open_descriptors());
    if (!open.empty()) {
        report.add_finding("P5", fmt::format("loading opened a descriptor: {}", joined(open)));
    }
    if (this_trials_decoys->has_other_children())
        report.add_finding("P5", "loading started a process");
}

namespace {

struct EntryResult {
    bool returned = false;
    nar_status status = NAR_FAILED;
    const nar_plugin* plugin = nullptr;
};

EntryResult call_entry(TrialReport& report, const Library& library,
                       const nar_host_description* host, const std::string& doing,
                       CallTimes& times) {
    EntryResult result;
    Loan loan(LentMemory::Roomy);
    nar_failure* const failure = loan.failure();
    report.begin_call({}, doing);
    const Clock::time_point began = Clock::now();
    result.returned = call_caught(
        report, "the entry", [&] { result.status = library.entry(host, &result.plugin, failure); });
    times.record("entry", seconds_since(began));
    report.end_call();
    if (result.returned && result.status != NAR_OK) {
        PluginCheckHost::reason_in(report, *failure, "the entry");
        if (report.has_finding("P9")) return result;
    }
    return result;
}

}  // namespace

void try_entry(TrialReport& report, const std::string& path) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    CallTimes times;
    nar_host_description host{};
    host.size = sizeof host;
    host.abi_version = NAR_ABI_VERSION;
    host.name = NAR_STR("narratoria plugin check");
    host.version = to_c(nar_library_version());
    const EntryResult result = call_entry(report, library, &host, "entry", times);
    times.judge(report);
    cover(report, {"P8", "P9"});
    if (!result.returned) return;
    if (result.status != NAR_OK) {
        // P9 reports a refusal without a reason.
        if (!report.has_finding("P9")) {
            report.add_finding(
                "P8", fmt::format("it refuses a host of ABI {}.{}", NAR_ABI_MAJOR, NAR_ABI_MINOR));
        }
        return;
    }
    if (result.plugin == nullptr) {
        report.add_finding("P8", "the entry returned NAR_OK but left *plugin NULL");
        return;
    }
    report.begin_call({"P11", "P11", "P11"}, "reading its nar_plugin");
    const std::uint32_t built_with = result.plugin->abi_version;
    if (built_with >> 16 != NAR_ABI_MAJOR) {
        report.add_finding("P10", fmt::format("its abi_version is {}.{}; that of the host is {}.{}",
                                              built_with >> 16, built_with & 0xFFFF, NAR_ABI_MAJOR,
                                              NAR_ABI_MINOR));
    }
    report.end_call();
}

// The struct of a different major version shares only size and abi_version, so lend only these.
void try_other_major(TrialReport& report, const std::string& path) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    CallTimes times;
    for (const std::uint32_t major : {NAR_ABI_MAJOR + 1, 0u}) {
        Loan loan(LentMemory::Guarded);
        const std::uint32_t head[2] = {sizeof head, major << 16};
        const auto* host = static_cast<const nar_host_description*>(
            loan.bytes(head, sizeof head, "the nar_host_description"));
        const EntryResult result =
            call_entry(report, library, host, "entry with a different major", times);
        if (!result.returned) continue;
        if (result.status == NAR_OK) {
            report.add_finding("P10", fmt::format("it accepts a host of ABI {}.0", major));
        } else if (result.status != NAR_UNSUPPORTED) {
            report.add_finding(
                "P10", fmt::format("it refuses a host of ABI {}.0 with {}; return NAR_UNSUPPORTED",
                                   major, nar_status_name(result.status)));
        }
    }
    cover(report, {"P10"});
}

void try_other_minor(TrialReport& report, const std::string& path, std::uint32_t minor) {
    const Library library = load_library(report, path);
    if (library.entry == nullptr) return;
    CallTimes times;
    nar_host_description host{};
    host.size = sizeof host + 64;  // the Loan is Roomy, so the bytes exist
    host.abi_version = (NAR_ABI_MAJOR << 16) | minor;
    Loan loan(LentMemory::Roomy);
    const EntryResult result =
        call_entry(report, library, loan.object(host, "the nar_host_description"),
                   fmt::format("entry with minor {}", minor), times);
    if (result.returned && result.status != NAR_OK) {
        report.add_finding(
            "P10",
            fmt::format(
                "it refuses a host of ABI {}.{}; accept every minor version of the same major",
                NAR_ABI_MAJOR, minor));
    }
    cover(report, {"P10"});
}

}  // namespace narratoria::command::plugin_check
