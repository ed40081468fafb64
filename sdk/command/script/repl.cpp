// SPDX-License-Identifier: Apache-2.0
#include "script/repl.hpp"

#include <algorithm>
#include <csignal>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "display.hpp"
#include "input/line_editor.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "script/completion.hpp"

namespace narratoria::command::script {
namespace {

// An expression is wrapped in this call, so that its value is shown.
constexpr std::string_view kPrintCall = "PRINT(";

constexpr std::string_view kHelp =
    "LET name = 1 + 2             sets a variable\n"
    "CALL tool { key: value }     calls a tool; Tab after CALL lists the tools\n"
    "PRINT(value)                 prints a value; an expression alone shows its value\n"
    "IF … THEN … ELSE … END       FOR name IN list DO … END\n"
    "quit, exit or Ctrl-D ends. The language: docs/nuwa-script.md\n";

// True if the tree is a single statement whose value would be dropped, and not a call of PRINT.
bool has_value(const std::string& tree) {
    const json::Document read = json::read(tree);
    const json::Value* const statements = json::member(read, "statements");
    if (statements == nullptr || !statements->IsArray() || statements->Size() != 1) return false;
    const json::Value& only = (*statements)[0];
    if (json::text(only, "kind") == "CallStatement") return true;
    const json::Value* const expression = json::member(only, "expression");
    return json::text(only, "kind") == "ExpressionStatement" && expression != nullptr &&
           json::text(*expression, "functionName") != "PRINT";
}

class Repl {
public:
    Repl(ScriptSession& session, std::string scope)
        : session_(session),
          scope_(scope.empty() ? "{}" : std::move(scope)),
          editor_(input::open_line_editor(session.engine(), "script-history",
                                          [this](std::string_view before) {
                                              return complete(
                                                  before, [this] { return session_.tool_names(); },
                                                  [this] { return variables(); });
                                          })) {}

    int run() {
        if (!editor_) {
            throw Refused(
                "this build has no line editor (libedit); give the script's FILE, or - for "
                "standard input");
        }
        say("Nuwa Script. Tab completes, help explains, Ctrl-D ends.\n");
        std::string input;
        for (;;) {
            interruption::record_all();
            std::string line;
            switch (editor_->read(input.empty() ? "> " : "... ", line)) {
                case input::LineReader::Ending::Input:
                    if (!input.empty()) complain_of(parse_script(input), false);
                    return kExitSuccess;
                case input::LineReader::Ending::Signal:
                    if (interruption::received() == SIGINT && input.empty() && line.empty()) {
                        say("quit or Ctrl-D ends.\n");
                    }
                    input.clear();
                    break;
                case input::LineReader::Ending::Line:
                    if (line.find_first_not_of(" \t") == std::string::npos) break;
                    editor_->remember(line);
                    if (input.empty() && is_command(line, {"exit", "quit"})) return kExitSuccess;
                    if (input.empty() && is_command(line, {"help"})) {
                        say(kHelp);
                        break;
                    }
                    if (!input.empty()) input += '\n';
                    input += line;
                    if (take(input)) input.clear();
                    break;
            }
            // Ctrl-C drops the current input or cancels the running script. Variables are kept.
            if (const int signal = interruption::received(); signal != 0) {
                if (signal != SIGINT) return kExitSignal + signal;
                interruption::clear();
            }
        }
    }

private:
    // True if the line is one of the words, and no variable has this name.
    bool is_command(std::string_view line, std::initializer_list<std::string_view> words) const {
        const std::size_t begin = std::min(line.find_first_not_of(" \t/"), line.size());
        line = line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
        const std::vector<std::string> names = variables();
        return std::find(words.begin(), words.end(), line) != words.end() &&
               std::find(names.begin(), names.end(), line) == names.end();
    }

    static void say(std::string_view text) { print_output(text, "the session"); }

    std::vector<std::string> variables() const {
        std::vector<std::string> names;
        const json::Document read = json::read(scope_);
        if (!read.IsObject()) return names;
        for (const auto& member : read.GetObject()) {
            names.emplace_back(member.name.GetString(), member.name.GetStringLength());
        }
        return names;
    }

    // Runs the input. False if it is incomplete and continues in the next line.
    bool take(const std::string& input) {
        std::string tree;
        std::string error = parse_script(input, &tree);
        if (error.empty()) {
            // Prepending keeps line numbers. The closing parenthesis needs a new line, because the
            // input may end with a comment.
            const bool shows = has_value(tree);
            error = execute(shows ? std::string(kPrintCall) + input + "\n)" : input);
            if (!error.empty()) complain_of(error, shows);
            complain_lines(diagnostics_);
            return true;
        }
        const json::Document read = json::read(error);
        if (const json::Value* it = json::member(read, "incomplete"); it != nullptr) return false;
        complain_of(error, false);
        return true;
    }

    ScriptError execute(const std::string& source) {
        std::string lines;
        diagnostics_.clear();
        const auto say_lines = [&] { print_lines(lines); };
        try {
            ScriptSession::Outcome outcome = session_.run(
                source, scope_, true,
                [&](std::string_view line) { (lines += printable_lines(line)) += '\n'; },
                say_lines);
            if (outcome.has_run && !outcome.scope.empty()) scope_ = std::move(outcome.scope);
            diagnostics_ = std::move(outcome.diagnostics);
            return std::move(outcome.error);
        } catch (const Error& error) {
            say_lines();
            if (error.status() != NAR_INVALID_ARGUMENT) throw;
            complain(printable(error.message()));
            return {};
        } catch (...) {
            say_lines();
            throw;
        }
    }

    void complain_of(const ScriptError& error, bool is_wrapped) {
        std::vector<std::string> lines = lines_of(error);
        // The source line and the caret line, which follow the message, begin with "  1 | ".
        constexpr std::size_t kMargin = 6;
        const std::string wrapped = "  1 | " + std::string(kPrintCall);
        const auto source =
            std::find_if(lines.rbegin(), lines.rend(),
                         [&](const std::string& line) { return line.starts_with(wrapped); });
        if (is_wrapped && source != lines.rend() && source != lines.rbegin()) {
            source->erase(kMargin, kPrintCall.size());
            std::string& caret = *std::prev(source);
            // It may be shorter if a limit was exceeded at the wrapper itself.
            if (caret.size() > kMargin + kPrintCall.size()) caret.erase(kMargin, kPrintCall.size());
        }
        complain_lines(lines);
    }

    ScriptSession& session_;
    std::string scope_;
    std::vector<std::string> diagnostics_;  // of the last script
    const std::unique_ptr<input::LineReader> editor_;
};

}  // namespace

int run_repl(ScriptSession& session, std::string scope) {
    return Repl(session, std::move(scope)).run();
}

}  // namespace narratoria::command::script
