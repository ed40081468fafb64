// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a sandbox consists of, as its supervisor applies it: bits, a scratch folder, files that stay
// readable, an environment. docs/guarantees.md says which guarantee rests on what.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/guarantees.hpp"

namespace narratoria::process {

// How this machine enforces a guarantee, found out by trying.
struct Enforcement {
    bool is_enforced = false;
    bool may_change = false;  // it could not be found out: the next question tries again
    std::string why;          // for people: why not, and what to do; empty if it is enforced
    std::string mechanism;    // "Landlock, seccomp"
    std::string version;      // "Landlock ABI 7, Linux 6.18.1"
};

// What every sandbox has, of sandbox_bit.
uint32_t sandbox_bits();
// The bits that a guarantee needs.
uint32_t sandbox_bits(Guarantee guarantee);
// Those of all required guarantees; 0: no sandbox.
uint32_t sandbox_bits(const Guarantees& guarantees);
// Why a sandbox with these bits cannot be entered; `stage` is a supervisor_stage, `error` an errno.
std::string describe_sandbox_failure(uint32_t stage, int error);
bool is_sandbox_stage(uint32_t stage);
// "no_network cannot be enforced on this machine: ‹why›"
std::string unavailable_message(std::string_view guarantee, const std::string& why);

// The mechanism that `bits` rest on, given what the supervisor reported.
// `network`: a supervisor_network.
Enforcement enforcement_by(uint32_t bits, uint32_t landlock, uint32_t network);
// A JSON object of attempts[].guarantees.
void append_receipt(std::string& out, std::string_view guarantee, const Enforcement& how);

// A program in its sandbox.
struct Sandboxed {
    uint32_t bits = 0;
    std::string path;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    uint32_t scratch_variables = 0;     // 1: TMPDIR names a scratch folder; 2: HOME, too
    std::vector<std::string> readable;  // for SANDBOX_READ
    // Names and values. Its output must not have the values.
    std::vector<std::pair<std::string, std::string>> secrets;
};

// `readable`: files and folders that the program needs besides its own. The supervisor makes and
// removes the scratch folder, and adds its variables.
Sandboxed in_sandbox(const Guarantees& guarantees, std::string path,
                     std::vector<std::string> arguments,
                     const std::vector<std::string>& environment,
                     const std::vector<std::string>& readable);

// The sandbox in which the supervisor's probe runs, which is static and needs no other file.
// `supervisor_path`: empty if its program is an image in memory.
Sandboxed for_probe(uint32_t bits, const std::string& supervisor_path);

}  // namespace narratoria::process
