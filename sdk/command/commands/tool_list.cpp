// SPDX-License-Identifier: Apache-2.0
// narratoria tool list: lists the tools of a story and its plugins, for people, programs and
// models.

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.hpp"
#include "commands/validate.hpp"
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

struct ToolListOptions {
    std::string story;
    std::string project;
    std::vector<std::string> plugins;
    std::string format;
    bool as_json = false;
    bool is_check = false;
};

// The tools that a model can call. Reports each omitted tool on standard error.
std::string formatted(SessionTools tools, bool is_openai, bool& is_complete) {
    const Text text = tools.for_models(is_openai ? ModelForm::Openai : ModelForm::Mcp);
    const json::Document read = json::read(text);
    for (const json::Value& each : json::member(read, "leftOut")->GetArray()) {
        complain(fmt::format("the tool {} is left out: {}", printable(json::text(each, "name")),
                             printable(json::text(each, "reason"))));
        is_complete = false;
    }
    const std::string list = json::line(*json::member(read, "tools"));
    return is_openai ? list + "\n" : R"({"tools":)" + list + "}\n";
}

// The guarantees of a tool and what requires each: a source of its project, or the story.
std::string guarantees_line(const json::Value& tool) {
    std::string line;
    auto add = [&](const json::Value& guarantees, std::string_view name, const char* source) {
        line += fmt::format("{}{}", line.empty() ? "" : ", ", name);
        const json::Value* const value = json::member(guarantees, name);
        if (value != nullptr && value->IsArray()) {
            line += fmt::format(" {}", printable(json::line(*value)));
        }
        line += fmt::format(" ({})", source);
    };
    const json::Value* const binding = json::member(tool, "binding");
    if (binding != nullptr) {
        for (const auto& [name, source] : json::member(*binding, "sources")->GetObject()) {
            add(*json::member(*binding, "guarantees"), {name.GetString(), name.GetStringLength()},
                source.GetString());
        }
    }
    if (const json::Value* const required = json::member(tool, "guarantees")) {
        for (const auto& [name, value] : required->GetObject()) {
            if (value.IsFalse()) continue;
            add(*required, {name.GetString(), name.GetStringLength()}, "story");
        }
    }
    if (line.empty() && binding != nullptr) line = "none";
    return line.empty() ? line : fmt::format("    guarantees: {}\n", line);
}

// A project's data about a tool: its source and its runner's target.
std::string binding_lines(const json::Value& binding) {
    std::string out = fmt::format("    source: {}", printable(json::text(binding, "source")));
    if (const json::Value* const pack = json::member(binding, "pack")) {
        out += fmt::format(" ({} {})", printable(json::text(*pack, "id")),
                           printable(json::text(*pack, "version")));
    }
    out += fmt::format("\n    entry: {}\n", printable(json::text(binding, "entry")));
    for (const char* key : {"url", "image"}) {
        const std::string_view value = json::text(binding, key);
        if (!value.empty()) out += fmt::format("    {}: {}\n", key, printable(value));
    }
    return out;
}

std::string formatted(const json::Value& tools, const Style& style) {
    std::string out;
    std::map<std::string_view, unsigned> uses;  // of names in scripts
    for (const json::Value& tool : tools.GetArray()) ++uses[json::text(tool, "scriptName")];
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
        if (uses[script_name] > 1) {
            line("in scripts: ", fmt::format("{}, which is also the name of a different tool, so "
                                             "scripts can call neither; rename one of them",
                                             script_name));
        } else if (script_name != json::text(tool, "name")) {
            line("in scripts: ", std::string(script_name));
        }
        value("input: ", "inputSchema");
        value("result: ", "resultSchema");
        line("target: ", std::string(json::text(tool, "target")));
        if (const json::Value* const binding = json::member(tool, "binding")) {
            out += binding_lines(*binding);
        }
        out += guarantees_line(tool);
        value("times: ", "times");
        value("limits: ", "limits");
        line("cannot run: ", std::string(json::text(tool, "problem")));
    }
    return out.empty() ? "no tools found\n" : out;
}

int list_tools(ToolListOptions options) {
    if (options.is_check) {
        if (options.project.empty()) {
            throw Refused("--check: works only with a project; give its folder with --project");
        }
        return run_validate(Document::Project, "project",
                            {{options.project}, options.as_json, false});
    }
    struct stat status {};
    if (!options.story.empty()) {
        options.story = story::find_story(options.story, "tool list");
    } else if (options.project.empty() && stat("story.toml", &status) == 0) {
        options.story = ".";
    } else if (options.project.empty() && options.plugins.empty()) {
        throw Refused(
            "there is no story.toml in the working folder; give a story: narratoria tool list "
            "--story FOLDER");
    }
    if (options.as_json && !options.format.empty()) {
        throw Refused("--json and --format cannot be used together; give one of them");
    }
    require_standard_output("the list");
    EngineOptions engine_options;
    engine_options.output_mode = NAR_OUTPUT_NONE;
    engine_options.log = [](const LogLine& line) {
        if (line.level >= NAR_LOG_WARN) complain(printable(line.message));
    };
    Engine engine(engine_options);
    std::optional<Session> session;
    const std::vector<std::string_view> plugins(options.plugins.begin(), options.plugins.end());
    try {
        session.emplace(
            engine,
            SessionOptions{.story = options.story, .plugins = plugins, .project = options.project});
    } catch (const Error& error) {
        refuse_session(error, options.story, options.project, "nothing was listed");
    }
    bool is_complete = true;
    std::string out;
    if (!options.format.empty()) {
        out = formatted(session->tools(), options.format == "openai", is_complete);
    } else {
        const Text text = session->tools().list();
        out = options.as_json ? std::string(text.view()) + "\n"
                              : formatted(json::read(text), Style::for_descriptor(STDOUT_FILENO));
    }
    print_output(out, "the list");
    return is_complete ? kExitSuccess : kExitFailure;
}

}  // namespace

void add_tool_list(Command tool) {
    Command command =
        tool.subcommand("list", "List the tools of a story and its plugins, with their schemas");
    auto options = std::make_shared<ToolListOptions>();
    command
        .option("--story", options->story,
                "List the tools of this story (default: the working folder, if it has a "
                "story.toml)")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--plugin", options->plugins,
                "Also list the tools of this plugin: a file (with a slash) or an id")
        .type_name("PLUGIN")
        .one_value();
    command
        .option("--project", options->project,
                "List the tools of this Namel3ss project, with source, runner and guarantees")
        .type_name("FOLDER")
        .not_empty();
    command.flag("--check", options->is_check,
                 "List the faults of the project instead, as validate project does");
    command.flag("--json", options->as_json, "Print the list as JSON (narratoria/tools.h)");
    command
        .option("--format", options->format,
                "Print the tools in the format of a model API: OpenAI, or the Model Context "
                "Protocol (mcp)")
        .one_of({"openai", "mcp"});
    command.footer(
        "Exit status: 0 all tools are listed, 1 --format omitted a tool that cannot run, or has "
        "a\nname or an input that the format does not allow (standard error says which and why), "
        "2 nothing\nwas listed. With --check: 0 no faults, 1 faults, 2 the folder cannot be read.\n"
        "Example:\n  narratoria tool list --story examples/stories/torch --format openai");
    command.action([options] { return list_tools(*options); });
}

}  // namespace narratoria::command
