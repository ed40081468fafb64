// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/runner.hpp"

#include "tool/input_check.hpp"

namespace narratoria::tool {

bool is_permanent(std::string_view code) {
    return code == "INPUT_INVALID" || code == "GUARANTEE_UNAVAILABLE" || code == "PATCH_TOO_LARGE";
}

std::unique_ptr<Attempt> Runner::start(const Invocation& invocation, AttemptListener& listener,
                                       StartFailure& failure) {
    if (!invocation.definition->input_schema.empty()) {
        failure.message = check_input(invocation.definition->input_schema, invocation.request);
        if (!failure.message.empty()) {
            failure.code = "INPUT_INVALID";
            return nullptr;
        }
    }
    return begin(invocation, listener, failure);
}

}  // namespace narratoria::tool
