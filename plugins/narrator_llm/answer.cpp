// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/answer.hpp"

#include <rapidjson/error/en.h>

#include <algorithm>
#include <set>
#include <utility>

#include "narrator_llm/json.hpp"

namespace narratoria::llm {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::size_t kMaxTools = 16;
constexpr std::size_t kMaxChoices = 9;
constexpr std::size_t kDeepest = 64;

std::string quoted(std::string_view text) {
    rapidjson::StringBuffer out;
    JsonWriter writer(out);
    write(writer, text);
    return {out.GetString(), out.GetSize()};
}

// Parses the first value in the text.
bool parse(std::string_view text, rapidjson::Document& document) {
    document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseStopWhenDoneFlag>(text.data(),
                                                                                       text.size());
    return !document.HasParseError();
}

std::string read_tools(const Json& given, const std::vector<std::string>& known, Answer& answer) {
    if (!given.IsArray()) return "\"tools\" must be an array";
    if (given.Size() > kMaxTools) {
        return "\"tools\" has " + std::to_string(given.Size()) + " elements; at most " +
               std::to_string(kMaxTools) + " are allowed";
    }
    for (const Json& each : given.GetArray()) {
        if (!each.IsObject()) return "each element of \"tools\" must be an object";
        const Json* const tool = member(&each, "tool");
        if (tool == nullptr || !tool->IsString()) {
            return "each element of \"tools\" must have \"tool\", the name of a tool";
        }
        if (std::find(known.begin(), known.end(), view(*tool)) == known.end()) {
            std::string names;
            for (const std::string& name : known) (names += names.empty() ? "" : ", ") += name;
            return "there is no tool " + quoted(view(*tool)) +
                   (known.empty() ? "; no tool can be used now" : "; there are " + names);
        }
        const Json* const input = member(&each, "input");
        if (input != nullptr && !input->IsObject()) {
            return "\"input\" of the tool " + quoted(view(*tool)) + " must be an object";
        }
        answer.tools.push_back(
            {std::string(view(*tool)), input == nullptr ? "{}" : to_text(*input)});
    }
    return {};
}

// True if the first value of a JSON text is nested too deeply. Values are copied recursively, and
// completing them takes time that is quadratic in the depth.
bool is_too_deep(std::string_view json) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t at = 0; at < json.size(); ++at) {
        const char byte = json[at];
        if (byte == '"') in_string = !in_string;
        if (in_string) {
            if (byte == '\\') ++at;
        } else if (byte == '{' || byte == '[') {
            if (++depth > kDeepest) return true;
        } else if (byte == '}' || byte == ']') {
            if (--depth == 0) return false;
        }
    }
    return false;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
    return text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
}

std::string_view without_thoughts(std::string_view text) {
    constexpr std::string_view kBegin = "<think>";
    constexpr std::string_view kEnd = "</think>";
    const std::string_view rest =
        text.substr(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
    if (rest.empty() || !rest.substr(0, kBegin.size()).starts_with(kBegin.substr(0, rest.size()))) {
        return text;
    }
    const std::size_t end = rest.find(kEnd);
    return end == std::string_view::npos ? std::string_view() : rest.substr(end + kEnd.size());
}

std::size_t find_object(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kWhiteSpace);
    // In a fence or an array, or without a word before it, a brace begins the object.
    const bool is_json = begin != std::string_view::npos &&
                         std::string_view("{[`").find(text[begin]) != std::string_view::npos;
    std::size_t at = text.find('{');
    for (; at != std::string_view::npos && !is_json; at = text.find('{', at + 1)) {
        const std::size_t next = text.find_first_not_of(kWhiteSpace, at + 1);
        if (next != std::string_view::npos && text[next] == '"') break;
    }
    return at;
}

std::string read_answer(std::string_view text, const std::vector<std::string>& tools,
                        Answer& answer) {
    answer = {};
    text = trimmed(without_thoughts(text));
    if (text.empty()) return "it is empty";
    const std::size_t brace = find_object(text);
    if (brace == std::string_view::npos) {
        answer.narrative = text;
        return {};
    }
    const std::string_view json = text.substr(brace);
    if (is_too_deep(json)) return "its values are nested too deeply";
    rapidjson::Document document;
    if (!parse(json, document)) {
        const std::size_t at = document.GetErrorOffset();
        const std::string why = rapidjson::GetParseError_En(document.GetParseError());
        const std::string whole = completed(json);
        if (whole.empty()) return "it was cut off within \"tools\"; write a shorter answer";
        if (!parse(whole, document)) {
            return "it is not valid JSON: " + why + " (at byte " + std::to_string(at) +
                   " of the object)";
        }
    }
    if (!document.IsObject()) return "it is not a JSON object";
    const Json* const narrative = member(&document, "narrative");
    if (narrative != nullptr && !narrative->IsString()) return "\"narrative\" must be a string";
    if (narrative != nullptr) answer.narrative = trimmed(view(*narrative));
    if (const Json* const given = member(&document, "tools")) {
        if (std::string fault = read_tools(*given, tools, answer); !fault.empty()) return fault;
    }
    if (const Json* const given = member(&document, "choices")) {
        if (!given->IsArray()) return "\"choices\" must be an array of strings";
        for (const Json& each : given->GetArray()) {
            if (!each.IsString()) return "each of \"choices\" must be a string";
            const std::string_view choice = trimmed(view(each));
            if (!choice.empty() && answer.choices.size() < kMaxChoices) {
                answer.choices.emplace_back(choice);
            }
        }
    }
    if (answer.narrative.empty() && answer.tools.empty()) {
        return "it has neither a \"narrative\" nor \"tools\"";
    }
    return is_utf8(to_json(answer)) ? "" : "it has half of a surrogate pair (\"\\uD800\")";
}

std::string completed(std::string_view json) {
    std::string closers;
    // The end of the part that is certain, and what closes it.
    std::size_t good = 0;
    std::string good_closers;
    bool in_string = false;
    bool is_escape = false;
    bool is_value = false;      // the string is a value, not a name
    bool is_narrative = false;  // the string is the narrative
    std::size_t string_begin = 0;
    std::size_t escape = 0;  // where the last escape sequence of the text begins
    std::size_t escape_before = 0;
    std::string name;  // of the member of the answer
    for (std::size_t at = 0; at < json.size(); ++at) {
        const char byte = json[at];
        if (in_string) {
            if (is_escape) {
                is_escape = false;
            } else if (byte == '\\') {
                is_escape = true;
                escape_before = std::exchange(escape, at);
            } else if (byte == '"') {
                in_string = false;
                if (!is_value && closers == "}")
                    name = json.substr(string_begin, at - string_begin);
                if (is_value) {
                    good = at + 1;
                    good_closers = closers;
                }
            }
            continue;
        }
        switch (byte) {
            case '"':
                in_string = true;
                string_begin = at + 1;
                is_value = closers.starts_with(']') ||
                           (at > 0 && trimmed(json.substr(0, at)).ends_with(':'));
                is_narrative = is_value && closers == "}" && name == "narrative";
                break;
            case '{':
            case '[':
                closers.insert(closers.begin(), byte == '{' ? '}' : ']');
                good = at + 1;
                good_closers = closers;
                break;
            case '}':
            case ']':
                if (!closers.empty()) closers.erase(closers.begin());
                good = at + 1;
                good_closers = closers;
                break;
            case ',':
                good = at;
                good_closers = closers;
                break;
            default: break;
        }
    }
    if (closers.size() > 1 && name == "tools") return {};
    if (in_string && is_narrative) {
        std::string_view text = json;
        // A cut escape sequence is dropped, and the first half of a surrogate pair (\uD800 to \uDBFF).
        if (escape > 0 &&
            (is_escape || (text.substr(escape).starts_with("\\u") && text.size() - escape < 6))) {
            text = text.substr(0, escape);
            escape = escape_before;
        }
        const std::string_view last = text.substr(std::min(escape, text.size()));
        if (last.size() == 6 && (last.starts_with("\\ud") || last.starts_with("\\uD")) &&
            std::string_view("89abAB").find(last[3]) != std::string_view::npos) {
            text.remove_suffix(last.size());
        }
        return std::string(text) + '"' + closers;
    }
    return std::string(json.substr(0, good)) + good_closers;
}

std::string to_json(const Answer& answer) {
    rapidjson::StringBuffer out;
    JsonWriter writer(out);
    writer.StartObject();
    writer.Key("narrative");
    write(writer, answer.narrative);
    writer.Key("tools");
    writer.StartArray();
    for (const Answer::ToolUse& each : answer.tools) {
        writer.StartObject();
        writer.Key("tool");
        write(writer, each.tool);
        writer.Key("input");
        writer.RawValue(each.input.data(), each.input.size(), rapidjson::kObjectType);
        writer.EndObject();
    }
    writer.EndArray();
    writer.Key("choices");
    writer.StartArray();
    for (const std::string& each : answer.choices) write(writer, each);
    writer.EndArray();
    writer.EndObject();
    return {out.GetString(), out.GetSize()};
}

std::string to_plan(const Answer& answer, std::string_view request_id, bool continues,
                    std::string_view metadata) {
    rapidjson::StringBuffer out;
    JsonWriter writer(out);
    writer.StartObject();
    writer.Key("requestId");
    write(writer, request_id);
    writer.Key("narrative");
    write(writer, answer.narrative);
    writer.Key("tools");
    writer.StartArray();
    std::set<std::string> ids;
    for (const Answer::ToolUse& each : answer.tools) {
        std::string id = each.tool;
        for (int count = 2; !ids.insert(id).second; ++count) {
            id = each.tool + "-" + std::to_string(count);
        }
        writer.StartObject();
        writer.Key("toolId");
        write(writer, id);
        writer.Key("toolPath");
        write(writer, each.tool);
        writer.Key("input");
        writer.RawValue(each.input.data(), each.input.size(), rapidjson::kObjectType);
        writer.Key("dependencies");
        writer.StartArray();
        writer.EndArray();
        // A tool that refuses its input would refuse it again, and the model is asked to go on.
        writer.Key("retryPolicy");
        writer.StartObject();
        writer.Key("maxRetries");
        writer.Uint(0);
        writer.EndObject();
        writer.EndObject();
    }
    writer.EndArray();
    if (continues) {
        writer.Key("continue");
        writer.Bool(true);
    }
    if (!answer.choices.empty()) {
        writer.Key("choices");
        writer.StartArray();
        for (const std::string& each : answer.choices) write(writer, each);
        writer.EndArray();
    }
    if (!metadata.empty()) {
        writer.Key("metadata");
        writer.RawValue(metadata.data(), metadata.size(), rapidjson::kObjectType);
    }
    writer.EndObject();
    return {out.GetString(), out.GetSize()};
}

}  // namespace narratoria::llm
