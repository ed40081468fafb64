// SPDX-License-Identifier: Apache-2.0
#include "tool_check/manifest_check.hpp"

#include <fmt/core.h>

#include <utility>

#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/tools.hpp"

namespace narratoria::command::tool_check {
namespace {

namespace json = terminal::json;

// Must not be the name of a file in the working folder: the name would be ambiguous.
constexpr const char* kName = "narratoria-tool-check";

EngineOptions silent() {
    EngineOptions options;
    options.output_mode = NAR_OUTPUT_NONE;
    options.log = [](const LogLine&) {};
    return options;
}

}  // namespace

ManifestCheck::ManifestCheck(const std::string& path) {
    Engine engine(silent());
    Session session(engine);
    try {
        session.tools().add_path({.name = kName}, path);
    } catch (const Error& error) {
        if (error.code() != "TOOL_MANIFEST") throw;
        problem_ = error.message();
        return;
    }
    const std::optional<Text> found = session.tools().find(kName);
    if (!found) return;
    const json::Document tool = json::read(found->view());
    if (const json::Value* const schema = json::member(tool, "resultSchema")) {
        result_schema_ = json::line(*schema);
    }
}

// The library checks a result when a tool ends. So run a function tool that returns this result.
std::string ManifestCheck::fault_of(const std::string& result) const {
    Engine engine(silent());
    Session session(engine);
    session.tools().add({.name = kName, .result_schema = *result_schema_},
                        [&](const plugin::InvocationRequest&,
                            const plugin::Invocation& invocation) { invocation.result(result); });
    std::string fault;
    session.execute(fmt::format(R"({{"requestId":"{}","tools":[{{"toolId":"{}","toolPath":"{}",)"
                                R"("retryPolicy":{{"maxRetries":0}}}}]}})",
                                make_uuid(), kName, kName),
                    {}, [&](const Result& ended) {
                        const json::Document read = json::read(ended.json().view());
                        const json::Value* const tools = json::member(read, "toolResults");
                        if (tools == nullptr || !tools->IsArray() || tools->Empty()) return;
                        fault = json::text((*tools)[0], "error");
                    });
    engine.run_until_idle();
    return fault;
}

}  // namespace narratoria::command::tool_check
