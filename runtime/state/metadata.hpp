// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is known about the keys of a session's state (spec 002 StateMetadata): a description, and a
// function that formats the value for a prompt. It is about keys, not about values: a key may have
// metadata before it has a value, and keeps it while its values change.
//
// Metadata is no part of the state: patches, the history and snapshots do not have it. A formatter
// is code of the process that registered it and cannot be stored.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::state {

struct Description {
    std::string text;  // for people and models; may be empty
    // The value, as JSON, as text for a prompt; nothing: the default form. May be empty.
    std::function<std::optional<std::string>(std::string_view value)> formatter = {};
    std::shared_ptr<void> owner = {};  // released with the description; or NULL
};

// Belongs to one session. Engine thread only. A formatter may call any function: descriptions are
// shared, so that one lives on while its formatter runs.
class Metadata {
public:
    static constexpr size_t kMaxKeys = 10'000;
    static constexpr size_t kMaxText = 4096;  // bytes of a key or a description

    // Why this must not be set, for people; empty if it may be.
    std::string refusal(std::string_view key, std::string_view text) const;
    // Replaces what is known about the key.
    void set(std::string_view key, Description description);
    void remove(std::string_view key);
    void clear();
    // NULL if nothing is known.
    std::shared_ptr<const Description> find(std::string_view key) const;

    // {"description": …, "formatter": true or false}
    static void append_json(std::string& out, const Description& description);
    // All of them by key, ordered by key.
    void append_json(std::string& out) const;

private:
    std::map<std::string, std::shared_ptr<const Description>, std::less<>> keys_;
};

}  // namespace narratoria::state
