// SPDX-License-Identifier: Apache-2.0
// narratoria plugin new: creates a plugin that builds and passes its test unchanged.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "commands/plugin_command.hpp"
#include "commands/templates.hpp"
#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"

namespace narratoria::command {
namespace {

constexpr std::size_t kLongestName = 64;

// Target names that CMake or Ninja reserve.
constexpr std::array<std::string_view, 9> kReserved = {
    "all",     "clean",          "edit_cache",    "help", "install",
    "package", "package_source", "rebuild_cache", "test"};

struct PluginKind {
    std::string_view name;
    std::string_view what;  // "it …"
};
constexpr std::array<PluginKind, 6> kKinds = {{
    {"ui-handler", "it handles ui_events of tools"},
    {"asset-renderer", "it renders assets"},
    {"narrator", "it turns prompts into plans"},
    {"tool-runner", "it runs tools in its own way"},
    {"tool", "it provides a tool as a function"},
    {"event-sink", "it receives the event stream"},
}};

struct PluginNewOptions {
    std::string name;
    std::string kind;
    std::string language = "cpp";
};

bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

void check_name(const std::string& name) {
    const bool holds_only_allowed = std::all_of(name.begin(), name.end(), [](char letter) {
        return is_lower(letter) || is_digit(letter) || letter == '-' || letter == '_';
    });
    if (name.empty() || name.size() > kLongestName || !is_lower(name.front()) ||
        !holds_only_allowed) {
        throw Refused(
            fmt::format("\"{}\" is not a valid plugin name; use at most {} characters a-z 0-9 - _, "
                        "the first a letter, for example paper-rain (it names a folder, a CMake "
                        "target and the plugin's id)",
                        printable(name), kLongestName));
    }
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
        throw Refused(
            fmt::format("\"{}\" is not a valid plugin name: it is a reserved CMake target; use a "
                        "longer name, for example {}-plugin",
                        name, name));
    }
}

const PluginKind& find_kind(const std::string& name) {
    std::string known;
    for (const PluginKind& kind : kKinds) {
        if (kind.name == name) return kind;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
    }
    throw Refused(
        fmt::format("--kind: unknown kind \"{}\"; use one of: {}", printable(name), known));
}

// "PaperRain" for "paper-rain"; title() makes "Paper rain".
std::string class_name(std::string_view name) {
    std::string out;
    bool is_first = true;
    for (const char letter : name) {
        if (letter == '-' || letter == '_') {
            is_first = true;
            continue;
        }
        out += is_first && is_lower(letter) ? static_cast<char>(letter - 'a' + 'A') : letter;
        is_first = false;
    }
    return out;
}
std::string title(std::string name) {
    std::replace_if(
        name.begin(), name.end(), [](char letter) { return letter == '-' || letter == '_'; }, ' ');
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
    return name;
}

// The release that the project requests with find_package. It includes the minor number, because
// minor releases before 1.0 may change the C++ headers.
std::string release() {
    const std::string version = NARRATORIA_VERSION;
    return version.substr(0, version.find('.', version.find('.') + 1));
}

int plugin_new(const PluginNewOptions& options) {
    check_name(options.name);
    const PluginKind& kind = find_kind(options.kind);
    if (options.language != "c" && options.language != "cpp") {
        throw Refused(fmt::format("--lang: unknown language \"{}\"; use one of: c, cpp",
                                  printable(options.language)));
    }
    const bool is_c = options.language == "c";
    const Replacements replacements = {
        {"NAME", options.name},
        {"TITLE", title(options.name)},
        {"CLASS", class_name(options.name)},
        {"ID", "org.example." + options.name},
        {"KIND", std::string(kind.name)},
        {"WHAT", std::string(kind.what)},
        // Only one template reads a setting. A story selects its narrator.
        {"SETTING", kind.name == "ui-handler" && !is_c
                        ? "label = \"It happens\"    # prefix of its log lines\n"
                    : kind.name == "narrator"
                        ? fmt::format("\n[narrator]\nname = \"org.example.{}\"\n", options.name)
                        : ""},
        {"LANGUAGE", options.language},
        {"LANGUAGES", is_c ? "C" : "C CXX"},
        {"RELEASE", release()},
    };

    create_from_templates(options.name,
                          {
                              {"plugin/CMakeLists.txt", "CMakeLists.txt"},
                              {fmt::format("plugin/{}.{}", kind.name, options.language),
                               fmt::format("{}.{}", options.name, options.language)},
                              {fmt::format("plugin/test/{}.c", kind.name), "test/plugin_test.c"},
                              {"plugin/test/host.h", "test/host.h"},
                              {"plugin/README.md", "README.md"},
                              {"plugin/gitignore", ".gitignore"},
                          },
                          replacements);

    const std::string summary = fmt::format(
        "{0}/ is a plugin in {1}: {2}. It builds and passes its test unchanged:\n  cd {0}\n  cmake "
        "-B build && cmake --build build && ctest --test-dir build\n",
        options.name, is_c ? "C" : "C++", kind.what);
    print_output(summary, "what was created");
    return kExitSuccess;
}

}  // namespace

void add_plugin_new(Command plugin) {
    Command command = plugin.subcommand("new", "Create a plugin that builds and passes its test");
    auto options = std::make_shared<PluginNewOptions>();
    command.option("NAME", options->name, "The plugin's name, and the folder to create").required();
    command
        .option("--kind", options->kind,
                "ui-handler, asset-renderer, narrator, tool-runner, tool or event-sink")
        .required()
        .type_name("KIND");
    command.option("--lang", options->language, "c or cpp (default: cpp)").type_name("LANGUAGE");
    command.footer(
        "Creates CMakeLists.txt, the source, a test that loads the built library and calls it "
        "as\nNarratoria does, README.md and .gitignore. Building needs CMake 3.25 and a C or "
        "C++20\ncompiler. Existing files are never changed.\nExit status: 0 created, 1 a file "
        "cannot be written, 2 the name, kind or language is wrong,\nor the folder "
        "exists.\nExample:\n  narratoria plugin new "
        "paper-rain --kind ui-handler --lang cpp");
    command.action([options] { return plugin_new(*options); });
}

}  // namespace narratoria::command
