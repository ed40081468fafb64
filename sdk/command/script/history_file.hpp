// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lines that were typed in earlier sessions, one a line. Several commands may append at once.

#include <optional>
#include <string>
#include <vector>

namespace narratoria::command::script {

class HistoryFile {
public:
    // $XDG_STATE_HOME/narratoria/script-history, or below ~/.local/state; without a home no history is
    // kept.
    HistoryFile();

    // The lines that were kept, oldest first. A file that became long is cut to them.
    std::vector<std::string> load();
    void append(const std::string& line);

private:
    // The first failure is told on standard error; then no history is kept.
    void fail(const std::string& why);

    std::optional<std::string> path_;
};

}  // namespace narratoria::command::script
