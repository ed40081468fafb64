// SPDX-License-Identifier: Apache-2.0
#pragma once
// A runner without processes: the test decides what each tool writes and how it ends, and inspects
// what was started. A tool is named by its resolved target without the slash: "/a" is "a".

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "event/event.hpp"
#include "tool/runner.hpp"

namespace narratoria::plan {

inline tool::Outcome succeeded() {
    tool::Outcome outcome;
    outcome.ok = true;
    outcome.exit_status = 0;
    return outcome;
}

inline tool::Outcome failed(std::string code = "EXIT_STATUS", std::string error = "it failed") {
    tool::Outcome outcome;
    outcome.code = std::move(code);
    outcome.error = std::move(error);
    outcome.exit_status = 1;
    return outcome;
}

class FakeRunner : public tool::Runner {
public:
    struct Start {
        std::string tool;
        std::string request;
        std::vector<std::string> environment;
        tool::Limits limits;
    };

    std::unique_ptr<tool::Attempt> begin(const tool::Invocation& invocation,
                                         tool::AttemptListener& listener,
                                         tool::StartFailure& failure) override {
        if (shortages > 0) {
            --shortages;
            failure.shortage = true;
            failure.message = "too many open files";
            return nullptr;
        }
        // A registered tool has no target.
        const std::string tool(invocation.target.empty() ? invocation.definition->name
                                                         : invocation.target.substr(1));
        if (const auto refusal = refusals.find(tool); refusal != refusals.end()) {
            failure.message = refusal->second;
            return nullptr;
        }
        starts.push_back(
            {tool, std::string(invocation.request), *invocation.environment, invocation.limits});
        if (ends_early) {
            if (on_start) on_start(tool);
            if (invocation.success != nullptr && invocation.success->is_wanted) {
                invocation.success->has_succeeded = true;
                return nullptr;
            }
        }
        auto attempt = std::make_unique<FakeAttempt>(*this, tool, listener);
        running_.push_back(attempt.get());
        most_at_once = std::max(most_at_once, running_.size());
        if (on_start && !ends_early) on_start(tool);
        return attempt;
    }
    bool may_end_within_start() const override { return ends_early; }

    // The running tools, in the order of their starts.
    std::vector<std::string> running() const {
        std::vector<std::string> names;
        for (const FakeAttempt* attempt : running_) names.push_back(attempt->tool);
        return names;
    }
    std::vector<std::string> started() const {
        std::vector<std::string> names;
        for (const Start& start : starts) names.push_back(start.tool);
        return names;
    }

    // Lets a running tool write a line.
    void say(std::string_view tool, std::string_view line) {
        std::string memory(line);
        memory.append(json::kPadding, '\0');
        event::Decoder decoder;
        event::Event event;
        if (!decoder.decode({memory.data(), line.size()}, event)) {
            throw std::invalid_argument(decoder.fault().message + ": " + std::string(line));
        }
        FakeAttempt& attempt = find(tool);
        attempt.listener.on_batch();
        attempt.listener.on_event(event);
    }
    // Ends a running tool.
    void end(std::string_view tool, tool::Outcome outcome = succeeded()) {
        FakeAttempt& attempt = find(tool);
        std::erase(running_, &attempt);
        attempt.gone = true;
        attempt.listener.on_ended(std::move(outcome));
    }

    std::vector<Start> starts;
    std::map<std::string, std::string> refusals;  // tools that cannot be started, and why
    bool ends_early = false;  // every tool succeeds within its start, if its success is wanted
    uint32_t shortages = 0;   // the next N starts find no free descriptors
    size_t most_at_once = 0;
    tool::Outcome outcome_of_done = succeeded();  // of a tool abandoned while it lingers
    std::vector<std::string> terminated;          // tools that were asked to end
    std::vector<std::string> abandoned;           // tools destroyed while running
    std::function<void(const std::string&)> on_start;
    std::function<void(const std::string&)> on_deliver_early;

private:
    struct FakeAttempt : tool::Attempt {
        FakeAttempt(FakeRunner& its_runner, std::string its_tool,
                    tool::AttemptListener& its_listener)
            : runner(its_runner), tool(std::move(its_tool)), listener(its_listener) {}
        ~FakeAttempt() override {
            if (gone) return;
            runner.abandoned.push_back(tool);
            std::erase(runner.running_, this);
        }
        void deliver_early() override {
            const auto deliver = runner.on_deliver_early;
            if (deliver) deliver(std::string(tool));
        }
        void terminate() override { runner.terminated.push_back(tool); }
        std::string diagnostics() const override { return tool + " wrote this"; }
        tool::Outcome outcome_of_done() const override { return runner.outcome_of_done; }

        FakeRunner& runner;
        std::string tool;
        tool::AttemptListener& listener;
        bool gone = false;
    };

    FakeAttempt& find(std::string_view tool) {
        for (FakeAttempt* attempt : running_) {
            if (attempt->tool == tool) return *attempt;
        }
        throw std::out_of_range(std::string(tool) + " does not run");
    }

    std::vector<FakeAttempt*> running_;
};

}  // namespace narratoria::plan
