// SPDX-License-Identifier: Apache-2.0
// A tool runner that starts tools through another command: ssh, srun, kubectl, nice … The runtime
// does everything else, such as the request on stdin, events, limits and cancellation.

#include <narratoria/plugin.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/named_commands.hpp"
#include "shared/remote_path.hpp"
#include "shared/settings.hpp"

namespace plugin = narratoria::plugin;

namespace {

constexpr std::string_view kId = "narratoria.launcher";
constexpr std::string_view kCommandExample = R"(command = ["nice"])";

using Command = std::vector<std::string>;

class Launcher final : public plugin::ToolRunner {
public:
    static constexpr std::string_view kSchemes[] = {"launcher"};
    static constexpr std::string_view kSettings = R"({
        "properties": {
            "command": {"$ref": "#/$defs/command"},
            "commands": {"type": "object", "additionalProperties": {"$ref": "#/$defs/command"}}
        },
        "additionalProperties": false,
        "$defs": {"command": {"type": "array", "minItems": 1, "items": {"type": "string"}}}
    })";

    // With invalid settings, each tool that needs them fails with the reason. If the constructor
    // threw instead, tools would only fail with "no tool runner knows the scheme".
    explicit Launcher(const plugin::Host& host) : story_(host.story()) {
        try {
            read(narratoria::plugins::Settings(host.settings(), kId));
        } catch (const narratoria::plugins::SettingError& error) {
            fault_ = error.what();
            host.log(plugin::Level::Warning, fault_);
        }
    }

    void start(const plugin::InvocationRequest& request, plugin::Invocation invocation) override {
        if (!fault_.empty()) throw plugin::CannotStart(fault_);
        std::string_view path = request.path_after_scheme();
        Command arguments = command_for(path);
        if (path.empty()) {
            throw plugin::CannotStart(
                "\"" + std::string(request.tool_path()) +
                "\" does not name a tool; write launcher:PATH or launcher:NAME:PATH");
        }
        // A relative program path starts at the story's folder, not at the tools' working folder.
        std::string& program = arguments.front();
        if (program.find('/') != std::string::npos && program.front() != '/') {
            program.insert(0, (story_.empty() ? std::string(request.plan_folder()) : story_) + "/");
        }
        arguments.push_back(narratoria::plugins::remote_path(path, request.plan_folder()));
        invocation.run(arguments);
    }

private:
    void read(const narratoria::plugins::Settings& settings) {
        if (auto command = settings.command("command", kCommandExample)) command_ = *command;
        commands_ = narratoria::plugins::NamedCommands(settings, kId, "commands", "far",
                                                       R"(["ssh", "host"])");
    }

    // Removes the prefix "NAME:", if any, from `path` and returns the command.
    Command command_for(std::string_view& path) const {
        const std::optional<std::string> name = narratoria::plugins::take_name(path);
        if (!name) {
            if (!command_.empty()) return command_;
            throw plugin::CannotStart(
                "the setting \"command\" is missing: the command in front of the tool; write in "
                "story.toml under [plugins.\"" +
                std::string(kId) + "\"]: " + std::string(kCommandExample));
        }
        return commands_.of(*name);
    }

    const std::string story_;
    std::string fault_;
    Command command_;
    narratoria::plugins::NamedCommands commands_;
};

}  // namespace

NARRATORIA_PLUGIN(Launcher, "narratoria.launcher", "Launcher", "1.0.0", "narratoria.tool_runner/1");
