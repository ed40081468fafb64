// SPDX-License-Identifier: Apache-2.0
#include "arguments/command_line.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "display.hpp"

namespace narratoria::command {
namespace {

// The chain of subcommands that was named, from the one below the program on.
std::vector<const CLI::App*> named_chain(const CLI::App& application) {
    std::vector<const CLI::App*> chain;
    const CLI::App* at = &application;
    for (;;) {
        const auto below = at->get_subcommands();
        if (below.empty()) return chain;
        at = below.front();
        chain.push_back(at);
    }
}

std::string joined_names(const std::vector<const CLI::App*>& chain) {
    std::string names;
    for (const CLI::App* command : chain) names += (names.empty() ? "" : " ") + command->get_name();
    return names;
}

// CLI11 does not say which word it took for a command, and which commands there are.
std::string misnamed_command(const CLI::App& application, int argument_count, char** arguments) {
    const auto chain = named_chain(application);
    const CLI::App* group = chain.empty() ? &application : chain.back();
    const int next = static_cast<int>(chain.size()) + 1;
    const auto commands = group->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty() || next >= argument_count || arguments[next][0] == '-') return {};
    std::string known;
    for (const CLI::App* command : commands) {
        known += (known.empty() ? "" : ", ") + command->get_name();
    }
    return fmt::format("there is no command \"{}\"; there are: {}",
                       terminal::printable(arguments[next]), known);
}

}  // namespace

Option& Option::required() {
    option_->required();
    return *this;
}

Option& Option::type_name(const std::string& name) {
    option_->type_name(name);
    return *this;
}

Option& Option::within(std::uint64_t least, std::uint64_t most) {
    option_->check(CLI::Range(least, most).description(""));
    return *this;
}

Option& Option::within_seconds(double least, double most) {
    option_->check(CLI::Range(least, most).description(""));
    return *this;
}

Option& Option::one_of(std::initializer_list<std::string> values) {
    option_->check(CLI::IsMember(values));
    return *this;
}

Option& Option::needs(const Option& other) {
    option_->needs(other.option_);
    return *this;
}

Option& Option::one_value() {
    option_->allow_extra_args(false);
    return *this;
}

Command Command::subcommand(const std::string& name, const std::string& description) {
    return {*application_->add_subcommand(name, description), *chosen_};
}

Command Command::group(const std::string& name, const std::string& description) {
    CLI::App* made = application_->add_subcommand(name, description);
    made->require_subcommand(1);
    return {*made, *chosen_};
}

template <class Value>
Option Command::add(const std::string& name, Value& value, const std::string& help) {
    return Option(*application_->add_option(name, value, help));
}

Option Command::option(const std::string& name, std::string& value, const std::string& help) {
    return add(name, value, help);
}

Option Command::option(const std::string& name, std::optional<std::string>& value,
                       const std::string& help) {
    return add(name, value, help);
}

Option Command::option(const std::string& name, std::vector<std::string>& value,
                       const std::string& help) {
    return add(name, value, help);
}

Option Command::option(const std::string& name, std::optional<std::uint16_t>& value,
                       const std::string& help) {
    return add(name, value, help);
}

Option Command::option(const std::string& name, std::uint32_t& value, const std::string& help) {
    return add(name, value, help);
}

Option Command::option(const std::string& name, std::optional<std::uint32_t>& value,
                       const std::string& help) {
    return add(name, value, help);
}

Option Command::option(const std::string& name, std::uint64_t& value, const std::string& help) {
    return add(name, value, help);
}

Option Command::option(const std::string& name, double& value, const std::string& help) {
    return add(name, value, help);
}

void Command::flag(const std::string& name, bool& value, const std::string& help) {
    application_->add_flag(name, value, help);
}

void Command::footer(const std::string& text) { application_->footer(text); }

void Command::action(Action action) {
    application_->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

CommandLine::CommandLine(const std::string& description, const std::string& name,
                         const std::string& version)
    : application_(std::make_unique<CLI::App>(description, name)) {
    application_->set_version_flag("--version", version);
    application_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return {*application_, chosen_}; }

Parsed CommandLine::parse(int argument_count, char** arguments) {
    const auto outcome = [&](Parsed::Kind kind, std::string text) {
        return Parsed{kind, std::move(text), joined_names(named_chain(*application_)), chosen_};
    };
    try {
        application_->parse(argument_count, arguments);
        return outcome(Parsed::Kind::Run, {});
    } catch (const CLI::CallForHelp&) {
        auto chain = named_chain(*application_);
        chain.insert(chain.begin(), application_.get());
        const CLI::App* named = chain.back();
        chain.pop_back();
        return outcome(Parsed::Kind::Print, named->help(joined_names(chain)));
    } catch (const CLI::CallForVersion& version) {
        return outcome(Parsed::Kind::Print, std::string(version.what()) + "\n");
    } catch (const CLI::ParseError& error) {
        std::string what = misnamed_command(*application_, argument_count, arguments);
        return outcome(Parsed::Kind::Mistake,
                       what.empty() ? std::string(terminal::printable(error.what())) : what);
    }
}

}  // namespace narratoria::command
