// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the trace entries of a project's tools (spec 001), one per line, as each call ends.

#include <optional>
#include <string>

#include "io/file.hpp"
#include "io/output_check.hpp"
#include "narratoria/event.hpp"

namespace narratoria::command {

class CallTrace {
public:
    static constexpr std::string_view kBeginnings[] = {R"({"type":"capability_check")",
                                                       R"({"type":"tool_call")"};

    // Throws Refused.
    CallTrace(const std::string& path, OutputCheck& check) : file_(path, "trace") {
        check.add_output("--trace", path, file_.identity(), {kBeginnings[0], kBeginnings[1]});
    }

    static std::uint32_t wanted_kinds() noexcept { return kinds(Kind::AttemptEnded); }
    // Event sink.
    void record(const Event& event);
    // Drops the old content of the file and begins writing.
    void start() { file_.start(); }
    void flush() { file_.flush(); }
    bool failed() const noexcept { return file_.failed(); }

private:
    LineFile file_;
};

}  // namespace narratoria::command
