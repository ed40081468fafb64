// SPDX-License-Identifier: Apache-2.0
// The trial in a session of the runtime, which refuses with its own code what the fake host does not
// judge: flags, the numbers and lengths of names, schemas, ids that belong to the runtime.
#include <fmt/core.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

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
    // The runtime logs how the settings violate the schema in the metadata.
    const std::string subject = fmt::format("[plugins.\"{}\"]: ", metadata.id);
    std::vector<std::string> violations;
    options.log = [&](const LogLine& line) {
        if (line.message.starts_with(subject)) {
            violations.emplace_back(line.message.substr(subject.size()));
        }
    };
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
    for (const std::string& violation : violations) {
        report.add_warning(
            "P17", fmt::format("its schema of the settings refuses {}: {}", settings, violation));
    }
}

}  // namespace narratoria::command::plugin_check
