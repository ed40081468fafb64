// SPDX-License-Identifier: Apache-2.0
#include "script/state_prompt.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "script/number_text.hpp"
#include "script/value.hpp"

namespace narratoria::script {

namespace {

// In UTF-16 code units, like the length of an ECMAScript string.
constexpr size_t kLongest = 200;
constexpr size_t kKept = 197;

// The longest prefix of whole characters with at most `units` UTF-16 code units.
std::string_view beginning(std::string_view text, size_t units) {
    size_t at = 0;
    for (size_t used = 0; at < text.size();) {
        const auto lead = static_cast<unsigned char>(text[at]);
        used += lead >= 0xF0 ? 2 : 1;
        if (used > units) break;
        at += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    }
    return text.substr(0, at);
}

bool names_a_time(std::string_view key) {
    std::string lower(key);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower.find("time") != std::string::npos || lower.find("date") != std::string::npos;
}

// Escapes control characters like JSON, so that a tool's text cannot imitate lines of other keys.
void append_on_one_line(std::string& out, std::string_view text) {
    for (const char c : text) {
        if (c == 0x7F) {
            out += "\\u007f";
        } else if (static_cast<unsigned char>(c) >= 0x20) {
            out += c;
        } else {
            std::string quoted;
            json::append_string(quoted, {&c, 1});
            out.append(quoted, 1, quoted.size() - 2);
        }
    }
}

// Appends JSON indented by two spaces. Recursion is bounded by the depth limit of values.
void append_indented(std::string& out, const Value& value, size_t indent) {
    const bool is_empty = !value.is_block() || value.is_string() || value.block()->count == 0;
    if (is_empty) {
        append_json(out, value);
        return;
    }
    const auto line = [&](size_t spaces) { out.append(1, '\n').append(spaces, ' '); };
    const char* separator = "";
    out += value.is_list() ? '[' : '{';
    if (value.is_list()) {
        for (const Value& element : value.elements()) {
            out += separator;
            line(indent + 2);
            append_indented(out, element, indent + 2);
            separator = ",";
        }
    } else {
        for (const Member& member : value.members()) {
            out += separator;
            line(indent + 2);
            json::append_string(out, member.key.text());
            out += ": ";
            append_indented(out, member.value, indent + 2);
            separator = ",";
        }
    }
    line(indent);
    out += value.is_list() ? ']' : '}';
}

void append_default(std::string& out, std::string_view key, const Value& value) {
    if (value.is_number() && value.number() > 1e9 && value.number() < 99999999999999.0 &&
        names_a_time(key)) {
        append_number_text(out, value.number());
        std::string time = clock::to_iso8601(static_cast<int64_t>(value.number()) * 1000);
        time.erase(time.size() - 4, 3);  // microseconds
        out += " (" + time + ")";
        return;
    }
    if (!value.is_list() && !value.is_object()) {
        append_json(out, value);
        return;
    }
    std::string compact;
    append_json(compact, value);
    if (beginning(compact, kLongest).size() < compact.size()) {
        out += beginning(compact, kKept);
        out += "...";
    } else {
        append_indented(out, value, 0);
    }
}

}  // namespace

std::string format_state_for_prompt(json::Value state, const state::Metadata& metadata,
                                    bool calls_formatters) {
    std::string out;
    Limits unlimited;
    unlimited.value_bytes = unlimited.memory_bytes = 0;
    Memory memory(unlimited);
    for (const json::Member member : state.members()) {
        // Keep it alive: the formatter may replace the metadata of its own key.
        const auto known = metadata.find(member.key);
        if (!out.empty()) out += '\n';
        append_on_one_line(out, member.key);
        out += ": ";
        std::optional<std::string> formatted;
        if (calls_formatters && known && known->formatter) {
            formatted = known->formatter(member.value.raw());
        }
        if (formatted) out += *formatted;
        else append_default(out, member.key, memory.from_json(member.value));
        if (known && !known->text.empty()) {
            out += " (";
            append_on_one_line(out, known->text);
            out += ')';
        }
    }
    return out.empty() ? "No state information available." : out;
}

}  // namespace narratoria::script
