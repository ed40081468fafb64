// SPDX-License-Identifier: Apache-2.0
#include "arguments/json_object.hpp"

#include <fmt/core.h>

#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"

namespace narratoria::command {

std::string file_of_object(const std::string& given) {
    if (given == "-") return given;
    return given.starts_with('@') ? given.substr(1) : std::string();
}

std::string read_object(const ObjectOption& option, const std::optional<std::string>& given) {
    if (!given) return "{}";
    if (given->empty()) {
        throw Refused(fmt::format(
            "{}: the value is empty; give one JSON object, for example '{}', or omit the option",
            option.name, option.example));
    }
    std::string text = *given;
    std::string shown(option.name);
    if (*given == "-" || given->starts_with('@')) {
        const std::string file = file_of_object(*given);
        text = read_document(file, fmt::format("value of {}", option.name));
        shown = display_path(file);
        if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    }
    if (const std::optional<json::ObjectError> error = json::object_error(text)) {
        throw Refused(fmt::format(
            "{}:{}:{}: {}; give {} as one JSON object, for example '{}', as @FILE, or as - for "
            "standard input",
            shown, error->line, error->column, error->message, option.is, option.example));
    }
    return text;
}

}  // namespace narratoria::command
