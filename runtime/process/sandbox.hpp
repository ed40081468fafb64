// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes the parts of a sandbox that the supervisor applies: bits, a scratch folder, files that
// stay readable, an environment. docs/guarantees.md lists the mechanism of each guarantee.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/guarantees.hpp"

namespace narratoria::process {

// How this machine enforces a guarantee, determined by a test.
struct Enforcement {
    bool is_enforced = false;
    bool may_change = false;  // the test failed to run; the next query repeats it
    std::string why;          // the reason and the remedy; empty if it is enforced
    std::string mechanism;    // "Landlock, seccomp"
    std::string version;      // "Landlock ABI 7, Linux 6.18.1"
};

// Returns the bits (sandbox_bit) that every sandbox has.
uint32_t sandbox_bits();
// Returns the bits that a guarantee needs.
uint32_t sandbox_bits(Guarantee guarantee);
// Returns the bits of all required guarantees; 0: no sandbox.
uint32_t sandbox_bits(const Guarantees& guarantees);
// Returns a message for a sandbox that cannot be entered. `stage`: a supervisor_stage; `error`: an
// errno.
std::string describe_sandbox_failure(uint32_t stage, int error);
bool is_sandbox_stage(uint32_t stage);
// Returns "no_network cannot be enforced on this machine: ‹why›".
std::string unavailable_message(std::string_view guarantee, const std::string& why);

// Returns the mechanism that enforces `bits`, from the supervisor's report. `network`: a
// supervisor_network.
Enforcement enforcement_by(uint32_t bits, uint32_t landlock, uint32_t network);
// Appends a JSON object in the format of attempts[].guarantees.
void append_receipt(std::string& out, std::string_view guarantee, const Enforcement& how);

// A program in its sandbox.
struct Sandboxed {
    uint32_t bits = 0;
    std::string path;
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    uint32_t scratch_variables = 0;     // 1: TMPDIR names a scratch folder; 2: TMPDIR and HOME
    std::vector<std::string> readable;  // for SANDBOX_READ
    // Names and values. The values must not appear in the program's output.
    std::vector<std::pair<std::string, std::string>> secrets;
};

// `readable`: files and folders that the program needs in addition to its own. The supervisor
// creates and removes the scratch folder and adds its variables.
Sandboxed in_sandbox(const Guarantees& guarantees, std::string path,
                     std::vector<std::string> arguments,
                     const std::vector<std::string>& environment,
                     const std::vector<std::string>& readable);

// Returns the sandbox for the supervisor's probe, which is statically linked and needs no other
// file. `supervisor_path`: empty if the supervisor program is an image in memory.
Sandboxed for_probe(uint32_t bits, const std::string& supervisor_path);

}  // namespace narratoria::process
