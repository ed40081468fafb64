// SPDX-License-Identifier: Apache-2.0
#include "io/call_trace.hpp"

#include "io/message.hpp"
#include "json.hpp"

namespace narratoria::command {

void CallTrace::record(const Event& event) {
    const json::Document body = json::read(event.body());
    const json::Value* const traces = json::member(body, "traces");
    if (traces == nullptr || !traces->IsArray()) return;
    for (const json::Value& each : traces->GetArray()) file_.append(json::line(each));
}

}  // namespace narratoria::command
