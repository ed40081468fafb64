// SPDX-License-Identifier: Apache-2.0
#include "base/fault.hpp"

#include "base/json.hpp"

namespace narratoria {

void append_faults(std::string& out, const Faults& faults, std::string_view text) {
    out += '[';
    for (size_t i = 0; i < faults.size(); ++i) {
        const Fault& fault = faults[i];
        const json::Position position = json::position_of(text, fault.byte);
        if (i > 0) out += ',';
        json::ObjectWriter writer(out);
        if (!fault.file.empty()) writer.string("file", fault.file);
        writer.number("line", static_cast<int64_t>(position.line));
        writer.number("column", static_cast<int64_t>(position.column));
        writer.number("byte", static_cast<int64_t>(fault.byte));
        writer.string("pointer", fault.pointer);
        writer.string("rule", fault.rule);
        writer.string("message", fault.message);
        writer.end();
    }
    out += ']';
}

std::string describe_faults(const Faults& faults, std::string_view text) {
    std::string out;
    for (const Fault& fault : faults) {
        const json::Position position = json::position_of(text, fault.byte);
        if (!out.empty()) out += '\n';
        if (!fault.file.empty()) out += fault.file + ": ";
        out += "line " + std::to_string(position.line) + ", column " +
               std::to_string(position.column) + ": ";
        if (!fault.pointer.empty()) out += fault.pointer + ": ";
        out += fault.message + " [" + fault.rule + "]";
    }
    return out;
}

}  // namespace narratoria
