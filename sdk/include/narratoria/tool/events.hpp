// SPDX-License-Identifier: Apache-2.0
#pragma once
// The events.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include "failure.hpp"
#include "json_value.hpp"

namespace narratoria::tool {

enum class Level { Debug, Info, Warn, Error };

/// The event stream of one attempt. Each call writes one complete line, so the runtime can read
/// the event when the call returns. `fields`, `metadata`, `payload` and `details` are omitted if null
/// and must be objects otherwise.
///
/// An event that violates the protocol is not sent: an empty message, name or path, a value that is
/// not an object where one is required, or an event after `done` throws `std::logic_error`.
class Events {
public:
    /// The caller owns the descriptor, and closes it after this object is destroyed.
    explicit Events(int descriptor = STDOUT_FILENO) noexcept : descriptor_(descriptor) {}

    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    /// Emits a log event (spec 000 §4.1).
    void log(Level level, std::string_view message, const json::Value& fields = {}) {
        Line line("log");
        line.string("level", name_of(level));
        line.required("message", message);
        line.object("fields", fields);
        send(line);
    }

    /// Reports progress: a log event with `fields.progress` from 0 to 1. Values outside are clamped.
    void progress(double fraction, std::string_view message, Level level = Level::Info) {
        const double shown = fraction > 0 ? std::min(fraction, 1.0) : 0.0;
        log(level, message, json::object({{"progress", shown}}));
    }

    /// Emits a state patch (spec 000 §4.2): objects merge, arrays and other values replace, null
    /// removes.
    void patch(const json::Value& patch) {
        if (patch.kind() != json::Kind::Object) {
            throw std::invalid_argument(
                std::string("a state_patch event's patch must be an object, is ") +
                json::name_of(patch.kind()));
        }
        Line line("state_patch");
        line.object("patch", patch);
        send(line);
    }

    /// Announces a file (spec 000 §4.3), which must be complete and readable. The tool owns the file;
    /// the runtime never deletes it. `id` is unique within the attempt, `kind` a category
    /// ("image", "audio"), `media_type` a MIME type ("image/png"), `path` preferably absolute.
    void asset(std::string_view id, std::string_view kind, std::string_view media_type,
               std::string_view path, const json::Value& metadata = {}) {
        Line line("asset");
        line.required("assetId", id);
        line.required("kind", kind);
        line.required("mediaType", media_type);
        line.required("path", path);
        line.object("metadata", metadata);
        send(line);
    }

    /// Requests an action of the user interface (spec 000 §4.4), which may not support it:
    /// `ui_event("narrative_choice", json::object({{"choices", json::array({"Open", "Leave"})}}))`.
    void ui_event(std::string_view event, const json::Value& payload = {}) {
        Line line("ui_event");
        line.required("event", event);
        line.object("payload", payload);
        send(line);
    }

    /// Reports an error (spec 000 §4.5). The attempt continues: end it with `done(false)`, or
    /// throw a `Failure`, which does both.
    void error(std::string_view code, std::string_view message, const json::Value& details = {}) {
        Line line("error");
        line.required("errorCode", code);
        line.required("errorMessage", message);
        line.object("details", details);
        send(line);
        const std::lock_guard<std::mutex> lock(mutex_);
        had_error_ = true;
    }

    /// Ends the attempt (spec 000 §4.6), once. `result`, of any kind, is the return value for the
    /// caller and for dependent tools; null omits it.
    void done(bool ok, std::string_view summary = {}, const json::Value& result = {}) {
        Line line("done");
        line.boolean("ok", ok);
        if (!summary.empty()) {
            line.string("summary", summary);
        }
        if (!result.is_null()) {
            line.value("result", result);
        }
        send(line, true);
    }

    bool is_done() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return done_;
    }

    bool had_error() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return had_error_;
    }

private:
    /// Builds the line of one event.
    class Line {
    public:
        explicit Line(std::string_view type) : type_(type) {
            text_ = R"({"version":"0")";
            string("type", type);
        }

        void string(std::string_view name, std::string_view value) {
            begin(name);
            json::append_quoted(text_, value);
        }

        void required(std::string_view name, std::string_view value) {
            if (value.empty()) {
                throw std::invalid_argument(field(name) + " must not be empty");
            }
            string(name, value);
        }

        void object(std::string_view name, const json::Value& value_or_null) {
            if (value_or_null.is_null()) {
                return;
            }
            if (value_or_null.kind() != json::Kind::Object) {
                throw std::invalid_argument(field(name) + " must be an object, is " +
                                            json::name_of(value_or_null.kind()));
            }
            value(name, value_or_null);
        }

        void boolean(std::string_view name, bool flag) {
            begin(name);
            text_ += flag ? "true" : "false";
        }

        void value(std::string_view name, const json::Value& any) {
            begin(name);
            any.append_text(text_);
        }

        std::string_view type() const noexcept { return type_; }

        std::string_view finish() {
            text_ += "}\n";
            return text_;
        }

    private:
        void begin(std::string_view name) {
            text_ += ",\"";
            text_ += name;
            text_ += "\":";
        }

        std::string field(std::string_view name) const {
            return "the " + std::string(name) + " of an event of type " + std::string(type_);
        }

        std::string_view type_;
        std::string text_;
    };

    static std::string_view name_of(Level level) noexcept {
        switch (level) {
            case Level::Debug: return "debug";
            case Level::Warn: return "warn";
            case Level::Error: return "error";
            case Level::Info: break;
        }
        return "info";
    }

    void send(Line& line, bool last = false) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (done_) {
            throw std::logic_error("an event of type " + std::string(line.type()) +
                                   " was emitted after done, which ends the invocation");
        }
        write_whole(line.finish());
        done_ = last;
    }

    void write_whole(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t written = ::write(descriptor_, text.data(), text.size());
            if (written >= 0) {
                text.remove_prefix(static_cast<std::size_t>(written));
            } else if (errno == EAGAIN) {
                pollfd writable{descriptor_, POLLOUT, 0};
                ::poll(&writable, 1, -1);
            } else if (errno != EINTR) {
                throw OutputLost(errno);
            }
        }
    }

    int descriptor_;
    mutable std::mutex mutex_;
    bool done_ = false;
    bool had_error_ = false;
};

}  // namespace narratoria::tool
