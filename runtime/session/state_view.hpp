// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state as a story's answer sees it: the session's, with what the answer has set so far. Costs
// what is read and changed, whatever the size of the state.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "base/name_index.hpp"
#include "session/text_template.hpp"
#include "state/tree.hpp"

namespace narratoria::session {

// Not thread-safe. The tree must outlive the view and must not change meanwhile.
class StateView {
public:
    explicit StateView(const state::Tree& tree) : tree_(tree) {}
    StateView(const StateView&) = delete;
    StateView& operator=(const StateView&) = delete;

    // The value at a JSON Pointer, or an empty Value. Valid as long as the view, even if the state
    // changes.
    json::Value at(std::string_view pointer) const;
    // The same for a pointer with names, such as /things/{thing}/at. Empty if a name has no text.
    json::Value at(std::string_view pointer, const NameLookup& text_of) const;
    // True if the pointer leads into a list, of which only the whole can be set.
    bool is_within_list(std::string_view pointer) const;

    // Merges a patch (RFC 7396), which must be an object.
    void merge(json::Value patch);
    // Returns one patch that does what all merged ones did; empty if there was none. They cannot be
    // put together themselves: one may write below what the one before it removed.
    std::string patch() const;

private:
    // What has changed at one place.
    struct Change {
        // The value at kWhole, or nothing if it was removed. The tree's value counts no more.
        std::optional<state::Tree> whole;
        // Otherwise: the keys of the tree's object with changes, and these.
        std::vector<std::string> keys;
        std::vector<Change> members;
        NameIndex index;

        const Change* find(std::string_view key) const;
        Change& member(std::string_view key);
    };

    void merge(Change& change, std::string& pointer, json::Value patch);
    // The change at the pointer or at the nearest place above it. `rest`: the pointer from there.
    const Change& nearest(std::string_view pointer, std::string_view& rest) const;
    std::optional<json::Type> type(std::string_view pointer) const;
    void append_patch(std::string& out, const Change& change, std::string& pointer) const;
    // The text of a value at a pointer. Returns false if there is none.
    bool read(std::string_view pointer, std::string& out) const;

    const state::Tree& tree_;
    Change changes_;
    mutable std::deque<json::Document> values_;
    mutable std::map<std::string, json::Value, std::less<>> known_;
};

}  // namespace narratoria::session
