// SPDX-License-Identifier: Apache-2.0
// A narrator in a separate program: requests go to its standard input, one per line, and replies
// come from its standard output. The program may invoke tools before it replies.

#include <narratoria/plugin.hpp>
#include <narratoria/utf8.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "narrator_process/message.hpp"
#include "shared/settings.hpp"

namespace plugin = narratoria::plugin;
using narratoria::plugins::Message;
using narratoria::plugins::Settings;

namespace {

constexpr std::string_view kId = "narratoria.narrator_process";
constexpr std::string_view kCommandExample = R"(command = ["python3", "narrator.py"])";
constexpr std::string_view kEnvironmentExample = R"(environment = { MODEL = "small" })";

constexpr std::size_t kLongestLine = 8 * 1024 * 1024;
// Limits for its standard error: the tail kept for the message about its exit, and the length of a
// line in the log.
constexpr std::size_t kTail = 4 * 1024;
constexpr std::size_t kLongestLogLine = 2000;
// The number of lines logged between two requests.
constexpr unsigned kMaxLogLines = 100;
constexpr std::size_t kMaxCancelled = 1000;
// Grace period for a process that closed its input or output: it may be about to exit.
constexpr std::chrono::milliseconds kHangUpPatience{250};

std::string without_ends_of_lines(std::string_view text) {
    std::string out(text);
    // Unescaped line ends are white space in JSON.
    std::replace_if(
        out.begin(), out.end(), [](char letter) { return letter == '\n' || letter == '\r'; }, ' ');
    return out;
}

class ProcessNarrator final : public plugin::Narrator {
public:
    static constexpr std::string_view kSettings = R"({
        "properties": {
            "command": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "environment": {"type": "object", "additionalProperties": {"type": "string"}},
            "restart": {"type": "boolean"}
        },
        "required": ["command"],
        "additionalProperties": false
    })";

    static constexpr bool kDetailed = true;

    // With invalid settings, each request fails with the reason. If the constructor threw instead,
    // the session would only report that there is no such narrator.
    explicit ProcessNarrator(const plugin::Host& host) : host_(host) {
        try {
            read(Settings(host.settings(), kId));
        } catch (const narratoria::plugins::SettingError& error) {
            fault_ = error.what();
            host.log(plugin::Level::Warning, fault_);
        }
    }

    void generate(std::string_view request, plugin::Reply reply) override {
        if (!fault_.empty()) throw std::runtime_error(fault_);
        log_lines_left_ = kMaxLogLines;
        if (!process_.is_running()) start();
        const std::uint64_t id = reply.token();
        Request pending{std::move(reply),
                        "{\"id\":" + std::to_string(id) +
                            ",\"request\":" + without_ends_of_lines(request) + "}\n",
                        false};
        // If the process has closed its input or exited, the host reports that, and note_end()
        // decides what happens to the request.
        if (process_.write(pending.line) == plugin::Written::Busy) {
            throw std::runtime_error("the narrator's process does not read its standard input");
        }
        requests_.insert_or_assign(id, std::move(pending));
    }

    void cancel_reply(std::uint64_t id) override {
        if (requests_.erase(id) == 0) return;
        forget_calls(id);
        cancelled_.push_back(id);
        if (cancelled_.size() > kMaxCancelled) cancelled_.pop_front();
        process_.write("{\"id\":" + std::to_string(id) + ",\"cancel\":true}\n");
    }

private:
    struct Request {
        plugin::Reply reply;
        std::string line;
        bool was_resent;
    };

    void read(const Settings& settings) {
        auto command = settings.command("command", kCommandExample);
        if (!command) {
            throw settings.missing("command", "the narrator's program and its arguments",
                                   kCommandExample);
        }
        command_ = std::move(*command);
        environment_ = settings.texts_by_name("environment", kEnvironmentExample);
        for (const auto& [name, value] : environment_) {
            if (name.empty() || (name + value).find('\0') != std::string::npos ||
                name.find('=') != std::string::npos) {
                throw settings.wrong("environment", "a table of names and strings",
                                     kEnvironmentExample);
            }
        }
        restart_ = settings.flag("restart", "restart = true").value_or(true);
    }

    // The environment of the host's process, overridden by the setting "environment".
    std::vector<std::string> environment() const {
        std::vector<std::string> out;
        for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
            const std::string_view text(*variable);
            const std::string_view name = text.substr(0, text.find('='));
            const bool is_ours = std::any_of(environment_.begin(), environment_.end(),
                                             [&](const auto& one) { return one.first == name; });
            if (!is_ours) out.emplace_back(text);
        }
        for (const auto& [name, value] : environment_) out.push_back(name + "=" + value);
        return out;
    }

    // Throws if the process cannot be started; the exception fails the request.
    void start() {
        if (has_run_ && !restart_) {
            throw std::runtime_error("the narrator's process has ended (" + last_end_ +
                                     ") and is not restarted: the setting \"restart\" is false");
        }
        hang_up_.stop();
        plugin::Program program;
        program.arguments = command_;
        program.environment = environment();
        program.folder = host_.story();
        plugin::ProcessEvents events;
        events.on_output = [this](std::string_view bytes) {
            take_output(bytes);
            deliver_replies();
        };
        events.on_diagnostics = [this](std::string_view bytes) { take_diagnostics(bytes); };
        events.on_closed = [this](plugin::ProcessStream stream) {
            if (stream != plugin::ProcessStream::Diagnostics) start_hang_up_timer();
        };
        events.on_exit = [this](const plugin::ProcessExit& exit) {
            note_end(exit);
            deliver_replies();
        };
        try {
            process_ = plugin::Process(host_, program, std::move(events));
        } catch (const narratoria::Error& error) {
            std::string reason = error.what();
            if (error.status() == NAR_NOT_FOUND) {
                reason +=
                    "; for a program in the story's folder, write \"./" + command_.front() + "\"";
            }
            throw std::runtime_error(could_not_start(reason));
        }
        reply_count_ = 0;
        line_.clear();
        skips_line_ = false;
        diagnostics_line_.clear();
        tail_.clear();
    }

    static std::string could_not_start(std::string_view reason) {
        return "the narrator's process could not be started: " + std::string(reason);
    }

    struct CollectedReply {
        plugin::Reply reply;
        bool is_plan;
        std::string text;
    };

    // Delivers the collected replies. Must be the last step of a callback, because the host may
    // call generate() from within.
    void deliver_replies() {
        for (const CollectedReply& one : std::exchange(collected_, {})) {
            if (one.is_plan) one.reply.plan(one.text);
            else one.reply.fail(one.text);
        }
    }

    void start_hang_up_timer() {
        if (hang_up_.is_running()) return;
        hang_up_ = plugin::Timer(host_, kHangUpPatience, [this] {
            if (!process_.is_running()) return;
            log(plugin::Level::Warning,
                "the narrator's process closed its standard input or output but keeps running; "
                "killing it");
            process_.terminate(0);
        });
    }

    // "exit status 3" or "signal 9 (Killed)", and the limit that was exceeded, if any.
    static std::string how_it_ended(const plugin::ProcessExit& exit) {
        std::string text = "an unknown status";
        if (exit.status >= 0) {
            text = "exit status " + std::to_string(exit.status);
        } else if (exit.signal != 0) {
            text = "signal " + std::to_string(exit.signal) + " (" +
                   ::strsignal(static_cast<int>(exit.signal)) + ")";
        }
        if (!exit.error.empty()) text += ": " + exit.error + " [" + exit.error_code + "]";
        return text;
    }

    void note_end(const plugin::ProcessExit& exit) {
        hang_up_.stop();
        if (!line_.empty()) take_line(std::exchange(line_, {}));
        log_diagnostics_line();
        const bool was_started = exit.error_code != "SPAWN_FAILED";
        const bool ended_well = exit.status == 0;
        std::string why;
        if (was_started) {
            has_run_ = true;
            last_end_ = how_it_ended(exit);
            why = "the narrator's process ended with " + last_end_;
            const std::string_view last_words = trimmed(tail_);
            if (!last_words.empty()) why += "; its standard error: " + std::string(last_words);
        } else {
            why = could_not_start(exit.error);
        }
        // Logged only without open requests; otherwise they fail with this message.
        if (requests_.empty() && !(was_started && ended_well)) log(plugin::Level::Warning, why);
        std::map<std::uint64_t, Request> open = std::exchange(requests_, {});
        // Cancel open invocations: a new process does not know about them.
        for (const auto& [call, number] : std::exchange(calls_, {})) {
            const auto pending = open.find(call.first);
            if (pending != open.end()) pending->second.reply.cancel_invocation(number);
        }
        cancelled_.clear();

        // A program may handle one request and exit. It may not have read the next request, so
        // that one is sent to a new process, once.
        const bool may_resend = was_started && ended_well && restart_ && reply_count_ > 0;
        for (auto& [id, pending] : open) {
            if (may_resend && !pending.was_resent && resend(id, pending)) continue;
            collected_.push_back({std::move(pending.reply), false, why});
        }
    }

    bool resend(std::uint64_t id, Request& pending) {
        try {
            if (!process_.is_running()) start();
        } catch (const std::exception&) {
            return false;
        }
        pending.was_resent = true;
        process_.write(pending.line);
        requests_.insert_or_assign(id, std::move(pending));
        return true;
    }

    // ---- its standard output

    void take_output(std::string_view bytes) {
        while (!bytes.empty()) {
            const std::size_t end = bytes.find('\n');
            const std::string_view piece = bytes.substr(0, end);
            if (!skips_line_ && line_.size() + piece.size() > kLongestLine) skip_line();
            if (!skips_line_) line_ += piece;
            if (end == std::string_view::npos) return;
            bytes.remove_prefix(end + 1);
            if (!std::exchange(skips_line_, false)) take_line(std::exchange(line_, {}));
        }
    }

    // Fails all open questions, because the line's id is unknown.
    void skip_line() {
        skips_line_ = true;
        line_ = std::string();
        const std::string why = "the narrator's process wrote a line of more than " +
                                std::to_string(kLongestLine / 1024 / 1024) + " MiB";
        if (requests_.empty()) log(plugin::Level::Warning, why);
        for (auto& [id, pending] : requests_) {
            collected_.push_back({std::move(pending.reply), false, why});
        }
        requests_.clear();
        calls_.clear();
    }

    void take_line(std::string line) {
        if (trimmed(line).empty()) return;
        Message message;
        std::string fault;
        if (!narratoria::plugins::read_message(line, message, fault)) {
            log(plugin::Level::Warning,
                "the narrator's process wrote a line that is not a reply (" + fault + "): " + line);
            return;
        }
        if (!message.id) {
            log(plugin::Level::Warning,
                "the narrator's process wrote a reply without the \"id\" of a request: " + line);
            return;
        }
        if (message.invoke && !message.plan && !message.error) {
            invoke(*message.id, message.call, *message.invoke);
            return;
        }
        if (const auto pending = requests_.find(*message.id); pending != requests_.end()) {
            if (message.usage) report_usage(pending->second.reply, *message.usage);
            if (message.delta) pending->second.reply.delta(*message.delta);
            if ((message.usage || message.delta) && !message.plan && !message.error) return;
        }
        auto found = requests_.extract(*message.id);
        if (found.empty()) {
            note_stray(*message.id);
            return;
        }
        forget_calls(*message.id);
        ++reply_count_;
        plugin::Reply reply = std::move(found.mapped().reply);
        const bool is_plan = message.plan && !message.error;
        std::string text;
        if (is_plan) text = std::move(*message.plan);
        else if (message.plan) text = "the narrator's reply has both \"plan\" and \"error\"";
        else if (message.error) text = std::move(*message.error);
        else text = "the narrator's reply has neither \"plan\" nor \"error\"";
        collected_.push_back({std::move(reply), is_plan, std::move(text)});
    }

    static void report_usage(const plugin::Reply& reply, const std::string& usage) {
        try {
            reply.usage(usage);
        } catch (const narratoria::Error&) {
            // It is not valid, and the host has logged why.
        }
    }

    // ---- tools that it invokes

    void invoke(std::uint64_t id, std::optional<std::uint64_t> call,
                const std::string& invocation) {
        const auto pending = requests_.find(id);
        // The request was cancelled meanwhile; the process will read that soon.
        if (pending == requests_.end()) return;
        if (!call || calls_.contains({id, *call})) {
            log(plugin::Level::Warning,
                "the narrator's process invoked a tool without a unique \"call\"; give a number "
                "that no other open invocation of the request has: " +
                    invocation);
            return;
        }
        const std::pair<std::uint64_t, std::uint64_t> key{id, *call};
        const std::string start =
            "{\"id\":" + std::to_string(id) + ",\"call\":" + std::to_string(*call) + ",";
        std::string fault;
        try {
            const std::uint64_t number = pending->second.reply.invoke(
                invocation, [this, key, start](std::uint64_t, std::string_view outcome) {
                    if (calls_.erase(key) == 0) return;
                    write_outcome(key.first,
                                  start + "\"outcome\":" + without_ends_of_lines(outcome) + "}\n");
                });
            if (number != 0) {
                calls_.emplace(key, number);
                return;
            }
            fault = "the request has ended, or the time for its tools is used up";
        } catch (const narratoria::Error& error) {
            fault = error.what();
        }
        write_outcome(id, start + "\"error\":" + plugin::quoted(fault) + "}\n");
    }

    void write_outcome(std::uint64_t id, const std::string& line) {
        if (process_.write(line) != plugin::Written::Busy) return;
        const auto pending = requests_.extract(id);
        if (pending.empty()) return;
        forget_calls(id);
        pending.mapped().reply.fail("the narrator's process does not read its standard input");
    }

    // Outcomes of these calls are no longer passed on.
    void forget_calls(std::uint64_t id) {
        calls_.erase(calls_.lower_bound({id, 0}), calls_.upper_bound({id, UINT64_MAX}));
    }

    void note_stray(std::uint64_t id) {
        const auto cancelled = std::find(cancelled_.begin(), cancelled_.end(), id);
        if (cancelled != cancelled_.end()) {
            cancelled_.erase(cancelled);
            log(plugin::Level::Debug, "the reply to request " + std::to_string(id) +
                                          " came after the request was cancelled");
        } else {
            log(plugin::Level::Warning, "the narrator's process replied to request " +
                                            std::to_string(id) + ", which is not open");
        }
    }

    // ---- its standard error, and the log

    void take_diagnostics(std::string_view bytes) {
        if (bytes.empty()) return;
        tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
        if (tail_.size() > kTail) tail_ = std::string(narratoria::detail::suffix_of(tail_, kTail));
        while (!bytes.empty()) {
            const std::size_t end = bytes.find('\n');
            const std::size_t room = kLongestLogLine + 1 - diagnostics_line_.size();
            diagnostics_line_ += bytes.substr(0, std::min(end, room));
            if (end == std::string_view::npos) return;
            bytes.remove_prefix(end + 1);
            log_diagnostics_line();
        }
    }

    void log_diagnostics_line() {
        const std::string line = std::exchange(diagnostics_line_, {});
        if (!trimmed(line).empty()) log(plugin::Level::Info, line);
    }

    void log(plugin::Level level, std::string_view line) {
        if (log_lines_left_ == 0) return;
        --log_lines_left_;
        std::string text(narratoria::detail::prefix_of(trimmed(line), kLongestLogLine));
        if (text.size() < trimmed(line).size()) text += " …";
        if (log_lines_left_ == 0) text += " (further lines are not logged until the next request)";
        host_.log(level, text);
    }

    static std::string_view trimmed(std::string_view text) {
        constexpr std::string_view blank = " \t\r\n";
        const std::size_t begin = text.find_first_not_of(blank);
        if (begin == std::string_view::npos) return {};
        return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
    }

    const plugin::Host host_;
    std::string fault_;  // of the settings
    Settings::Texts command_;
    std::vector<std::pair<std::string, std::string>> environment_;
    bool restart_ = true;

    std::map<std::uint64_t, Request> requests_;
    // Open invocations: (request id, `call`) → the host's number.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> calls_;
    std::deque<std::uint64_t> cancelled_;  // requests whose replies may still come
    bool has_run_ = false;
    std::string last_end_;
    std::uint64_t reply_count_ = 0;          // the number of replies from this process
    std::vector<CollectedReply> collected_;  // replies that are not delivered yet
    std::string line_;                       // an incomplete line of its standard output
    bool skips_line_ = false;
    std::string diagnostics_line_;  // an incomplete line of its standard error
    std::string tail_;
    unsigned log_lines_left_ = kMaxLogLines;

    plugin::Process process_;
    plugin::Timer hang_up_;
};

}  // namespace

NARRATORIA_PLUGIN(ProcessNarrator, "narratoria.narrator_process", "Narrator in a process", "1.0.0",
                  "narratoria.narrator/1");
