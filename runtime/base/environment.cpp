// SPDX-License-Identifier: Apache-2.0
#include "base/environment.hpp"

namespace narratoria {

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
