// SPDX-License-Identifier: Apache-2.0
// The state of a session, as tools, plugins and the host read and change it.
#include <utility>

#include "base/bytes/utf8.hpp"
#include "script/state_prompt.hpp"
#include "session/session.hpp"
#include "session/state_change.hpp"
#include "state/replacement.hpp"

namespace narratoria::session {

std::optional<state::Refusal> Session::patch_state(json::Value patch, std::string_view who,
                                                   json::Value nulls) {
    if (auto refusal = with_.store->refusal(patch, nulls)) return refusal;
    // The state is no longer that of the end of a replayed turn.
    if (!running_) replayed_.reset();
    // The store records the number of the event that reports the patch, so it is reserved first.
    const uint64_t number = stream_.take_number();
    const std::shared_ptr<const state::HistoryOrigin> origin =
        std::make_shared<state::HistoryOrigin>(state::HistoryOrigin{"", std::string(who)});
    const int64_t time_us = loop().wall_us();
    // A merged patch must reach the journal, so allocate first. Compacting does not enlarge it.
    std::string body;
    body.reserve(patch.raw().size() + (nulls ? nulls.raw().size() : 0) + 6 * who.size() + 64);
    const std::string_view text = with_.store->apply_host(patch, {number, time_us, 0, origin});
    json::ObjectWriter writer(body);
    writer.raw("patch", text);
    const size_t patch_end = body.size();
    if (nulls) {
        with_.store->apply_nulls(nulls);
        writer.raw("nulls", nulls.raw());
    }
    writer.string("by", who).end();
    const event::MergedPatch merged{
        std::string_view(body).substr(patch_end - text.size(), text.size()),
        nulls ? nulls.raw() : std::string_view(), who, time_us};
    stream_.publish(number, event::Kind::StatePatched, {}, body, &merged);
    return {};
}

nar_status Session::read_state(std::string_view pointer, std::string& json) {
    bool malformed = false;
    if (with_.store->tree().read(pointer, json, malformed)) return NAR_OK;
    return malformed ? NAR_INVALID_ARGUMENT : NAR_NOT_FOUND;
}

nar_status Session::patch_state(std::string_view patch, std::string_view who) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(patch, error) || !document.root().is_object()) return NAR_INVALID_DOCUMENT;
    if (const auto refusal = patch_state(document.root(), who)) {
        log(NAR_LOG_WARN,
            "plugin " + std::string(who) + ": the state patch is refused: " + refusal->message);
        return NAR_INVALID_ARGUMENT;
    }
    return NAR_OK;
}

nar_status Session::apply_patch(const state::Replacement& patch, const plugin::ApplyPatch& apply,
                                std::string_view who, std::string& why) {
    json::Document document, nulls;
    json::ParseError error;
    if (!document.parse(patch.patch, error) ||
        (!patch.nulls.empty() && !nulls.parse(patch.nulls, error))) {
        why = "the patch is not valid: " + error.message;
        return NAR_INVALID_DOCUMENT;
    }
    const json::Value root = patch.nulls.empty() ? json::Value() : nulls.root();
    // Checked here as well as where it is applied: a tool that calls a function can handle the
    // refusal, whereas a tool that prints an event is ended.
    auto refusal = with_.store->refusal(document.root(), root);
    if (!refusal && apply) return apply(patch, why);
    if (!refusal) refusal = patch_state(document.root(), who, root);
    if (!refusal) return NAR_OK;
    why = std::move(refusal->message);
    return NAR_INVALID_ARGUMENT;
}

nar_status Session::set_state(std::string_view key, std::string_view value,
                              std::optional<state::Description> metadata,
                              const plugin::ApplyPatch& apply, std::string_view who,
                              std::string& why) {
    if (destroying_) {
        why = "the session is ending";
        return NAR_GONE;
    }
    StateChange change;
    if (const auto status = read_state_change(with_.store->tree(), key, value, change, why)) {
        return status;
    }
    if (!metadata && change.description) metadata.emplace().text = std::move(*change.description);
    if (metadata) why = metadata_.refusal(key, metadata->text);
    if (!why.empty()) return NAR_INVALID_ARGUMENT;
    if (const auto status = apply_patch(change.patch, apply, who, why)) return status;
    if (metadata) metadata_.set(key, std::move(*metadata));
    else if (change.forgets) metadata_.remove(key);
    return NAR_OK;
}

nar_status Session::clear_state(const plugin::ApplyPatch& apply, std::string_view who,
                                std::string& why) {
    if (destroying_) {
        why = "the session is ending";
        return NAR_GONE;
    }
    if (!with_.store->tree().empty()) {
        state::Replacement patch;
        state::append_removal_of_all(patch.patch, with_.store->tree());
        if (const auto status = apply_patch(patch, apply, who, why)) return status;
    }
    metadata_.clear();
    return NAR_OK;
}

nar_status Session::register_state_metadata(std::string_view key,
                                            std::optional<state::Description> metadata,
                                            std::string& why) {
    if (destroying_) {
        why = "the session is ending";
        return NAR_GONE;
    }
    if (!utf8::is_valid(key)) why = "the key of the state must be UTF-8";
    else if (metadata) why = metadata_.refusal(key, metadata->text);
    if (!why.empty()) return NAR_INVALID_ARGUMENT;
    if (metadata) metadata_.set(key, std::move(*metadata));
    else metadata_.remove(key);
    if (with_.journal) with_.journal->note_change();
    return NAR_OK;
}

void Session::format_state_for_prompt(std::string& out) {
    // A copy: formatters may change the state.
    std::string text;
    with_.store->tree().append_json(text);
    json::Document document;
    json::ParseError error;
    if (!document.parse(text, error, json::kDepthOfOwn)) return;
    const bool is_outermost = !std::exchange(formatting_, true);
    out += script::format_state_for_prompt(document.root(), metadata_, is_outermost);
    if (is_outermost) formatting_ = false;
}

}  // namespace narratoria::session
