// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choices that a plan offers to the player (spec 000 §4.4). Every view shows this list, and the
// text of each entry is a prompt.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json/tape.hpp"
#include "event/stream.hpp"

namespace narratoria::session {

// Joins the narrative_choice events of a plan, or of the plans of a turn that continue each other. Tools are in the order of their first offer, the
// texts of a tool in the order of its events. A later attempt of a tool replaces its earlier
// offers. A text is listed once, at its first position. Texts without a visible character, texts
// that are too long, and entries that are not strings are dropped. Engine thread only.
class Choices {
public:
    // Texts beyond the limit are dropped: a longer list does not help a player.
    static constexpr size_t kMaxTexts = 1000;
    // Longer texts are dropped: every front end must accept a choice as a prompt, and the page's
    // limit for a request is 1 MiB, in which each byte of the text may take six.
    static constexpr size_t kMaxBytes = 64 * 1024;

    enum class Offer : uint8_t {
        Taken,    // at least one text is in the list now
        Nothing,  // a list without a text to offer
        NotAList  // the payload does not have the expected form
    };
    // Adds the payload of a narrative_choice. Sets `warning` for a mistake of the tool: a wrong
    // form, an offer of nothing, or dropped entries. Dropping repeated texts is not a mistake.
    Offer add(const event::Subject& subject, json::Value payload, std::string& warning);
    // The offers so far are final: drop() no longer drops them, and later ones are separate.
    void keep();
    // Drops the offers since keep().
    void drop();
    void clear() {
        kept_ = 0;
        drop();
    }

    // The list as a JSON array of strings.
    std::string json() const;
    // Returns `payload` with the whole list as its "choices": a view shows this after the event.
    // Returns it verbatim if it has the same list.
    std::string payload_with_all(json::Value payload) const;

private:
    struct ToolOffer {
        uint32_t attempt;
        std::vector<std::string_view> texts;  // views of keys of known_, like those below
        std::unordered_set<std::string_view> known;
    };
    ToolOffer& offer_of(const event::Subject& subject);
    void withdraw(ToolOffer& offer);
    std::vector<std::string_view> all() const;

    std::vector<ToolOffer> offers_;
    size_t kept_ = 0;                                  // the first ones are kept
    std::unordered_map<std::string, size_t> by_tool_;  // tool id → position in offers_
    std::unordered_map<std::string, size_t> known_;    // text → number of offers that have it
};

}  // namespace narratoria::session
