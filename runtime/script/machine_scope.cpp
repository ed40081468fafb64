// SPDX-License-Identifier: Apache-2.0
// The variables of a script's own scope, which a run begins with and leaves.
#include <algorithm>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "script/machine.hpp"

namespace narratoria::script {

bool Machine::set_scope(std::string_view text, Error& error) {
    json::Document document;
    json::ParseError problem;
    error = {"ScopeError", "", 0, 0};
    if (has_begun_) {
        error.message = "The scope can be set only before the script begins";
        return false;
    }
    if (!document.parse(text, problem)) {
        const json::Position position = json::position_of(text, problem.byte);
        error.message = "The scope is not JSON: " + problem.message + " at line " +
                        std::to_string(position.line) + ", column " +
                        std::to_string(position.column);
        return false;
    }
    if (!document.root().is_object()) {
        error.message = "The scope must be a JSON object with the variables as members";
        return false;
    }
    const Value scope = memory_.from_json(document.root());
    if (!scope.is_defined()) {
        refuse();
        error = std::move(error_);
        error_ = {};
        state_ = State::Ready;
        return false;
    }
    error = {};
    for (const Member& member : scope.members()) {
        const auto& variables = program_->variables_;
        const auto known = std::find_if(variables.begin(), variables.end(), [&](const auto& each) {
            return string(each.name) == member.key.text();
        });
        if (known != variables.end()) {
            frame_[known->place] = member.value;
            define(static_cast<uint32_t>(known - variables.begin()));
        } else {
            order_.push_back(kExtra | static_cast<uint32_t>(extras_.size()));
            extras_.push_back({std::string(member.key.text()), member.value});
        }
    }
    return true;
}

void Machine::define(uint32_t variable) {
    if (is_defined_[variable]) return;
    is_defined_[variable] = true;
    order_.push_back(variable);
}

bool Machine::append_scope(std::string& out) const {
    // Compute the size first: values share parts, but the text repeats them.
    uint64_t bytes = 2;
    for (const uint32_t each : order_) {
        if ((each & kExtra) != 0) {
            const Extra& extra = extras_[each & ~kExtra];
            bytes += extra.name.size() + extra.value.bytes() + 4;
        } else {
            const auto& variable = program_->variables_[each];
            bytes += string(variable.name).size() + frame_[variable.place].bytes() + 4;
        }
    }
    if (bytes > value_limit(limits_)) return false;
    out += '{';
    const char* separator = "";
    for (const uint32_t each : order_) {
        out += separator;
        separator = ",";
        const bool is_extra = (each & kExtra) != 0;
        const auto& variables = program_->variables_;
        json::append_string(out, is_extra ? std::string_view(extras_[each & ~kExtra].name)
                                          : string(variables[each].name));
        out += ':';
        append_json(out, is_extra ? extras_[each & ~kExtra].value : frame_[variables[each].place]);
    }
    out += '}';
    return true;
}

Value Machine::variable(std::string_view name) const {
    for (const auto& variable : program_->variables_) {
        if (string(variable.name) == name) return frame_[variable.place];
    }
    return {};
}

}  // namespace narratoria::script
