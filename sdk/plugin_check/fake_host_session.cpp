// SPDX-License-Identifier: Apache-2.0
// The fake host's session extensions (narratoria/host_session.h): log, settings, state, assets and
// prompts.
#include <fmt/core.h>
#include <rapidjson/pointer.h>
#include <unistd.h>

#include <utility>

#include "display.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "plugin_check/fake_host.hpp"

namespace narratoria::command::plugin_check {
namespace {

// Most bytes of a log message that are shown, because the plugin's call waits for the write.
constexpr std::size_t kMaxShown = 4096;
constexpr std::string_view kState =
    R"({"inventory":{"torch":{"lit":true}},"visits":3,"name":"Ada \u00e9","nothing":null})";

}  // namespace

void PluginCheckHost::log_write(const nar_host* host, std::uint32_t level, nar_str message) {
    nar_status status;
    PluginCheckHost* self =
        entered(host, "log.write", kInInit | kInActive | kInDeinit, false, &status);
    if (self == nullptr) return;
    if (level < 1 || level > 4) {
        self->report_.add_finding(
            "P34",
            fmt::format("log.write: the level is {}; valid are 1 debug, 2 info, 3 warning, 4 error",
                        level));
    }
    if (!self->text_is_good(message, "log.write", "the message")) return;
    const std::string line =
        fmt::format("log {}: {}\n", level, printable(to_view(message).substr(0, kMaxShown)));
    write_all(STDERR_FILENO, line);
}

nar_str PluginCheckHost::config_settings(const nar_host* host) {
    nar_status status;
    PluginCheckHost* self = entered(host, "config.settings", kInInit | kInActive, false, &status);
    return self != nullptr ? self->settings_ : NAR_STR("{}");
}

nar_str PluginCheckHost::config_story(const nar_host* host) {
    nar_status status;
    entered(host, "config.story", kInInit | kInActive, false, &status);
    return nar_str{nullptr, 0};
}

nar_str PluginCheckHost::config_title(const nar_host* host) {
    nar_status status;
    entered(host, "config.title", kInInit | kInActive, false, &status);
    return nar_str{nullptr, 0};
}

nar_str PluginCheckHost::config_opening(const nar_host* host) {
    nar_status status;
    entered(host, "config.opening", kInInit | kInActive, false, &status);
    return nar_str{nullptr, 0};
}

nar_str PluginCheckHost::config_language(const nar_host* host) {
    nar_status status;
    entered(host, "config.language", kInInit | kInActive, false, &status);
    return nar_str{nullptr, 0};
}

nar_status PluginCheckHost::config_withhold(const nar_host* host, nar_str name) {
    nar_status status;
    PluginCheckHost* self = entered(host, "config.withhold", kInInit | kInActive, true, &status);
    if (self == nullptr) return status;
    if (!self->text_is_good(name, "config.withhold", "the name")) return NAR_INVALID_ARGUMENT;
    if (name.size > 0 && to_view(name).find('=') == std::string_view::npos) return NAR_OK;
    self->report_.add_finding("P34", fmt::format("config.withhold: \"{}\" is not the name of a "
                                                 "variable",
                                                 printable(to_view(name))));
    return NAR_INVALID_ARGUMENT;
}

nar_status PluginCheckHost::config_publish(const nar_host* host, nar_str name, nar_str value) {
    constexpr std::size_t most_name_bytes = 64;
    constexpr std::size_t most_value_bytes = 4096;
    constexpr std::size_t most_names = 32;
    nar_status status;
    PluginCheckHost* self = entered(host, "config.publish", kInActive, true, &status);
    if (self == nullptr) return status;
    if (!self->text_is_good(name, "config.publish", "the name") ||
        !self->text_is_good(value, "config.publish", "the value")) {
        return NAR_INVALID_ARGUMENT;
    }
    const std::string_view text = to_view(name);
    if (text.empty() || text.size() > most_name_bytes ||
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") != text.npos) {
        self->report_.add_finding("P34",
                                  fmt::format("config.publish: the name is \"{}\"; a name is "
                                              "a-z 0-9 . _ -, 1 to {} bytes",
                                              printable(text), most_name_bytes));
        return NAR_INVALID_ARGUMENT;
    }
    if (value.size > most_value_bytes) {
        self->report_.add_finding("P34",
                                  fmt::format("config.publish: the value has {} bytes; at most "
                                              "{} are allowed",
                                              value.size, most_value_bytes));
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(self->mutex_);
    if (value.size == 0) {
        self->published_.erase(std::string(text));
    } else if (self->published_.size() < most_names) {
        self->published_.emplace(text);
    } else if (!self->published_.contains(text)) {
        self->report_.add_finding(
            "P34", fmt::format("config.publish: \"{}\" exceeds the limit of {} names that have a "
                               "value at a time",
                               printable(text), most_names));
        return NAR_INVALID_ARGUMENT;
    }
    return NAR_OK;
}

std::uint32_t PluginCheckHost::thread_check_is_engine_thread(const nar_host* host) {
    nar_status status;
    PluginCheckHost* self = entered(host, "thread_check.is_engine_thread",
                                    kInInit | kInActive | kInDeinit, false, &status);
    return self != nullptr && self->is_engine_thread() ? 1 : 0;
}

nar_status PluginCheckHost::state_read(const nar_host* host, nar_str pointer, nar_write_fn write,
                                       void* user) {
    nar_status status;
    PluginCheckHost* self = entered(host, "state.read", kInActive, true, &status);
    if (self == nullptr) return status;
    if (write == nullptr || !self->text_is_good(pointer, "state.read", "the pointer")) {
        return NAR_INVALID_ARGUMENT;
    }
    const rapidjson::Pointer path(pointer.data != nullptr ? pointer.data : "", pointer.size);
    if (!path.IsValid()) {
        self->report_.add_finding(
            "P34", fmt::format("state.read: {} is not a JSON Pointer", to_view(pointer)));
        return NAR_INVALID_ARGUMENT;
    }
    const json::Document state = json::read(kState);
    const json::Value* found = path.Get(state);
    if (found == nullptr) return NAR_NOT_FOUND;
    // In two pieces, because the ABI permits any number of them.
    const std::string text = json::line(*found);
    const std::string_view whole = text;
    const nar_status first = write(user, to_c(whole.substr(0, whole.size() / 2)));
    if (first != NAR_OK) return first;
    return write(user, to_c(whole.substr(whole.size() / 2)));
}

nar_status PluginCheckHost::state_patch(const nar_host* host, nar_str patch) {
    nar_status status;
    PluginCheckHost* self = entered(host, "state.patch", kInActive, true, &status);
    if (self == nullptr) return status;
    return self->object_is_good(patch, "state.patch") ? NAR_OK : NAR_INVALID_DOCUMENT;
}

nar_status PluginCheckHost::assets_list(const nar_host* host, nar_write_fn write, void* user) {
    nar_status status;
    PluginCheckHost* self = entered(host, "assets.list", kInActive, true, &status);
    if (self == nullptr) return status;
    return write != nullptr ? write(user, NAR_STR("[]")) : NAR_INVALID_ARGUMENT;
}

nar_status PluginCheckHost::render_rendered(const nar_host* host, std::uint64_t seq,
                                            nar_status result) {
    nar_status status;
    PluginCheckHost* self = entered(host, "render.rendered", kInActive, true, &status);
    if (self == nullptr) return status;
    if (result == NAR_PENDING) {
        self->report_.add_finding("P34", "render.rendered: the status is NAR_PENDING");
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(self->mutex_);
    return self->renderings_.erase(seq) == 1 ? NAR_OK : NAR_NOT_FOUND;
}

nar_status PluginCheckHost::prompt_submit(const nar_host* host, nar_str text,
                                          std::uint64_t* submission) {
    nar_status status;
    PluginCheckHost* self = entered(host, "prompt.submit", kInActive, true, &status);
    if (self == nullptr) return status;
    if (!self->text_is_good(text, "prompt.submit", "the text")) return NAR_INVALID_ARGUMENT;
    const std::lock_guard lock(self->mutex_);
    if (self->prompt_pending_) return NAR_BUSY;
    self->prompt_pending_ = true;
    ++self->submission_;
    if (submission != nullptr) *submission = self->submission_;
    return NAR_OK;
}

std::uint64_t PluginCheckHost::prompt_submission(const nar_host* host) {
    nar_status status;
    PluginCheckHost* self = entered(host, "prompt.submission", kInActive, true, &status);
    if (self == nullptr) return 0;
    const std::lock_guard lock(self->mutex_);
    return self->prompt_pending_ ? self->submission_ : 0;
}

nar_status PluginCheckHost::prompt_cancel(const nar_host* host, std::uint64_t submission) {
    nar_status status;
    PluginCheckHost* self = entered(host, "prompt.cancel", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    if (!self->prompt_pending_ || submission != self->submission_) return NAR_NOT_FOUND;
    self->prompt_pending_ = false;
    return NAR_OK;
}

nar_status PluginCheckHost::prompt_cancel_all(const nar_host* host) {
    nar_status status;
    PluginCheckHost* self = entered(host, "prompt.cancel_all", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    self->prompt_pending_ = false;
    return NAR_OK;
}

// This host's session has no store.
nar_status PluginCheckHost::turns_go_to(const nar_host* host, std::uint64_t, std::uint64_t*) {
    nar_status status;
    return entered(host, "turns.go_to", kInActive, true, &status) ? NAR_UNSUPPORTED : status;
}

nar_status PluginCheckHost::turns_again(const nar_host* host, std::uint64_t, std::uint64_t*) {
    nar_status status;
    return entered(host, "turns.again", kInActive, true, &status) ? NAR_UNSUPPORTED : status;
}

nar_status PluginCheckHost::turns_read(const nar_host* host, std::uint64_t, std::uint32_t,
                                       nar_write_fn, void*) {
    nar_status status;
    return entered(host, "turns.read", kInActive, true, &status) ? NAR_UNSUPPORTED : status;
}

nar_status PluginCheckHost::turns_resume(const nar_host* host, std::uint64_t, std::uint32_t,
                                         std::uint64_t*) {
    nar_status status;
    return entered(host, "turns.resume", kInActive, true, &status) ? NAR_UNSUPPORTED : status;
}

void PluginCheckHost::expect_rendering(std::uint64_t seq) {
    const std::lock_guard lock(mutex_);
    renderings_.insert(seq);
}

std::size_t PluginCheckHost::pending_renderings() const {
    const std::lock_guard lock(mutex_);
    return renderings_.size();
}

bool PluginCheckHost::consume_prompt() {
    const std::lock_guard lock(mutex_);
    return std::exchange(prompt_pending_, false);
}

}  // namespace narratoria::command::plugin_check
