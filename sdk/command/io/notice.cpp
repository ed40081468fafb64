// SPDX-License-Identifier: Apache-2.0
#include "io/notice.hpp"

#include <fmt/core.h>

#include "display.hpp"
#include "json.hpp"

namespace narratoria::command {
namespace {

std::string of_log(const Event& event, const Style& style) {
    // Most logs are info or debug: skip these without parsing.
    const std::string_view text = event.body();
    if (text.find("\"warn\"") == std::string_view::npos &&
        text.find("\"error\"") == std::string_view::npos &&
        text.find('\\') == std::string_view::npos) {
        return {};
    }
    const json::Document body = json::read(text);
    const std::string_view level = json::text(body, "level");
    if (level != "warn" && level != "error") return {};
    const std::string line =
        fmt::format("{}: {}: {}", printable(event.tool_id()), level == "warn" ? "warning" : "error",
                    one_line(body, "message"));
    return level == "warn" ? style.yellow(line) : style.red(line);
}

std::string of_conflict(const json::Value& body) {
    std::string tools;
    if (const json::Value* list = json::member(body, "tools"); list && list->IsArray()) {
        for (const json::Value& tool : list->GetArray()) {
            if (!tool.IsString()) continue;
            if (!tools.empty()) tools += " and ";
            tools += printable({tool.GetString(), tool.GetStringLength()});
        }
    }
    return fmt::format("warning: {} wrote {} at the same time; the later value is kept", tools,
                       one_line(body, "path"));
}

}  // namespace

std::string one_line(const json::Value& value, std::string_view name) {
    return printable(json::text(value, name));
}

std::uint32_t notice_kinds() noexcept {
    return kinds(Kind::ToolEvent, Kind::AssetRefused, Kind::StateConflict, Kind::Warning);
}

std::string notice_of(const Event& event, const Style& style) {
    if (event.kind() == Kind::ToolEvent && event.type() == Type::Log) return of_log(event, style);
    const std::string name = printable(event.tool_id());
    switch (event.kind()) {
        case Kind::ToolEvent: {
            if (event.type() != Type::Error) return {};
            const json::Document body = json::read(event.body());
            return style.red(fmt::format("{}: error: {}: {}", name, one_line(body, "errorCode"),
                                         one_line(body, "errorMessage")));
        }
        case Kind::AssetRefused: {
            const json::Document body = json::read(event.body());
            return style.yellow(fmt::format("{}: asset {} was refused: {}: {}", name,
                                            one_line(body, "assetId"), one_line(body, "code"),
                                            one_line(body, "message")));
        }
        case Kind::StateConflict: return style.yellow(of_conflict(json::read(event.body())));
        case Kind::Warning:
            return style.yellow(fmt::format("warning: {}{}{}", name, name.empty() ? "" : ": ",
                                            one_line(json::read(event.body()), "message")));
        default: return {};
    }
}

}  // namespace narratoria::command
