// SPDX-License-Identifier: Apache-2.0
// narratoria tool list: the tools of a story and its plugins, for people, programs and models.

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.hpp"
#include "display.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/tools.hpp"
#include "story/folder.hpp"

namespace narratoria::command {
namespace {

struct Options {
    std::string story;
    std::vector<std::string> plugins;
    std::string format;
    bool as_json = false;
};

// A form in which models take functions.
struct Format {
    std::size_t longest_name;
    bool allows_dots;
    const char* whose;
};
constexpr Format kOpenai{64, false, "an OpenAI function"};
constexpr Format kMcp{128, true, "a tool of the Model Context Protocol"};

bool allows(const Format& format, std::string_view name) {
    return !name.empty() && name.size() <= format.longest_name &&
           std::all_of(name.begin(), name.end(), [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || (c == '.' && format.allows_dots);
           });
}

// A schema in the form that both formats demand: an object with "type": "object". An input is always an
// object, so this allows no less. Empty if the schema allows no object: `why` then says so.
std::string object_schema(const json::Value* schema, std::string& why) {
    constexpr const char* kAny = R"({"type":"object"})";
    if (schema == nullptr || schema->IsTrue()) return kAny;
    if (!schema->IsObject()) {
        why = "its input schema is false, which allows no input";
        return {};
    }
    const json::Value* const type = json::member(*schema, "type");
    const auto is_object = [](const json::Value& name) { return name == "object"; };
    if (type != nullptr && type->IsArray() && std::any_of(type->Begin(), type->End(), is_object)) {
        json::Document narrowed;
        narrowed.CopyFrom(*schema, narrowed.GetAllocator());
        narrowed["type"].SetString("object");
        return json::line(narrowed);
    }
    if (type != nullptr && !is_object(*type)) {
        why = fmt::format(
            "the \"type\" of its input schema is {}; it must be \"object\", as every input is one",
            printable(json::line(*type)));
        return {};
    }
    std::string text = json::line(*schema);
    if (type == nullptr) {
        text.insert(1, schema->ObjectEmpty() ? R"("type":"object")" : R"("type":"object",)");
    }
    return text;
}

std::string as_openai(const json::Value& tool, const std::string& input) {
    return fmt::format(
        R"({{"type":"function","function":{{"name":{},"description":{},"parameters":{}}}}})",
        json::quoted(json::text(tool, "name")), json::quoted(json::text(tool, "description")),
        input);
}

std::string as_mcp(const json::Value& tool, const std::string& input) {
    std::string output;
    const json::Value* const result = json::member(tool, "resultSchema");
    // The protocol has structured results that are objects only.
    if (result != nullptr && result->IsObject() && json::text(*result, "type") == "object") {
        output = fmt::format(R"(,"outputSchema":{})", json::line(*result));
    }
    return fmt::format(R"({{"name":{},"description":{},"inputSchema":{}{}}})",
                       json::quoted(json::text(tool, "name")),
                       json::quoted(json::text(tool, "description")), input, output);
}

// Of the tools that a model can call. Each other one is told on standard error.
std::string formatted(const json::Value& tools, bool is_openai, bool& is_complete) {
    const Format& format = is_openai ? kOpenai : kMcp;
    std::string out;
    for (const json::Value& tool : tools.GetArray()) {
        const std::string_view name = json::text(tool, "name");
        const std::string_view problem = json::text(tool, "problem");
        std::string why;
        if (!problem.empty()) {
            why = fmt::format("it cannot run: {}", printable(problem));
        } else if (!allows(format, name)) {
            why = fmt::format("the name of {} has 1 to {} letters, digits, _{} and -", format.whose,
                              format.longest_name, format.allows_dots ? ", ." : "");
        }
        std::string input;
        if (why.empty()) input = object_schema(json::member(tool, "inputSchema"), why);
        if (!why.empty()) {
            complain(fmt::format("the tool {} is left out: {}", printable(name), why));
            is_complete = false;
            continue;
        }
        if (!out.empty()) out += ',';
        out += is_openai ? as_openai(tool, input) : as_mcp(tool, input);
    }
    return (is_openai ? "[" + out + "]" : R"({"tools":[)" + out + "]}") + "\n";
}

std::string shown(const json::Value& tools, const Style& style) {
    std::string out;
    for (const json::Value& tool : tools.GetArray()) {
        const json::Value& origin = *json::member(tool, "origin");
        out +=
            fmt::format("{}  {}\n", style.bold(printable(json::text(tool, "name"))),
                        style.dim(fmt::format("({}; {} {})", printable(json::text(tool, "runner")),
                                              json::text(origin, "kind"),
                                              printable(json::text(origin, "place")))));
        auto line = [&](const char* what, const std::string& text) {
            if (!text.empty()) out += fmt::format("    {}{}\n", what, printable(text));
        };
        auto value = [&](const char* what, const char* key) {
            const json::Value* const found = json::member(tool, key);
            if (found != nullptr) line(what, json::line(*found));
        };
        line("", std::string(json::text(tool, "description")));
        const std::string_view script_name = json::text(tool, "scriptName");
        if (script_name != json::text(tool, "name")) line("in scripts: ", std::string(script_name));
        value("input: ", "inputSchema");
        value("result: ", "resultSchema");
        line("target: ", std::string(json::text(tool, "target")));
        value("times: ", "times");
        value("limits: ", "limits");
        line("cannot run: ", std::string(json::text(tool, "problem")));
    }
    return out.empty() ? "there are no tools\n" : out;
}

int list(Options options) {
    struct stat status {};
    if (!options.story.empty()) {
        options.story = find_story(options.story, "tool list");
    } else if (stat("story.toml", &status) == 0) {
        options.story = ".";
    }
    if (options.as_json && !options.format.empty()) {
        throw Refused("--json and --format are two forms; give one of them");
    }
    require_standard_output("the list is written to it");
    EngineOptions engine_options;
    engine_options.output_mode = NAR_OUTPUT_NONE;
    engine_options.log = [](std::uint32_t level, std::string_view message) {
        if (level >= NAR_LOG_WARN) complain(printable(message));
    };
    Engine engine(engine_options);
    std::optional<Session> session;
    const std::vector<std::string_view> plugins(options.plugins.begin(), options.plugins.end());
    try {
        session.emplace(engine, SessionOptions{.story = options.story, .plugins = plugins});
    } catch (const Error& error) {
        refuse_document(error, shown_path(options.story), "story", "nothing was listed");
    }
    const Text text = session->tools().list();
    bool is_complete = true;
    std::string out;
    if (options.as_json) {
        out = std::string(text.view()) + "\n";
    } else {
        const json::Document tools = json::read(text);
        out = options.format.empty() ? shown(tools, Style::for_descriptor(STDOUT_FILENO))
                                     : formatted(tools, options.format == "openai", is_complete);
    }
    print_output(out, "the list");
    return is_complete ? kExitSuccess : kExitFailure;
}

}  // namespace

void add_tool_list(Command tool) {
    Command command =
        tool.subcommand("list", "List the tools of a story and its plugins, with their schemas");
    auto options = std::make_shared<Options>();
    command
        .option("--story", options->story,
                "Of this story (default: the working folder, if it has a story.toml)")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--plugin", options->plugins, "Also of this plugin: a file (with a slash) or an id")
        .type_name("PLUGIN")
        .one_value();
    command.flag("--json", options->as_json, "Print the list as JSON (narratoria/tools.h)");
    command
        .option(
            "--format", options->format,
            "Print them as a model's interface takes them: the tools of OpenAI, or of the Model "
            "Context Protocol (mcp)")
        .one_of({"openai", "mcp"});
    command.footer(
        "Exit status: 0 all tools are in the list, 1 --format left out a tool that cannot run, or\n"
        "whose name or input that form does not allow (standard error says which and why), 2 "
        "nothing\n"
        "was listed.\n"
        "Example:\n  narratoria tool list --story examples/stories/torch --format openai");
    command.action([options] { return list(*options); });
}

}  // namespace narratoria::command
