// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the player chose for reading: colours, text size, lines, details. The browser keeps it for an
// address, which is another each time; this file keeps it for the next session of the same user.
//
// Nothing of a story is in it. Whatever is read or comes from a browser is checked, and written anew.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::web {

// The player's wishes as a JSON object with the known names alone; nothing if it is anything else:
// {"theme": "dark" | "light", "textSize": 0.5 to 4, "lineWidth": a word, "details": true | false}.
std::optional<std::string> checked_reading(std::string_view json);

class ReadingFile {
public:
    // `warn` is told, once each, what cannot be read or written, and that it is ignored.
    ReadingFile(std::optional<std::string> path, std::function<void(const std::string&)> warn);

    // $XDG_STATE_HOME/narratoria/reading.json, or below ~/.local/state; nothing without a home.
    static std::optional<std::string> default_path();

    // The wishes; "{}" if there are none that can be read.
    std::string read();

    // Replaces them; `json` is what checked_reading gave. False: they are not kept.
    bool write(const std::string& json);

private:
    const std::optional<std::string> path_;
    const std::function<void(const std::string&)> warn_;
    bool has_warned_of_reading_ = false;
    bool has_warned_of_writing_ = false;
};

}  // namespace narratoria::web
