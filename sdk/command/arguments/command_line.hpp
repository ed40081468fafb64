// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares commands and their options. Only command_line.cpp includes the parser (CLI11): it is
// header-only and adds ten seconds of compile time to each file that includes it.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace narratoria::command {

// The name that `given` probably misspells, or empty.
std::string similar_name(std::string_view given, const std::vector<std::string>& names);

// Executes a command and returns its exit code.
using Action = std::function<int()>;

// A declared option: a reference into its command, cheap to copy.
class Option {
public:
    explicit Option(CLI::Option& option) : option_(&option) {}

    Option& required();
    // The word for the value in the help.
    Option& type_name(const std::string& name);
    // Inclusive bounds. The help does not show them.
    Option& within(std::uint64_t least, std::uint64_t most);
    Option& within_seconds(double least, double most);
    Option& one_of(std::initializer_list<std::string> values);
    Option& not_empty();
    // The option is refused unless `other` is given too.
    Option& needs(const Option& other);
    // Each occurrence takes one value, so that a positional argument may follow.
    Option& one_value();

private:
    CLI::Option* option_;
};

// A command or a group of commands: a reference into the command line, cheap to copy.
class Command {
public:
    Command(CLI::App& application, Action& chosen) : application_(&application), chosen_(&chosen) {}

    Command subcommand(const std::string& name, const std::string& description);
    // A command that only has subcommands.
    Command group(const std::string& name, const std::string& description);

    // `name` is --LONG for an option and WORD for a positional argument. Parsing writes `value`, so
    // it must live until then.
    Option option(const std::string& name, std::string& value, const std::string& help);
    Option option(const std::string& name, std::optional<std::string>& value,
                  const std::string& help);
    Option option(const std::string& name, std::vector<std::string>& value,
                  const std::string& help);
    Option option(const std::string& name, std::optional<std::uint16_t>& value,
                  const std::string& help);
    Option option(const std::string& name, std::uint32_t& value, const std::string& help);
    Option option(const std::string& name, std::optional<std::uint32_t>& value,
                  const std::string& help);
    Option option(const std::string& name, std::uint64_t& value, const std::string& help);
    Option option(const std::string& name, double& value, const std::string& help);
    void flag(const std::string& name, bool& value, const std::string& help);

    // Printed below the options.
    void footer(const std::string& text);
    // Called when the command line names this command.
    void action(Action action);

private:
    template <class Value>
    Option add(const std::string& name, Value& value, const std::string& help);

    CLI::App* application_;
    Action* chosen_;
};

// The result of parsing a command line.
struct Parsed {
    enum class Kind { Run, Print, UsageError };

    Kind kind;
    // The text to print, or the usage error.
    std::string text;
    // The chain of named commands: "tool run".
    std::string command;
    Action action;
};

class CommandLine {
public:
    CommandLine(const std::string& description, const std::string& name,
                const std::string& version);
    ~CommandLine();
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    Command root();
    Parsed parse(int argument_count, char** arguments);

private:
    std::unique_ptr<CLI::App> application_;
    Action chosen_;
};

}  // namespace narratoria::command
