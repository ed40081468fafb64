// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces secrets in what a process writes. Applied where its output enters, so that no log, event,
// result or error can have them.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::process {

// What stands in the place of a secret.
inline constexpr std::string_view kRedacted = "***";

// One stream. A secret may be cut anywhere by the reads of a pipe; bytes that may be the start of one
// are held until the next bytes decide.
class Redactor {
public:
    // Also finds each secret as JSON and as Python's json module write it in a string. Values under
    // kShortest bytes, and words of JSON, are left alone: to replace them would break every line.
    explicit Redactor(const std::vector<std::string>& secrets);
    static constexpr size_t kShortest = 4;

    // False if there is nothing to look for.
    bool is_needed() const { return !patterns_.empty(); }
    // The text that may be passed on now; valid until the next call.
    std::string& pass(std::string_view data);
    // The rest, at the end of the stream.
    std::string& finish();

private:
    std::vector<std::string> patterns_;  // the longest first
    std::string held_;
    std::string out_;
};

}  // namespace narratoria::process
