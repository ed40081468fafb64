// SPDX-License-Identifier: Apache-2.0
#include "base/environment.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace narratoria {
namespace {

struct Withheld {
    std::mutex mutex;
    std::vector<std::string> names;
};

Withheld& withheld() {
    static Withheld all;
    return all;
}

}  // namespace

void withhold_variable(std::string_view name) {
    if (is_withheld(name)) return;
    Withheld& all = withheld();
    const std::lock_guard lock(all.mutex);
    all.names.emplace_back(name);
}

bool is_withheld(std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    Withheld& all = withheld();
    const std::lock_guard lock(all.mutex);
    return std::find(all.names.begin(), all.names.end(), name) != all.names.end();
}

bool is_inherited(std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    static constexpr std::string_view kNames[] = {"PATH", "HOME",   "USER",       "LANG",
                                                  "TZ",   "TMPDIR", "VIRTUAL_ENV"};
    return name.substr(0, 3) == "LC_" ||
           std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void set_variable(std::vector<std::string>& environment, const std::string& variable) {
    const std::string start = variable.substr(0, variable.find('=') + 1);
    for (std::string& each : environment) {
        if (each.compare(0, start.size(), start) == 0) {
            each = variable;
            return;
        }
    }
    environment.push_back(variable);
}

}  // namespace narratoria
