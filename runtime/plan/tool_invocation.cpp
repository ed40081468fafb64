// SPDX-License-Identifier: Apache-2.0
#include "plan/tool_invocation.hpp"

#include "base/json/writer.hpp"
#include "plan/plan.hpp"

namespace narratoria::plan {
namespace {

std::string describe(const Faults& faults) {
    std::string out;
    for (const Fault& fault : faults) {
        if (!out.empty()) out += "; ";
        if (!fault.pointer.empty()) (out += fault.pointer) += ": ";
        out += fault.message;
    }
    return out;
}

}  // namespace

bool parse(std::string_view text, ToolInvocation& invocation, std::string& why) {
    Plan reader;
    json::ParseError error;
    if (!reader.document_.parse(text, error)) {
        why = "the invocation is not valid JSON: " + error.message;
        return false;
    }
    const json::Value root = reader.document_.root();
    if (!root.is_object()) {
        why = std::string("the invocation must be a JSON object, not ") +
              json::type_name(root.type());
        return false;
    }
    const json::Value path = root.find("tool");
    if (!path || !path.is_string() || path.text().empty()) {
        why = "/tool: \"tool\" must name a tool, like toolPath in a plan";
        return false;
    }
    if (path.text().find('\0') != std::string_view::npos) {
        why = "/tool: \"tool\" contains a NUL character";
        return false;
    }
    if (const json::Value value = root.find("line")) {
        const std::optional<int64_t> line = value.integer();
        if (!line || *line < 1 || *line > UINT32_MAX) {
            why = "/line: \"line\" must be a whole number from 1";
            return false;
        }
        invocation.line = static_cast<uint32_t>(*line);
    }
    Tool tool;
    tool.max_retries = invocation.max_retries;
    Faults faults;
    reader.read_members({root.find("input"), root.find("retryPolicy"), root.find("timeoutMs"),
                         root.find("environment")},
                        tool, faults);
    if (!faults.empty()) {
        why = describe(faults);
        return false;
    }
    invocation.tool_path = path.text();
    invocation.input.clear();
    json::append_compact(invocation.input, tool.input);
    invocation.operation = tool.operation;
    if (tool.environment) {
        invocation.environment = std::make_unique<json::Document>();
        invocation.environment->parse(tool.environment.raw(), error);
    }
    invocation.try_ms = tool.try_ms;
    invocation.max_retries = tool.max_retries;
    invocation.backoff_ms = tool.backoff_ms;
    return true;
}

}  // namespace narratoria::plan
