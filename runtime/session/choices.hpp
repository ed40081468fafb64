// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choices that a plan offers to the player (spec 000 §4.4). The only place that decides them:
// every view shows this list, and the text of each entry is a prompt.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json/tape.hpp"
#include "event/stream.hpp"

namespace narratoria::session {

// Joins the narrative_choice events of one plan: by tool, in the order in which the tools first
// offered something, and in the order of each tool's events. A later attempt of a tool replaces what
// an earlier one offered. A text that several offer stands once, where it comes first. Empty texts,
// and entries that are not strings, are dropped. Engine thread only.
class Choices {
public:
    // A longer list helps no player; the texts beyond it are dropped.
    static constexpr size_t kMaxTexts = 1000;

    enum class Offer : uint8_t {
        Taken,    // at least one text is in the list now
        Nothing,  // a list without a text to offer
        NotAList  // the payload has another form
    };
    // Adds the payload of a narrative_choice. Sets `warning` to what was dropped, if that is the
    // tool's mistake.
    Offer add(const event::Subject& subject, json::Value payload, std::string& warning);
    void clear();

    // The list as a JSON array of strings.
    std::string json() const;
    // `payload` with the whole list as its "choices": what a view must show after this event.
    // Verbatim if it says the same already.
    std::string payload_with_all(json::Value payload) const;

private:
    struct ToolOffer {
        uint32_t attempt;
        std::vector<std::string_view> texts;  // keys of known_, as are those below
        std::unordered_set<std::string_view> known;
    };
    ToolOffer& offer_of(const event::Subject& subject);
    std::vector<std::string_view> all() const;

    std::vector<ToolOffer> offers_;
    std::unordered_map<std::string, size_t> by_tool_;  // tool id → position in offers_
    std::unordered_map<std::string, size_t> known_;    // text → the number of offers that have it
};

}  // namespace narratoria::session
