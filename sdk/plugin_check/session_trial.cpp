// SPDX-License-Identifier: Apache-2.0
// The trial in a session of the runtime, which refuses with its own code what the fake host does not
// judge: flags, the numbers and lengths of names, schemas, ids that belong to the runtime.
#include <fmt/core.h>

#include <array>
#include <string>
#include <string_view>

#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/session.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command::plugin_check {

void try_session(TrialReport& report, const std::string& path, const PluginMetadata& metadata,
                 const std::string& settings, const std::string& folder) {
    EngineOptions options;
    options.output = folder;
    Engine engine(options);
    report.begin_call({}, "a session of the runtime");
    {
        const std::array<std::string_view, 1> plugins{path};
        const std::string all_settings =
            fmt::format("{{{}:{}}}", json::quoted(metadata.id), settings);
        SessionOptions session_options;
        session_options.plugins = plugins;
        session_options.plugin_settings = all_settings;
        const Session session(engine, session_options);
        const json::Document list = json::read(session.plugins().view());
        if (list.Empty()) report.add_finding("P16", "the runtime does not find it");
        for (const json::Value& one : list.GetArray()) {
            if (json::text(one, "state") == "active") continue;
            report.add_finding(
                "P16", fmt::format("the runtime leaves it out: {}", json::text(one, "reason")));
        }
    }
    report.end_call();
}

}  // namespace narratoria::command::plugin_check
