// SPDX-License-Identifier: Apache-2.0
// The fake host's narratoria.context extension (narratoria/context.h). Its state never changes. It
// calls and releases a formatter at once.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "io/message.hpp"
#include "json.hpp"
#include "plugin_check/fake_host.hpp"

namespace narratoria::command::plugin_check {
namespace {

constexpr std::string_view kKey = "visits";
constexpr std::string_view kEnded = "the invocation has ended";
constexpr std::string_view kAll = R"({"visits":3})";

nar_status ignore(void*, nar_str) { return NAR_OK; }

}  // namespace

bool PluginCheckHost::use(const nar_state_metadata* metadata, const char* function,
                          nar_failure* failure) {
    if (metadata == nullptr) return true;
    std::uint32_t size = 0;
    std::memcpy(&size, metadata, sizeof size);
    if (size < sizeof size || size > kMaxStructSize) {
        report_.add_finding("P34",
                            fmt::format("{}: nar_state_metadata.size is {}", function, size));
        write_reason(failure, "the size of the metadata is not valid");
        return false;
    }
    nar_state_metadata given{};
    std::memcpy(&given, metadata, std::min<std::size_t>(size, sizeof given));
    if (given.format != nullptr) given.format(given.user, NAR_STR("3"), ignore, nullptr);
    if (given.released != nullptr) given.released(given.user);
    return true;
}

bool PluginCheckHost::has_open_invocation(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    const auto found = invocations_.find(token);
    return found != invocations_.end() && found->second.ends == 0 &&
           !found->second.is_handed_over && !found->second.is_refused;
}

nar_status PluginCheckHost::context_set_state(const nar_host* host, std::uint64_t token,
                                              nar_str key, nar_str value,
                                              const nar_state_metadata* metadata,
                                              nar_failure* failure) {
    nar_status status;
    PluginCheckHost* self = entered(host, "context.set_state", kInActive, true, &status);
    if (self == nullptr) return status;
    if (!self->text_is_good(key, "context.set_state", "the key")) {
        write_reason(failure, "the key is not UTF-8");
        return NAR_INVALID_ARGUMENT;
    }
    json::Document document;
    if (value.data != nullptr) document.Parse(value.data, value.size);
    if (value.data == nullptr || document.HasParseError()) {
        self->report_.add_finding("P34", "context.set_state: the value is not JSON");
        write_reason(failure, "the value is not JSON");
        return NAR_INVALID_DOCUMENT;
    }
    if (token != 0 && !self->has_open_invocation(token)) {
        write_reason(failure, kEnded);
        return NAR_GONE;
    }
    return self->use(metadata, "context.set_state", failure) ? NAR_OK : NAR_INVALID_ARGUMENT;
}

nar_status PluginCheckHost::context_get_state_value(const nar_host* host, nar_str key,
                                                    nar_write_fn write, void* user) {
    const nar_status status = context_has_state(host, key);
    if (status != NAR_OK) return status;
    return write != nullptr ? write(user, NAR_STR("3")) : NAR_INVALID_ARGUMENT;
}

nar_status PluginCheckHost::context_has_state(const nar_host* host, nar_str key) {
    nar_status status;
    PluginCheckHost* self = entered(host, "context.has_state", kInActive, true, &status);
    if (self == nullptr) return status;
    if (!self->text_is_good(key, "context.has_state", "the key")) return NAR_INVALID_ARGUMENT;
    return to_view(key) == kKey ? NAR_OK : NAR_NOT_FOUND;
}

nar_status PluginCheckHost::context_get_all_state(const nar_host* host, nar_write_fn write,
                                                  void* user) {
    nar_status status;
    if (entered(host, "context.get_all_state", kInActive, true, &status) == nullptr) return status;
    return write != nullptr ? write(user, to_c(kAll)) : NAR_INVALID_ARGUMENT;
}

nar_status PluginCheckHost::context_clear_state(const nar_host* host, std::uint64_t token,
                                                nar_failure* failure) {
    nar_status status;
    PluginCheckHost* self = entered(host, "context.clear_state", kInActive, true, &status);
    if (self == nullptr) return status;
    if (token == 0 || self->has_open_invocation(token)) return NAR_OK;
    write_reason(failure, kEnded);
    return NAR_GONE;
}

nar_status PluginCheckHost::context_get_state_metadata(const nar_host* host, nar_str key,
                                                       nar_write_fn write, void* user) {
    const nar_status status = context_has_state(host, key);
    if (status != NAR_OK) return status;
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return write(user, NAR_STR(R"({"description":"times","formatter":false})"));
}

nar_status PluginCheckHost::context_get_all_state_metadata(const nar_host* host, nar_write_fn write,
                                                           void* user) {
    nar_status status;
    if (entered(host, "context.get_all_state_metadata", kInActive, true, &status) == nullptr) {
        return status;
    }
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return write(user, NAR_STR(R"({"visits":{"description":"times","formatter":false}})"));
}

nar_status PluginCheckHost::context_register_state_metadata(const nar_host* host, nar_str key,
                                                            const nar_state_metadata* metadata,
                                                            nar_failure* failure) {
    nar_status status;
    PluginCheckHost* self =
        entered(host, "context.register_state_metadata", kInActive, true, &status);
    if (self == nullptr) return status;
    if (!self->text_is_good(key, "context.register_state_metadata", "the key")) {
        write_reason(failure, "the key is not UTF-8");
        return NAR_INVALID_ARGUMENT;
    }
    return self->use(metadata, "context.register_state_metadata", failure) ? NAR_OK
                                                                           : NAR_INVALID_ARGUMENT;
}

nar_status PluginCheckHost::context_format_state_for_prompt(const nar_host* host,
                                                            nar_write_fn write, void* user) {
    nar_status status;
    if (entered(host, "context.format_state_for_prompt", kInActive, true, &status) == nullptr) {
        return status;
    }
    return write != nullptr ? write(user, NAR_STR("visits: 3 (times)")) : NAR_INVALID_ARGUMENT;
}

nar_status PluginCheckHost::context_deliver_output(const nar_host* host, std::uint64_t token) {
    nar_status status;
    PluginCheckHost* self = entered(host, "context.deliver_output", kInActive, true, &status);
    if (self == nullptr) return status;
    return self->has_open_invocation(token) ? NAR_OK : NAR_GONE;
}

}  // namespace narratoria::command::plugin_check
