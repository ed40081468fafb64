// SPDX-License-Identifier: Apache-2.0
#include <narratoria/tool.hpp>

namespace tool = narratoria::tool;

int main() {
    return tool::run([](const tool::Invocation&, tool::Events& events) {
        events.log(tool::Level::Info, "a tool of a stranger");
        events.done(true, "Done.");
    });
}
