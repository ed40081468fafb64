// SPDX-License-Identifier: Apache-2.0
#pragma once
// The metadata of the keys of a session's state (spec 002 StateMetadata): a description, and a
// function that formats the value for a prompt. A key may have metadata before it has a value, and
// keeps it while its values change.
//
// Metadata is not a part of the state: patches, the history and snapshots do not contain it. A
// formatter is code of the process that registered it and cannot be stored.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::state {

struct Description {
    std::string text;  // for humans and models; may be empty
    // Formats a JSON value for a prompt. Returns nothing for the default form. May be empty.
    std::function<std::optional<std::string>(std::string_view value)> formatter = {};
    std::shared_ptr<void> owner = {};  // released with the description; may be NULL
};

// Belongs to one session. Engine thread only. A formatter may call any function: a shared pointer
// keeps its description alive while it runs.
class Metadata {
public:
    static constexpr size_t kMaxKeys = 10'000;
    static constexpr size_t kMaxText = 4096;  // bytes of a key or a description

    // Returns a message if a limit forbids this metadata; otherwise empty.
    std::string refusal(std::string_view key, std::string_view text) const;
    // Sets or replaces the metadata of a key.
    void set(std::string_view key, Description description);
    void remove(std::string_view key);
    void clear();
    // NULL if the key has no metadata.
    std::shared_ptr<const Description> find(std::string_view key) const;

    // {"description": …, "formatter": true or false}
    static void append_json(std::string& out, const Description& description);
    // Appends an object with the metadata of all keys, ordered by key.
    void append_json(std::string& out) const;

private:
    std::map<std::string, std::shared_ptr<const Description>, std::less<>> keys_;
};

}  // namespace narratoria::state
