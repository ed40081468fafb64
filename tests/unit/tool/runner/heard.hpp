// SPDX-License-Identifier: Apache-2.0
#pragma once
// A listener that records the events and the outcome of an attempt.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/json.hpp"
#include "tool/runner.hpp"

namespace narratoria::tool {

class Heard : public AttemptListener {
public:
    void on_batch() override { ++batches; }
    void on_batch_end() override {}
    void on_event(const event::Event& event) override {
        events.emplace_back(event.line);
        if (event.type == event::Type::Log) {
            const test::Json log(event.line);
            const bool is_debug = log["/level"].string() == "debug";
            (is_debug ? debug : logs).emplace_back(log["/message"].string());
        }
        if (on_one) on_one();
    }
    void on_ended(Outcome its_outcome) override {
        ++ends;
        outcome = std::move(its_outcome);
        if (on_end) on_end();
    }

    std::vector<std::string> events;  // their lines
    std::vector<std::string> debug;   // messages of log events
    std::vector<std::string> logs;    // of the other levels
    Outcome outcome;
    int ends = 0;
    int batches = 0;
    std::function<void()> on_one;
    std::function<void()> on_end;
};

}  // namespace narratoria::tool
