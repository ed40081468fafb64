// SPDX-License-Identifier: Apache-2.0
#include "tool/value_check.hpp"

#include "base/json/tape.hpp"
#include "tool/runner.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::tool {

std::string check_input(const Definition& definition, std::string_view request) {
    if (definition.input == nullptr) return {};
    json::Document document;
    json::ParseError error;
    if (!document.parse(request, error, json::kDepthOfOwn) || !document.root().is_object() ||
        !document.root().find("input")) {
        return "the request has no input";
    }
    const SchemaFaults faults = definition.input->check(document.root().find("input"));
    if (faults.empty()) return {};
    return "the input violates the tool's schema: " + describe(faults, "/input");
}

void check_result(const Definition& definition, bool is_advice, Outcome& outcome) {
    if (definition.result == nullptr || !outcome.ok || outcome.result.empty()) return;
    json::Document document;
    json::ParseError error;
    std::string fault;
    if (document.parse(outcome.result, error)) {
        fault = describe(definition.result->check(document.root()), "/result");
    } else {
        fault = error.message;
    }
    if (fault.empty()) return;
    fault = "the result violates the tool's schema: " + fault;
    if (is_advice) {
        if (!outcome.warning.empty()) return;
        outcome.warning_code = "RESULT_INVALID";
        outcome.warning = std::move(fault);
        return;
    }
    outcome.ok = false;
    outcome.code = "RESULT_INVALID";
    outcome.error = std::move(fault);
}

}  // namespace narratoria::tool
