// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ToolContext of spec 002 for plugins. Not for direct use: include narratoria/plugin.hpp.

#include "narratoria/plugin_host.hpp"
#include "narratoria/state_metadata.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace narratoria::plugin {

// Key-value access to the session's state, with metadata for each key; narratoria/context.h has the
// rules. A Context from Invocation::context() belongs to the tool: its reads and writes come after
// the tool's output so far, and a write takes effect before the call returns. A Context made from
// a Host writes for the plugin.
//
// Engine thread. A tool that works on a different thread posts the call (Host::post), or writes a
// state_patch event. Copies are cheap and safe to keep. Functions that fail throw
// narratoria::Error: NAR_UNSUPPORTED if the host is older than this service, NAR_GONE after the end
// of the instance.
class Context {
public:
    explicit Context(const Host& host) : core_(host.core_) {}
    Context(std::shared_ptr<detail::Core> core, std::uint64_t token)
        : core_(std::move(core)), token_(token) {}

    // Sets the key to a JSON value. Returns false if the attempt has ended. Throws
    // NAR_INVALID_DOCUMENT or NAR_INVALID_ARGUMENT and then changes nothing.
    bool set_state(std::string_view key, std::string_view value) const {
        return wrote([&](const nar_host_context& functions, nar_failure* failure) {
            return functions.set_state(core_->host(), token_, detail::to_c(key),
                                       detail::to_c(value), nullptr, failure);
        });
    }
    // Also replaces the key's metadata.
    bool set_state(std::string_view key, std::string_view value,
                   const StateMetadata& metadata) const {
        return wrote([&](const nar_host_context& functions, nar_failure* failure) {
            return give(metadata, [&](const nar_state_metadata* given) {
                return functions.set_state(core_->host(), token_, detail::to_c(key),
                                           detail::to_c(value), given, failure);
            });
        });
    }

    // The key's value as JSON, or nothing.
    std::optional<std::string> get_state_value(std::string_view key) const {
        return read([&](const nar_host_context& functions, std::string& text) {
            return functions.get_state_value(core_->host(), detail::to_c(key),
                                             detail::write_to_string, &text);
        });
    }

    bool has_state(std::string_view key) const {
        return read([&](const nar_host_context& functions, std::string&) {
                   return functions.has_state(core_->host(), detail::to_c(key));
               })
            .has_value();
    }

    // The state, a JSON object.
    std::string get_all_state() const {
        return *read([&](const nar_host_context& functions, std::string& text) {
            return functions.get_all_state(core_->host(), detail::write_to_string, &text);
        });
    }

    // Removes all keys and all metadata. Returns false if the attempt has ended.
    bool clear_state() const {
        return wrote([&](const nar_host_context& functions, nar_failure* failure) {
            return functions.clear_state(core_->host(), token_, failure);
        });
    }

    // {"description": …, "formatter": true or false}, or nothing.
    std::optional<std::string> get_state_metadata(std::string_view key) const {
        return read([&](const nar_host_context& functions, std::string& text) {
            return functions.get_state_metadata(core_->host(), detail::to_c(key),
                                                detail::write_to_string, &text);
        });
    }

    // The metadata of all keys, a JSON object by key.
    std::string get_all_state_metadata() const {
        return *read([&](const nar_host_context& functions, std::string& text) {
            return functions.get_all_state_metadata(core_->host(), detail::write_to_string, &text);
        });
    }

    // Replaces the key's metadata. Throws NAR_INVALID_ARGUMENT if a text is too long.
    void register_state_metadata(std::string_view key, const StateMetadata& metadata) const {
        wrote([&](const nar_host_context& functions, nar_failure* failure) {
            return give(metadata, [&](const nar_state_metadata* given) {
                return functions.register_state_metadata(core_->host(), detail::to_c(key), given,
                                                         failure);
            });
        });
    }
    void remove_state_metadata(std::string_view key) const {
        wrote([&](const nar_host_context& functions, nar_failure* failure) {
            return functions.register_state_metadata(core_->host(), detail::to_c(key), nullptr,
                                                     failure);
        });
    }

    // The state as text for the prompt of a model: a line "key: value (description)" for each key.
    std::string format_state_for_prompt() const {
        return *read([&](const nar_host_context& functions, std::string& text) {
            return functions.format_state_for_prompt(core_->host(), detail::write_to_string, &text);
        });
    }

private:
    template <class Give>
    nar_status give(const StateMetadata& metadata, Give&& call) const {
        const auto guard = [core = core_](auto&& function) noexcept {
            detail::guard(*core, "a formatter of the state", function);
        };
        return narratoria::detail::give_metadata(metadata, guard, std::forward<Give>(call));
    }

    template <class Call>
    bool wrote(Call&& call) const {
        const auto& functions = core_->require<nar_host_context>();
        nar_failure failure{};
        failure.size = sizeof failure;
        const nar_status status = call(functions, &failure);
        if (status == NAR_OK) return true;
        if (token_ != 0 && (status == NAR_GONE || status == NAR_STALE)) return false;
        if (failure.message[0] != '\0') NARRATORIA_THROW(Error(status, {}, failure.message, {}));
        core_->check<nar_host_context>(status, "a write to the state");
        return false;
    }

    template <class Call>
    std::optional<std::string> read(Call&& call) const {
        const auto& functions = core_->require<nar_host_context>();
        // Ignore the status: if the tool has ended, the state can still be read.
        if (token_ != 0) functions.deliver_output(core_->host(), token_);
        std::string text;
        const nar_status status = call(functions, text);
        if (status == NAR_NOT_FOUND) return std::nullopt;
        core_->check<nar_host_context>(status, "reading the state");
        return text;
    }

    std::shared_ptr<detail::Core> core_;
    std::uint64_t token_ = 0;
};

}  // namespace narratoria::plugin
