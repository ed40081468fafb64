// SPDX-License-Identifier: Apache-2.0
// narratoria validate: checks documents against their schema and the rules.

#include "commands/validate.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/command.hpp"
#include "display.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/tools.hpp"

namespace narratoria::command {
namespace {

struct Checked {
    std::string file;
    std::string faults;  // as the library lists them
    std::string unreadable;
};

// A fault of the story that shows only when its plugins are loaded.
std::string warning(const char* file, const std::string& message, const char* rule) {
    return fmt::format(
        R"(,{{"level":"warning","file":"{}","pointer":"","message":{},"rule":"{}"}})", file,
        json::quoted(message), rule);
}

// The warnings about the plugins that could not be loaded, unless `faults` has them already.
std::string left_out(const Session& session, const std::string& faults) {
    std::string out;
    const json::Document plugins = json::read(session.plugins().view());
    for (const json::Value& plugin : plugins.GetArray()) {
        if (json::text(plugin, "state") != "refused") continue;
        const std::string reason = json::quoted(json::text(plugin, "reason"));
        if (faults.find(reason.substr(1, reason.size() - 2)) != std::string::npos) continue;
        const std::string id(json::text(plugin, "id"));
        out += warning("story.toml",
                       "the plugin " + json::quoted(id) +
                           " is left out: " + std::string(json::text(plugin, "reason")),
                       "story-plugin-refused");
    }
    return out;
}

// Loads the story's plugins to find the tools that they provide. Drops the warnings about these
// tools, and makes the warnings about the other tools definite. Adds warnings about plugins that
// cannot be loaded, and about tools of plugins that cannot be called.
std::string after_loading_plugins(const std::string& folder, const std::string& faults) {
    json::Document read = json::read(faults);
    for (const json::Value& fault : read.GetArray()) {
        // A story with faults cannot be opened, so its plugins cannot be loaded.
        if (json::text(fault, "level") != "warning") return faults;
    }
    EngineOptions options;
    options.output_mode = NAR_OUTPUT_NONE;
    options.log = [](const LogLine& line) {
        if (line.level >= NAR_LOG_WARN && line.code != "PLUGIN_LEFT_OUT") {
            complain(printable(line.message));
        }
    };
    Engine engine(options);
    Session session(engine, {.story = folder});
    std::set<std::string, std::less<>> names;
    std::set<std::string, std::less<>> script_names;
    const json::Document tools = json::read(session.tools().list().view());
    for (const json::Value& tool : tools.GetArray()) {
        names.emplace(json::text(tool, "name"));
        script_names.emplace(json::text(tool, "scriptName"));
    }
    std::string out, uncallable;
    for (const json::Value& tool : tools.GetArray()) {
        const std::string problem(json::text(tool, "problem"));
        const bool is_of_plugin =
            tool.HasMember("origin") && json::text(tool["origin"], "kind") == "plugin";
        if (is_of_plugin && !problem.empty()) {
            uncallable += warning("tools", problem, "story-tool-problem");
        }
    }
    for (json::Value& fault : read.GetArray()) {
        const std::string tool(json::text(fault, "tool"));
        if (!tool.empty()) {
            // A script's warning has no pointer.
            const bool is_of_script = json::text(fault, "pointer").empty();
            if ((is_of_script ? script_names : names).contains(tool)) continue;
            const std::string message = fmt::format(
                "{}{}: neither a file in tools/ nor a plugin of the story provides this tool",
                is_of_script ? "CALL " : "", is_of_script ? tool : json::quoted(tool));
            fault["message"].SetString(message.data(), static_cast<unsigned>(message.size()),
                                       read.GetAllocator());
            fault["rule"].SetString("story-tool-missing");
        }
        (out += out.empty() ? "" : ",") += json::line(fault);
    }
    out += left_out(session, faults) + uncallable;
    return "[" + out.substr(out.starts_with(',') ? 1 : 0) + "]";
}

bool is_folder(Document document) {
    return document == Document::Story || document == Document::Project;
}

Checked check(Document document, const std::string& what, const std::string& file,
              bool with_plugins) {
    Checked checked{file, {}, {}};
    try {
        if (is_folder(document)) {
            if (file == "-") {
                throw Refused(fmt::format(
                    "a {} is a folder; give its path instead of - (standard input)", what));
            }
            checked.faults = validate(document, file, Warnings::Listed).view();
            if (with_plugins) checked.faults = after_loading_plugins(file, checked.faults);
        } else if (document == Document::Tool && file.ends_with(".tool.json")) {
            // Not Document::Tool: this also checks that the tool's name is that of the file.
            checked.faults = validate(Document::ToolFile, file, Warnings::Listed).view();
        } else {
            checked.faults = validate(document, read_document(file, what), Warnings::Listed).view();
        }
    } catch (const Refused& refused) {
        checked.unreadable = refused.what();
    } catch (const Error& error) {
        if (error.status() == NAR_INTERNAL || error.status() == NAR_OUT_OF_MEMORY) throw;
        checked.unreadable = printable(error.message());
    }
    return checked;
}

std::string as_json(const std::vector<Checked>& all, const std::string& what, bool ok) {
    std::string out =
        fmt::format("{{\"ok\":{},\"document\":{},\"files\":[", ok, json::quoted(what));
    bool first = true;
    for (const Checked& one : all) {
        out += fmt::format("{}{{\"file\":{}", first ? "" : ",", json::quoted(one.file));
        if (one.unreadable.empty()) {
            out += fmt::format(",\"faults\":{}}}", one.faults);
        } else {
            out += fmt::format(",\"error\":{},\"faults\":[]}}", json::quoted(one.unreadable));
        }
        first = false;
    }
    return out + "]}\n";
}

}  // namespace

int run_validate(Document document, const std::string& what, const ValidateOptions& options) {
    require_standard_output("the faults");
    std::vector<Checked> all;
    std::string text;
    std::size_t fault_count = 0;
    std::size_t unreadable = 0;
    for (const std::string& file : options.files) {
        all.push_back(check(document, what, file, options.with_plugins));
        const Checked& one = all.back();
        if (!one.unreadable.empty()) {
            ++unreadable;
            complain(one.unreadable);
            continue;
        }
        const json::Document faults = json::read(one.faults);
        std::size_t own = 0;
        for (const json::Value& fault : faults.GetArray()) {
            if (options.is_strict || json::text(fault, "level") != "warning") ++own;
        }
        fault_count += own;
        for (const std::string& line : fault_lines(faults, display_path(file))) text += line + "\n";
        if (own == 0) text += fmt::format("{}: no faults\n", display_path(file));
    }
    const bool ok = fault_count == 0 && unreadable == 0;
    print_output(options.as_json ? as_json(all, what, ok) : text, "the faults");
    if (unreadable > 0) return kExitRefused;
    return ok ? kExitSuccess : kExitFailure;
}

namespace {

void add_document(Command command, Document document, const std::string& name,
                  const std::string& description, const std::string& file_description,
                  const std::string& example) {
    Command kind = command.subcommand(name, description);
    auto options = std::make_shared<ValidateOptions>();
    kind.option(is_folder(document) ? "FOLDER" : "FILE", options->files, file_description)
        .required();
    kind.flag("--json", options->as_json, "Print the faults as JSON");
    if (document == Document::Story) {
        kind.flag("--strict", options->is_strict, "Treat warnings as faults");
        kind.flag("--plugins", options->with_plugins,
                  "Also load the story's plugins, which runs their code, to find the tools they "
                  "provide and the plugins that cannot be loaded");
    }
    kind.footer(fmt::format(
        "Each fault is one line: file:line:column: JSON Pointer: message [rule]\nA warning "
        "is marked as one and is not a fault{}.\nExit status: 0 no faults, 1 faults, 2 a "
        "file cannot be read.\nExample:\n  {}",
        document == Document::Story ? ", unless --strict is given" : "", example));
    kind.action([=] { return run_validate(document, name, *options); });
}

}  // namespace

void add_validate(Command application) {
    Command command =
        application.group("validate", "Check documents against their schema and rules");
    command.footer("Example:\n  narratoria validate plan plan.json");
    add_document(command, Document::Events, "event", "The output of a tool, as NDJSON",
                 "NDJSON files; - is standard input", "./my-tool | narratoria validate event -");
    add_document(command, Document::Plan, "plan", "Plan JSON", "Files; - is standard input",
                 "narratoria validate plan plan.json");
    add_document(command, Document::Result, "result", "Execution results",
                 "Files; - is standard input",
                 "narratoria run plan.json | narratoria validate result -");
    add_document(command, Document::Tool, "tool", "Manifests of tools, NAME.tool.json",
                 "Files; - is standard input", "narratoria validate tool tools/weather.tool.json");
    add_document(command, Document::Story, "story", "Stories", "Folders with a story.toml",
                 "narratoria validate story examples/stories/torch");
    add_document(command, Document::Project, "project",
                 "Namel3ss projects: their files, and causes of failing calls on this machine",
                 "Folders with a .namel3ss folder or packs", "narratoria validate project .");
}

}  // namespace narratoria::command
