// SPDX-License-Identifier: Apache-2.0
#include "arguments/command_line.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/near_name.hpp"
#include "display.hpp"

namespace narratoria::command {
namespace {

// The chain of named subcommands, without the program itself.
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

// The same for a command line with a mistake, as far as its first words are the names: CLI11 passes
// over an unknown word and takes a later one as the command.
std::vector<const CLI::App*> leading_chain(const CLI::App& application, int argument_count,
                                           char** arguments) {
    auto chain = named_chain(application);
    std::size_t depth = 0;
    while (depth < chain.size() && static_cast<int>(depth) + 1 < argument_count &&
           chain[depth]->get_name() == arguments[depth + 1]) {
        ++depth;
    }
    chain.resize(depth);
    return chain;
}

std::string joined_names(const std::vector<const CLI::App*>& chain) {
    std::string names;
    for (const CLI::App* command : chain) names += (names.empty() ? "" : " ") + command->get_name();
    return names;
}

// "; did you mean "--result"?", or nothing if no name is similar.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& names) {
    const std::string question =
        ask_for_near_name(given, std::vector<std::string_view>(names.begin(), names.end()));
    return question.empty() ? question : "; " + question;
}

std::vector<std::string> commands_of(const CLI::App& group) {
    std::vector<std::string> names;
    for (const CLI::App* command : group.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

// Describes a usage error for which CLI11's own message is not clear, or returns an empty text. Scans
// the words again, because CLI11 reports mistakes out of order, or names only the option that lacks
// a value.
std::string describe_usage_error(const CLI::App& application, int argument_count,
                                 char** arguments) {
    const std::vector<std::string> words(arguments + std::min(argument_count, 1),
                                         arguments + argument_count);
    const auto chain = leading_chain(application, argument_count, arguments);
    const CLI::App& named = chain.empty() ? application : *chain.back();
    const std::vector<std::string> commands = commands_of(named);
    if (!commands.empty()) {
        std::string known;
        for (const std::string& name : commands) known += (known.empty() ? "" : ", ") + name;
        if (words.size() <= chain.size()) return "give a command: " + known;
        const std::string& word = words[chain.size()];
        if (!word.starts_with('-')) {
            const std::string near = did_you_mean(word, commands);
            return fmt::format("unknown command \"{}\"{}", terminal::printable(word),
                               near.empty() ? "; use one of: " + known : near);
        }
    }
    for (const CLI::Option* option : named.get_options()) {
        const std::size_t given = option->results().size();
        const auto most = static_cast<std::size_t>(std::max(option->get_items_expected_max(), 1));
        if (!option->nonpositional() || option->get_type_size() == 0 || given <= most) continue;
        return fmt::format("{} is given {} times; give it once", option->get_name(), given);
    }
    const std::vector<std::string> unexpected = application.remaining(true);
    const auto is_unexpected = [&](const std::string& word) {
        return std::find(unexpected.begin(), unexpected.end(), word) != unexpected.end();
    };
    const auto separator = std::find(words.begin(), words.end(), "--");
    const auto option = std::find_if(words.begin(), separator, [&](const std::string& word) {
        return word.size() > 1 && word.starts_with('-') && is_unexpected(word);
    });
    if (option != separator) {
        const std::string name = option->substr(0, option->find('='));
        const std::string near = did_you_mean(name, options_of(named));
        return fmt::format("unknown option \"{}\"{}", terminal::printable(name),
                           near.empty() ? "; put -- before arguments that begin with -" : near);
    }
    const auto extra = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
        return word != "--" && is_unexpected(word);
    });
    if (extra == words.end()) return {};
    return fmt::format("unexpected argument \"{}\"{}", terminal::printable(*extra),
                       extra > separator ? "; words after -- are not options" : "");
}

template <class Number>
bool is_number(const std::string& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string similar_name(std::string_view given, const std::vector<std::string>& names) {
    return std::string(near_name(given, std::vector<std::string_view>(names.begin(), names.end())));
}

Option& Option::required() {
    option_->required();
    return *this;
}

Option& Option::type_name(const std::string& name) {
    option_->type_name(name);
    return *this;
}

Option& Option::within(std::uint64_t least, std::uint64_t most) {
    const auto check = [=](const std::string& text) {
        // CLI11 parses the number again and reads a leading 0 as octal.
        const bool is_octal = text.size() > 1 && text.front() == '0';
        std::uint64_t number = 0;
        if (!is_octal && is_number(text, number) && number >= least && number <= most) {
            return std::string();
        }
        return fmt::format("invalid value \"{}\"; give a whole number from {} to {}",
                           terminal::printable(text), least, most);
    };
    option_->check(CLI::Validator(check, ""));
    return *this;
}

Option& Option::within_seconds(double least, double most) {
    const auto check = [=](const std::string& text) {
        double number = 0;
        // Comparisons with NaN are false, so NaN is refused too.
        if (is_number(text, number) && number >= least && number <= most) return std::string();
        return fmt::format("invalid value \"{}\"; give a number of seconds from {:g} to {:g}",
                           terminal::printable(text), least, most);
    };
    option_->check(CLI::Validator(check, ""));
    return *this;
}

Option& Option::not_empty() {
    const auto check = [](const std::string& text) {
        return text.empty() ? std::string("the value is empty") : std::string();
    };
    option_->check(CLI::Validator(check, ""));
    return *this;
}

Option& Option::one_of(std::initializer_list<std::string> values) {
    // CLI11 shows the set in the help.
    std::string list;
    for (const std::string& value : values) list += (list.empty() ? "" : ",") + value;
    const auto check = [known = std::vector<std::string>(values)](const std::string& text) {
        if (std::find(known.begin(), known.end(), text) != known.end()) return std::string();
        const std::string near = did_you_mean(text, known);
        std::string all;
        for (const std::string& value : known)
            all += (all.empty() ? "; use one of: " : ", ") + value;
        return fmt::format("unknown value \"{}\"{}", terminal::printable(text),
                           near.empty() ? all : near);
    };
    option_->check(CLI::Validator(check, "{" + list + "}"));
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
    CLI::App* group = application_->add_subcommand(name, description);
    group->require_subcommand(1);
    return {*group, *chosen_};
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
    // For "--option=", CLI11 would take the next word as the value.
    for (int i = 1; i < argument_count && arguments[i] != std::string_view("--"); ++i) {
        const std::string_view word = arguments[i];
        if (word.size() < 4 || !word.starts_with("--") || !word.ends_with('=')) continue;
        if (word.find('=') != word.size() - 1) continue;
        const std::string_view name = word.substr(0, word.size() - 1);
        return outcome(Parsed::Kind::UsageError,
                       fmt::format("{} has no value; write an empty value as {} \"\"",
                                   terminal::printable(word), terminal::printable(name)));
    }
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
        std::string what = describe_usage_error(*application_, argument_count, arguments);
        if (what.empty()) what = terminal::printable(error.what());
        const auto chain = leading_chain(*application_, argument_count, arguments);
        return Parsed{Parsed::Kind::UsageError, std::move(what), joined_names(chain), chosen_};
    }
}

}  // namespace narratoria::command
