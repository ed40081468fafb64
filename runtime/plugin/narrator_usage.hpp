// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a narrator's replies took: tokens, time and money, as the narrator reports it.

#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::plugin {

// Checks a report (abi/schemas/narrator-usage-1.schema.json), and puts it on one line. Returns why it
// is not valid, or nothing. Thread-safe.
std::string check_usage(std::string_view report, std::string& line);

// The sum of the reports of a turn.
class NarratorUsage {
public:
    // `line` is from check_usage().
    void add(std::string_view line);
    bool is_empty() const { return reports_ == 0; }
    // A turn has at most this many; the runtime drops the others.
    static constexpr int64_t kMaxReports = 100;
    bool is_full() const { return reports_ >= kMaxReports; }
    // A JSON object: {"reports", "inputTokens", …}. Without costs if their currencies differ, or if
    // the sum is too large.
    std::string json() const;

private:
    int64_t reports_ = 0;
    int64_t input_tokens_ = 0;
    int64_t output_tokens_ = 0;
    int64_t cached_tokens_ = 0;
    double cost_ = 0;
    std::string currency_;  // of the costs; empty: there are none
    bool has_currencies_ = false;
};

}  // namespace narratoria::plugin
