// SPDX-License-Identifier: Apache-2.0
// An event sink that writes the event stream to a file, one record per line.

#include <narratoria/plugin.hpp>

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "event_log/log_file.hpp"
#include "shared/settings.hpp"

namespace plugin = narratoria::plugin;
using narratoria::plugins::LogFile;
using narratoria::plugins::Settings;
using narratoria::plugins::steady_milliseconds;

namespace {

constexpr std::string_view kId = "narratoria.event_log";

// The buffer size at which records are written, whatever the setting "flush".
constexpr std::size_t kChunk = 64 * 1024;
// The buffer limit while the file cannot be written; further records are lost and counted.
constexpr std::size_t kMaxWaiting = 4 * 1024 * 1024;

constexpr std::int64_t kTryAgainMs = 5000;
constexpr std::chrono::milliseconds kFlushAfter{1000};
constexpr std::chrono::milliseconds kBusyAgain{10};
// How long the destructor waits for the lock of a different writer.
constexpr std::int64_t kLastPatienceMs = 500;

enum class Flush { Line, Turn, Close };

class EventLog final : public plugin::EventSink {
public:
    static constexpr std::string_view kSettings = R"({
        "properties": {
            "file": {"type": "string", "minLength": 1},
            "max_bytes": {"type": "integer", "minimum": 0},
            "keep": {"type": "integer", "minimum": 0, "maximum": 1000},
            "flush": {"enum": ["line", "turn", "close"]}
        },
        "additionalProperties": false
    })";

    explicit EventLog(const plugin::Host& host) : EventLog(host, Settings(host.settings(), kId)) {}

    ~EventLog() {
        const std::int64_t deadline = steady_milliseconds() + kLastPatienceMs;
        LogFile::Outcome outcome = LogFile::Outcome::Written;
        try {
            while ((outcome = file_.append(waiting_)) == LogFile::Outcome::Busy &&
                   steady_milliseconds() < deadline) {
                ::poll(nullptr, 0, 1);
            }
            if (waiting_.empty() && lost_ == 0) return;
            for (const char letter : waiting_) lost_ += letter == '\n' ? 1 : 0;
            host_.log(plugin::Level::Error,
                      std::to_string(lost_) + " events are not in the log: " +
                          (outcome == LogFile::Outcome::Busy
                               ? "\"" + file_.path() + "\" is locked by a different writer"
                               : file_.problem()));
        } catch (...) {
            host_.log(plugin::Level::Error, "out of memory: the last events are not in the log");
        }
    }

    void event(const plugin::Event& event) override {
        // The buffer reaches this size only while the file cannot be written.
        if (waiting_.size() < kMaxWaiting) {
            event.append_json(waiting_);
            waiting_ += '\n';
        } else {
            ++lost_;
        }
        if (flush_ == Flush::Line || waiting_.size() >= kChunk ||
            (flush_ == Flush::Turn && ends_something(event.kind()))) {
            write();
        } else if (flush_ == Flush::Turn) {
            write_after(kFlushAfter);
        }
    }

private:
    EventLog(const plugin::Host& host, const Settings& settings)
        : host_(host),
          file_(path_of(host, settings),
                settings.number("max_bytes", UINT64_C(1) << 62, "max_bytes = 67108864")
                    .value_or(64 * 1024 * 1024),
                settings.number("keep", 1000, "keep = 3").value_or(3)),
          flush_(flush_of(settings)) {
        if (!file_.open()) note_failure(file_.problem());
    }

    static std::string path_of(const plugin::Host& host, const Settings& settings) {
        constexpr std::string_view example = "file = \"events.ndjson\"";
        const std::string name = settings.text("file", example).value_or("events.ndjson");
        if (name.empty() || name.find('\0') != std::string::npos) {
            throw settings.wrong("file", "the path of a file", example);
        }
        // Absolute, because the working folder may change later.
        return std::filesystem::absolute(std::filesystem::path(host.story()) / name).string();
    }

    static Flush flush_of(const Settings& settings) {
        constexpr std::string_view example = "flush = \"turn\"";
        const std::string word = settings.text("flush", example).value_or("turn");
        if (word == "line") return Flush::Line;
        if (word == "turn") return Flush::Turn;
        if (word == "close") return Flush::Close;
        throw settings.wrong("flush", "\"line\", \"turn\" or \"close\"", example);
    }

    // The player reads after these events, so a person may look at the log now.
    static bool ends_something(narratoria::Kind kind) {
        return kind == narratoria::Kind::PlanEnded || kind == narratoria::Kind::Narrative ||
               kind == narratoria::Kind::Warning;
    }

    void write() {
        if (is_failing_ && steady_milliseconds() < try_again_ms_) return;
        const LogFile::Outcome outcome = file_.append(waiting_);
        if (outcome == LogFile::Outcome::Written) {
            note_success();
            timer_.stop();
        } else if (outcome == LogFile::Outcome::Failed) {
            note_failure(file_.problem());
            write_after(std::chrono::milliseconds(kTryAgainMs));
        } else if (waiting_.size() >= kMaxWaiting) {
            note_failure("\"" + file_.path() + "\" is locked by a different writer");
            write_after(std::chrono::milliseconds(kTryAgainMs));
        } else {
            write_after(kBusyAgain);
        }
        note_rotation();
    }

    // If the host has no timers, a later event triggers the next write.
    void write_after(std::chrono::milliseconds time) {
        if (!has_timers_ || timer_.is_running()) return;
        try {
            if (is_timer_made_) {
                timer_.restart(time);
            } else {
                timer_ = plugin::Timer(host_, time, [this] { write(); });
                is_timer_made_ = true;
            }
        } catch (const narratoria::Error&) {
            has_timers_ = false;
        }
    }

    void note_failure(const std::string& why) {
        try_again_ms_ = steady_milliseconds() + kTryAgainMs;
        if (is_failing_) return;
        is_failing_ = true;
        host_.log(plugin::Level::Error, "events are not logged: " + why + "; retried every " +
                                            std::to_string(kTryAgainMs / 1000) + " seconds");
    }
    void note_success() {
        if (!is_failing_) return;
        is_failing_ = false;
        host_.log(
            plugin::Level::Warning,
            "events are logged again in \"" + file_.path() + "\"; " +
                (lost_ == 0 ? "no events were lost" : std::to_string(lost_) + " events were lost"));
        lost_ = 0;
    }
    void note_rotation() {
        const bool cannot_rotate = !file_.rotation_problem().empty();
        if (cannot_rotate && !cannot_rotate_) {
            host_.log(plugin::Level::Warning, file_.rotation_problem());
        }
        cannot_rotate_ = cannot_rotate;
    }

    const plugin::Host host_;
    LogFile file_;
    const Flush flush_;
    std::string waiting_;  // whole records
    std::uint64_t lost_ = 0;
    std::int64_t try_again_ms_ = 0;
    bool is_failing_ = false;
    bool cannot_rotate_ = false;
    bool has_timers_ = true;
    bool is_timer_made_ = false;
    plugin::Timer timer_;
};

}  // namespace

NARRATORIA_PLUGIN(EventLog, "narratoria.event_log", "Event log", "1.0.0",
                  "narratoria.event_sink/1");
