// SPDX-License-Identifier: Apache-2.0
// narratoria plugin list: lists the available plugins and those that a story would load.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands/plugin_command.hpp"
#include "display.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/plugins.h"

namespace narratoria::command {
namespace {

struct PluginListOptions {
    std::string story;
    std::vector<std::string> plugins;
    std::string narrator;
    bool explain = false;
    bool as_json = false;
};

Text search(const PluginListOptions& options) {
    std::vector<nar_str> listed;
    for (const std::string& plugin : options.plugins) listed.push_back(detail::to_c(plugin));
    if (!options.narrator.empty() && options.narrator != "template") {
        listed.push_back(detail::to_c(options.narrator));
    }
    nar_text* text = nullptr;
    try {
        detail::Check check;
        check(nar_plugins_search(detail::to_c(options.story), listed.data(), listed.size(), &text,
                                 check.details()));
    } catch (const Error& error) {
        refuse_document(error, display_path(options.story), "story", "nothing was searched");
    }
    return Text(text);
}

std::string verdict_text(const json::Value& file) {
    const std::string_view verdict = json::text(file, "verdict");
    std::string out(verdict);
    if (verdict == "available") out = "not requested";
    if (const std::string_view reason = json::text(file, "reason"); !reason.empty()) {
        out += fmt::format(": {}", printable(reason));
    }
    return out;
}

std::string explained(const json::Value& found, const Style& style) {
    std::string out;
    const json::Value* safe = json::member(found, "safeMode");
    if (safe != nullptr && safe->IsTrue()) {
        out +=
            "NARRATORIA_SAFE_MODE is set: only plugins listed by path and installed plugins are "
            "loaded\n";
    }
    for (const json::Value& place : json::member(found, "places")->GetArray()) {
        const json::Value& files = *json::member(place, "files");
        const std::string folder = printable(json::text(place, "folder"));
        if (folder.empty() && files.Empty()) continue;
        const json::Value* exists = json::member(place, "exists");
        out += fmt::format("{} {}{}\n", style.bold(folder.empty() ? "listed" : folder),
                           style.dim(fmt::format("({})", printable(json::text(place, "from")))),
                           exists->IsFalse() ? ": does not exist"
                           : files.Empty()   ? ": nothing to list"
                                             : "");
        for (const json::Value& file : files.GetArray()) {
            const std::string_view path = json::text(file, "path");
            const std::string name =
                folder.empty() ? printable(path) : printable(path.substr(path.rfind('/') + 1));
            const std::string id = printable(json::text(file, "id"));
            out += fmt::format(
                "    {}{}: {}\n", name,
                id.empty() ? ""
                           : fmt::format(" ({} {})", id, printable(json::text(file, "version"))),
                verdict_text(file));
        }
    }
    for (const json::Value& missing : json::member(found, "missing")->GetArray()) {
        // A requested plugin with a slash is a file, which is already listed above with the same
        // reason.
        if (json::text(missing, "requested").find('/') != std::string_view::npos) continue;
        out += fmt::format("{}: {}\n", style.bold(printable(json::text(missing, "requested"))),
                           printable(json::text(missing, "reason")));
    }
    return out;
}

std::string listed(const json::Value& found, const Style& style) {
    std::string out;
    for (const json::Value& place : json::member(found, "places")->GetArray()) {
        for (const json::Value& file : json::member(place, "files")->GetArray()) {
            const std::string_view id = json::text(file, "id");
            if (id.empty()) continue;
            out += fmt::format(
                "{} {}  {}  {}\n", style.bold(printable(id)),
                printable(json::text(file, "version")), printable(json::text(file, "name")),
                style.dim(fmt::format("({}; {})", printable(json::text(file, "path")),
                                      verdict_text(file))));
        }
    }
    return out;
}

int list_plugins(PluginListOptions options) {
    struct stat status {};
    if (options.story.empty() && stat("story.toml", &status) == 0) options.story = ".";
    require_standard_output("the list");
    const Text text = search(options);
    const Style style = Style::for_descriptor(STDOUT_FILENO);
    std::string out;
    if (options.as_json) {
        out = std::string(text.view()) + "\n";
    } else {
        const json::Document found = json::read(text);
        out = options.explain ? explained(found, style) : listed(found, style);
        if (out.empty()) {
            out = "no plugins found; --explain lists the searched folders\n";
        }
    }
    print_output(out, "the list");
    return kExitSuccess;
}

}  // namespace

void add_plugin_list(Command plugin) {
    Command command =
        plugin.subcommand("list", "List the available plugins, and why others are not used");
    auto options = std::make_shared<PluginListOptions>();
    command
        .option("--story", options->story,
                "For this story (default: the working folder, if it has a story.toml)")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--plugin", options->plugins,
                "As if the host requested this plugin: a file (with a slash) or an id")
        .type_name("PLUGIN")
        .one_value();
    command.option("--narrator", options->narrator, "As if this plugin were the narrator")
        .type_name("ID");
    command.flag("--explain", options->explain,
                 "Show each searched folder and file, and why it is or is not used");
    command.flag("--json", options->as_json, "Print the list as JSON (narratoria/plugins.h)");
    command.footer(
        "The command reads metadata from the files and loads no plugin. To see whether a "
        "plugin\nstarts, run a session (play --log info).\nExample:\n  narratoria plugin list "
        "--explain --story examples/stories/torch");
    command.action([options] { return list_plugins(*options); });
}

}  // namespace narratoria::command
