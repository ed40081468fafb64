// SPDX-License-Identifier: Apache-2.0
#pragma once
// The player's settings for reading: colours, text size, line length, details. The browser stores
// them per address, which changes with each start; this file keeps them for the user's next
// session.
//
// The file contains nothing of a story. Input from the file or a browser is validated and
// re-encoded.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace narratoria::web {

// Validates the settings and re-encodes them. Each member may be missing:
// {"theme": "dark" | "light", "textSize": 0.5 to 4, "lineWidth": a word, "details": true | false}.
// Nothing if the text is anything else, for example has an unknown member.
std::optional<std::string> checked_reading(std::string_view json);

class ReadingFile {
public:
    // Calls `warn` for the first failure to read and the first failure to write.
    ReadingFile(std::optional<std::string> path, std::function<void(const std::string&)> warn);

    // $XDG_STATE_HOME/narratoria/reading.json, by default in ~/.local/state. Nothing if neither
    // XDG_STATE_HOME nor HOME is an absolute path.
    static std::optional<std::string> default_path();

    // The stored settings, or "{}" if there are none or the file is invalid.
    std::string read();

    // Replaces the stored settings by `json`, a result of checked_reading(). False on failure.
    bool write(const std::string& json);

private:
    const std::optional<std::string> path_;
    const std::function<void(const std::string&)> warn_;
    bool has_warned_of_reading_ = false;
    bool has_warned_of_writing_ = false;
};

}  // namespace narratoria::web
