// SPDX-License-Identifier: Apache-2.0
#include "process/sandbox_probes.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

#include "process/process.hpp"
#include "process/start_error.hpp"
#include "process/start_failure.hpp"
#include "process/supervisor/protocol.h"

namespace narratoria::process {
namespace {

// Calls `each` with the name of each required guarantee and its bits. Stops when `each` returns
// false.
template <class Each>
bool for_each_required(const Guarantees& guarantees, const Each& each) {
    for (size_t i = 0; i < kGuarantees; ++i) {
        const auto guarantee = static_cast<Guarantee>(i);
        if (!guarantees.requires_one(guarantee)) continue;
        if (!each(name_of(guarantee), sandbox_bits(guarantee))) return false;
    }
    return !guarantees.secrets() || each(kSecretsAllowed, sandbox_bits());
}

}  // namespace

const Enforcement& SandboxProbes::enforcement_of(uint32_t bits, StartFailure& failure) {
    const auto known = known_.find(bits);
    if (known != known_.end() && !known->second.may_change) return known->second;
    return known_[bits] = try_sandbox(bits, failure);
}

// Runs a probe that attempts the forbidden acts in the sandbox. An act that is not refused is not
// enforced, regardless of the kernel's documentation.
Enforcement SandboxProbes::try_sandbox(uint32_t bits, StartFailure& failure) {
    Enforcement out;
    auto not_now = [&] {
        out.may_change = true;
        out.why = failure.message;
        return out;
    };
    supervisor_ended ended{};
    std::string acts;
    if (!run_(for_probe(bits, supervisor_path_), ended, acts, failure)) return not_now();
    if (ended.start_error != 0) {
        out.why =
            describe_start_failure(ended.start_stage, ended.start_error, "/proc/self/exe", "/", "");
        if (!may_start_later(ended.start_stage, ended.start_error)) return out;
        if (is_sandbox_stage(ended.start_stage)) failure.code = "GUARANTEE_UNAVAILABLE";
        failure.message = out.why;
        return not_now();
    }
    if (WIFSIGNALED(ended.wait_status) && WTERMSIG(ended.wait_status) == SIGKILL) {
        failure.message = "the program that tests the sandbox was killed";
        return not_now();
    }
    if (!WIFEXITED(ended.wait_status) || WEXITSTATUS(ended.wait_status) != 0) {
        out.why = "the program that tests the sandbox ended unexpectedly";
    } else if (!acts.empty()) {
        acts.pop_back();
        std::replace(acts.begin(), acts.end(), '\n', ',');
        out.why = "the kernel accepted the sandbox but did not refuse: " + acts;
    } else {
        out = enforcement_by(bits, ended.landlock, ended.network);
    }
    return out;
}

bool SandboxProbes::check(const Guarantees& guarantees, StartFailure& failure) {
    auto is_enforced = [&](std::string_view name, uint32_t bits) {
        const Enforcement& how = enforcement_of(bits, failure);
        if (how.is_enforced) return true;
        if (!how.may_change) {
            failure.code = "GUARANTEE_UNAVAILABLE";
            failure.may_retry = false;
        }
        if (failure.code == "GUARANTEE_UNAVAILABLE") {
            failure.message = unavailable_message(name, how.why);
        }
        return false;
    };
    // The last check is for the sandbox of the tool itself: the checks of single guarantees have
    // not tested its filter.
    return for_each_required(guarantees, is_enforced) &&
           is_enforced("the combination of these guarantees", sandbox_bits(guarantees));
}

std::string SandboxProbes::receipts(const Guarantees& guarantees) {
    std::string out;
    StartFailure failure;
    for_each_required(guarantees, [&](std::string_view name, uint32_t bits) {
        out += out.empty() ? '[' : ',';
        append_receipt(out, name, enforcement_of(bits, failure));
        return true;
    });
    return out.empty() ? out : out + ']';
}

}  // namespace narratoria::process
