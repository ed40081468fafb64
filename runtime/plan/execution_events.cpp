// SPDX-License-Identifier: Apache-2.0
#include "plan/execution.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "plan/records.hpp"
#include "plan/running_tool.hpp"

namespace narratoria::plan {

void Execution::on_event(uint32_t tool, const event::Event& event) {
    Running& running = *running_[tool];
    const uint64_t number = with_.stream.take_number();
    results_[tool].events.add(event.line);
    std::optional<state::Refusal> refusal;
    switch (event.type) {
        case event::Type::StatePatch: refusal = take_patch(tool, number, event); break;
        case event::Type::Done:
            // The tool has finished its work, so stop its timeout. The runner ends a tool that
            // lingers.
            running.done = true;
            running.try_time.stop();
            results_[tool].summary = event.text(event::Field::Summary);
            break;
        case event::Type::Error:
            results_[tool].message = event.text(event::Field::ErrorMessage);
            break;
        default: break;
    }
    const event::Subject subject = subject_of(tool);
    const bool is_merged = event.type == event::Type::StatePatch && !refusal;
    with_.stream.publish_tool_event(number, subject, event, is_merged);
    // Published after the event that caused them, so that the numbers stay in order.
    while (const std::string* conflict = conflicts_.take()) {
        with_.stream.publish(event::Kind::StateConflict, subject, *conflict);
    }

    if (refusal) refuse_patch(tool, std::move(*refusal));
    if (event.type == event::Type::Asset) {
        take_asset(tool, number, event);
    } else if (event.type == event::Type::UiEvent && settings_.on_ui_event) {
        settings_.on_ui_event(number, subject, event);
    }
    if (!running.warned_request_id) {
        const json::Value id = event.field(event::Field::RequestId);
        if (id && id.text() != plan_->request_id) {
            running.warned_request_id = true;
            with_.stream.warn(subject, "REQUEST_ID",
                              "the tool's requestId is " + json::quoted(id.text().substr(0, 80)) +
                                  ", but the invocation's is " + json::quoted(plan_->request_id));
        }
    }
    if (!running.warned_timestamp) {
        const json::Value time = event.field(event::Field::Timestamp);
        if (time && !clock::is_iso8601(time.text())) {
            running.warned_timestamp = true;
            with_.stream.warn(subject, "TIMESTAMP",
                              "the tool's timestamp " + json::quoted(time.text().substr(0, 80)) +
                                  " is not an ISO-8601 date and time");
        }
    }
}

std::optional<state::Refusal> Execution::take_patch(uint32_t tool, uint64_t number,
                                                    const event::Event& event) {
    Running& running = *running_[tool];
    const json::Value nulls = event.field(event::Field::Nulls);
    if (auto refusal = with_.state.refusal(event.field(event::Field::Patch), nulls)) return refusal;
    if (!running.origin) {
        running.origin = std::make_shared<state::HistoryOrigin>(state::HistoryOrigin{
            std::string(plan_->request_id), std::string(plan_->tools[tool].tool_id)});
        conflicts_.add_writer(running.writer, plan_->tools[tool].tool_id);
    }
    const state::Patch& patch = with_.state.apply(
        event.field(event::Field::Patch), running.writer,
        {number, with_.stream.time_us(), running.record.attempt, running.origin}, &conflicts_);
    running.output.merge(patch);
    if (nulls) running.output.merge(with_.state.apply_nulls(nulls, running.writer, &conflicts_));
    return {};
}

void Execution::refuse_patch(uint32_t tool, state::Refusal refusal) {
    Running& running = *running_[tool];
    with_.stream.warn(subject_of(tool), refusal.code, refusal.message);
    if (running.refusal) return;
    running.refusal = std::move(refusal);
    if (running.done) return;
    running.try_time.stop();
    // Terminate it from the loop: the attempt is delivering this event and must not end now.
    with_.loop.defer(
        [this, tool, attempt = running.record.attempt, batch = batch_, life = lifetime_.watch()] {
            if (life.ended() || batch != batch_ || running_[tool] == nullptr) return;
            Running& its = *running_[tool];
            if (its.attempt && its.record.attempt == attempt) its.attempt->terminate();
        });
}

void Execution::take_asset(uint32_t tool, uint64_t number, const event::Event& event) {
    asset::Asset asset;
    asset.plan_id = plan_->request_id;
    asset.tool_id = plan_->tools[tool].tool_id;
    asset.asset_id = event.text(event::Field::AssetId);
    asset.kind = event.text(event::Field::Kind);
    asset.media_type = event.text(event::Field::MediaType);
    asset.path = event.text(event::Field::Path);
    if (const json::Value metadata = event.field(event::Field::Metadata)) {
        asset.metadata = metadata.raw();
    }
    asset.execution = settings_.number;
    asset.seq = number;
    asset.attempt = running_[tool]->record.attempt;
    // Without an attempt the tool acts during its start, so it is not a process in a sandbox.
    const auto& attempt = running_[tool]->attempt;
    const auto refusal =
        with_.assets.add(std::move(asset), attempt ? attempt->readable() : nullptr);
    if (!refusal) return;
    with_.stream.publish(
        event::Kind::AssetRefused, subject_of(tool),
        records::asset_refused(event.text(event::Field::AssetId), refusal->code, refusal->message));
}

}  // namespace narratoria::plan
