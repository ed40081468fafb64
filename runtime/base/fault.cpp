// SPDX-License-Identifier: Apache-2.0
#include "base/fault.hpp"

#include <algorithm>
#include <numeric>

#include "base/json/error.hpp"
#include "base/json/writer.hpp"

namespace narratoria {
namespace {

// Returns the positions of all faults. Visits the faults by offset, so that one scan of the text is
// enough.
std::vector<json::Position> positions_of(const Faults& faults, std::string_view text) {
    std::vector<size_t> order(faults.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return faults[a].byte < faults[b].byte; });
    std::vector<json::Position> positions(faults.size());
    json::Position at{1, 1};
    size_t byte = 0;
    for (const size_t i : order) {
        if (faults[i].line != 0 || !faults[i].has_position) {
            positions[i] = {faults[i].line, faults[i].column};
            continue;
        }
        const size_t wanted = std::min(faults[i].byte, text.size());
        const json::Position onward = json::position_of(text.substr(byte), wanted - byte);
        at = {at.line + onward.line - 1,
              onward.line == 1 ? at.column + onward.column - 1 : onward.column};
        byte = wanted;
        positions[i] = at;
    }
    return positions;
}

}  // namespace

void place_faults(Faults& faults, size_t first, std::string_view text) {
    const Faults placed(faults.begin() + static_cast<std::ptrdiff_t>(first), faults.end());
    const std::vector<json::Position> positions = positions_of(placed, text);
    for (size_t i = 0; i < positions.size(); ++i) {
        faults[first + i].line = positions[i].line;
        faults[first + i].column = positions[i].column;
    }
}

void append_faults(std::string& out, const Faults& faults, std::string_view text) {
    const std::vector<json::Position> positions = positions_of(faults, text);
    out += '[';
    for (size_t i = 0; i < faults.size(); ++i) {
        const Fault& fault = faults[i];
        if (i > 0) out += ',';
        json::ObjectWriter writer(out);
        if (!fault.file.empty()) writer.string("file", fault.file);
        if (fault.has_position) {
            writer.number("line", static_cast<int64_t>(positions[i].line));
            writer.number("column", static_cast<int64_t>(positions[i].column));
            writer.number("byte", static_cast<int64_t>(fault.byte));
        }
        writer.string("pointer", fault.pointer);
        writer.string("rule", fault.rule);
        if (fault.is_warning) writer.string("level", "warning");
        if (!fault.tool.empty()) writer.string("tool", fault.tool);
        writer.string("message", fault.message);
        writer.end();
    }
    out += ']';
}

std::string describe_faults(const Faults& faults, std::string_view text) {
    const std::vector<json::Position> positions = positions_of(faults, text);
    std::string out;
    for (size_t i = 0; i < faults.size(); ++i) {
        const Fault& fault = faults[i];
        if (!out.empty()) out += '\n';
        if (!fault.file.empty()) out += fault.file + ": ";
        if (fault.has_position) {
            out += "line " + std::to_string(positions[i].line) + ", column " +
                   std::to_string(positions[i].column) + ": ";
        }
        if (!fault.pointer.empty()) out += fault.pointer + ": ";
        out += fault.message + " [" + fault.rule + "]";
    }
    return out;
}

}  // namespace narratoria
