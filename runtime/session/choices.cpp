// SPDX-License-Identifier: Apache-2.0
#include "session/choices.hpp"

#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"

namespace narratoria::session {
namespace {

void append_list(std::string& out, const std::vector<std::string_view>& texts) {
    out += '[';
    for (size_t i = 0; i < texts.size(); ++i) {
        if (i > 0) out += ',';
        json::append_string(out, texts[i]);
    }
    out += ']';
}

std::string what_was_dropped(size_t blank, size_t too_long, size_t others, size_t beyond) {
    std::string out;
    const auto add = [&](size_t count, const char* what) {
        if (count == 0) return;
        out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + what;
    };
    add(blank, "empty");
    add(too_long, "longer than 64 KiB");
    add(others, "not a string");
    add(beyond, "beyond the first 1000");
    return out;
}

}  // namespace

Choices::Offer Choices::add(const event::Subject& subject, json::Value payload,
                            std::string& warning) {
    const json::Value list =
        payload && payload.is_object() ? payload.find("choices") : json::Value();
    if (!list || !list.is_array()) {
        warning = "narrative_choice has no array \"choices\"; nothing is offered to the player";
        return Offer::NotAList;
    }
    ToolOffer& offer = offer_of(subject);
    size_t blank = 0, too_long = 0, others = 0, beyond = 0, texts = 0;
    for (const json::Value choice : list.elements()) {
        if (!choice.is_string()) {
            ++others;
        } else if (utf8::is_blank(choice.text())) {
            ++blank;
        } else if (choice.text().size() > kMaxBytes) {
            ++too_long;
        } else {
            ++texts;
            if (offer.known.contains(choice.text())) continue;
            std::string text(choice.text());
            if (known_.size() == kMaxTexts && !known_.contains(text)) {
                ++beyond;
                continue;
            }
            const auto known = known_.try_emplace(std::move(text), 0).first;
            ++known->second;
            offer.texts.push_back(known->first);
            offer.known.insert(known->first);
        }
    }
    const std::string dropped = what_was_dropped(blank, too_long, others, beyond);
    if (texts > 0) {
        if (!dropped.empty()) {
            warning = "some choices of a narrative_choice are not offered: " + dropped;
        }
        return Offer::Taken;
    }
    warning = "narrative_choice offers nothing to the player: " +
              (dropped.empty() ? "its list of choices is empty" : dropped);
    return others > 0 ? Offer::NotAList : Offer::Nothing;
}

void Choices::keep() {
    kept_ = offers_.size();
    by_tool_.clear();
}

void Choices::drop() {
    for (; offers_.size() > kept_; offers_.pop_back()) withdraw(offers_.back());
    by_tool_.clear();
}

void Choices::withdraw(ToolOffer& offer) {
    offer.known.clear();
    for (const std::string_view text : offer.texts) {
        const auto known = known_.find(std::string(text));
        if (--known->second == 0) known_.erase(known);
    }
    offer.texts.clear();
}

// Returns the offer of a tool's attempt. Clears the offer of an earlier attempt.
Choices::ToolOffer& Choices::offer_of(const event::Subject& subject) {
    const auto [found, is_new] = by_tool_.try_emplace(std::string(subject.tool_id), offers_.size());
    if (is_new) return offers_.emplace_back(ToolOffer{subject.attempt, {}, {}});
    ToolOffer& offer = offers_[found->second];
    if (offer.attempt != subject.attempt) {
        offer.attempt = subject.attempt;
        withdraw(offer);
    }
    return offer;
}

std::vector<std::string_view> Choices::all() const {
    std::vector<std::string_view> out;
    out.reserve(known_.size());
    std::unordered_set<std::string_view> listed;
    for (const ToolOffer& offer : offers_) {
        for (const std::string_view text : offer.texts) {
            if (listed.insert(text).second) out.push_back(text);
        }
    }
    return out;
}

std::string Choices::json() const {
    std::string out;
    append_list(out, all());
    return out;
}

std::string Choices::payload_with_all(json::Value payload) const {
    const std::vector<std::string_view> texts = all();
    const json::Value list = payload.find("choices");
    size_t position = 0;
    bool same = true;
    for (const json::Value choice : list.elements()) {
        same = same && choice.is_string() && position < texts.size() &&
               choice.text() == texts[position];
        ++position;
    }
    if (same && position == texts.size()) return std::string(payload.raw());
    std::string out;
    json::ObjectWriter writer(out);
    for (const json::Member member : payload.members()) {
        if (member.key != "choices") writer.raw(member.key, member.value.raw());
    }
    writer.key("choices");
    append_list(out, texts);
    writer.end();
    return out;
}

}  // namespace narratoria::session
