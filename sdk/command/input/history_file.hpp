// SPDX-License-Identifier: Apache-2.0
#pragma once
// The input history of earlier sessions, one entry per line. Several commands may append
// concurrently.

#include <optional>
#include <string>
#include <vector>

namespace narratoria::command::input {

class HistoryFile {
public:
    // Uses $XDG_STATE_HOME/narratoria/NAME; the default of the variable is ~/.local/state. Without
    // a home folder, or with an empty name, no history is saved.
    explicit HistoryFile(const std::string& name);

    // The most recent lines, oldest first. Truncates a long file to these lines.
    std::vector<std::string> load();
    void append(const std::string& line);

private:
    // Reports the first failure on standard error and saves no more history after it.
    void fail(const std::string& why);

    std::optional<std::string> path_;
};

}  // namespace narratoria::command::input
