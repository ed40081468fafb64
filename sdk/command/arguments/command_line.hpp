// SPDX-License-Identifier: Apache-2.0
#pragma once
// Declares commands and their options. The parser behind it (CLI11) is compiled in command_line.cpp
// only: it is a header-only library that costs ten seconds in every file that includes it.

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

// What a command does; returns the exit code.
using Action = std::function<int()>;

// A declared option: a reference into its command, cheap to copy.
class Option {
public:
    explicit Option(CLI::Option& option) : option_(&option) {}

    Option& required();
    // The word for the value in the help.
    Option& type_name(const std::string& name);
    // Bounds, both included. They are not shown in the help.
    Option& within(std::uint64_t least, std::uint64_t most);
    Option& within_seconds(double least, double most);
    Option& one_of(std::initializer_list<std::string> values);
    Option& not_empty();
    // Refused without the other option.
    Option& needs(const Option& other);
    // Takes one value each time that it is given, so that an argument may follow.
    Option& one_value();

private:
    CLI::Option* option_;
};

// A command or a group of commands: a reference into the command line, cheap to copy.
class Command {
public:
    Command(CLI::App& application, Action& chosen) : application_(&application), chosen_(&chosen) {}

    Command subcommand(const std::string& name, const std::string& description);
    // A command whose subcommands do the work.
    Command group(const std::string& name, const std::string& description);

    // `name` is --LONG for an option, and WORD for a positional argument. The value is written when the
    // command line is parsed, so it must live until then.
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
    // What the command does when the command line names it.
    void action(Action action);

private:
    template <class Value>
    Option add(const std::string& name, Value& value, const std::string& help);

    CLI::App* application_;
    Action* chosen_;
};

// What a command line asks for.
struct Parsed {
    enum class Kind { Run, Print, Mistake };

    Kind kind;
    // The text to print, or the mistake.
    std::string text;
    // The chain of commands that was named: "tool run".
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
