// SPDX-License-Identifier: Apache-2.0
// Services of narratoria/host.h.
#include "base/bytes/utf8.hpp"
#include "base/view.hpp"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"

namespace narratoria::plugin {
namespace {

void log_write(const nar_host* host, uint32_t level, nar_str message) {
    from_any_thread(host, [&](Instance& instance) {
        if (level < NAR_LOG_DEBUG || level > NAR_LOG_ERROR) level = NAR_LOG_INFO;
        std::string line = instance.library().id + ": " + utf8::repaired(given_text(message));
        if (instance.session().on_engine_thread()) instance.session().log(level, line);
        else instance.inbox().log(level, std::move(line), instance.session().session_id());
        return NAR_OK;
    });
}

// The returned views are valid until deinit has returned, like the instance.
nar_str config_settings(const nar_host* host) {
    nar_str out{"{}", 2};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.settings().data(), instance.settings().size()};
        return NAR_OK;
    });
    return out;
}

nar_str config_story(const nar_host* host) {
    nar_str out{"", 0};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.story().folder.data(), instance.story().folder.size()};
        return NAR_OK;
    });
    return out;
}

nar_str config_title(const nar_host* host) {
    nar_str out{"", 0};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.story().title.data(), instance.story().title.size()};
        return NAR_OK;
    });
    return out;
}

nar_str config_opening(const nar_host* host) {
    nar_str out{"", 0};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.story().opening.data(), instance.story().opening.size()};
        return NAR_OK;
    });
    return out;
}

nar_str config_language(const nar_host* host) {
    nar_str out{"", 0};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.story().language.data(), instance.story().language.size()};
        return NAR_OK;
    });
    return out;
}

nar_status config_publish(const nar_host* host, nar_str name, nar_str value) {
    return on_engine_thread(host, "config.publish", [&](Instance& instance) -> nar_status {
        if (instance.disabled()) return NAR_GONE;
        std::string reason;
        if (instance.published.put(given_text(name), given_text(value), reason)) return NAR_OK;
        instance.report("config.publish: " + reason);
        return NAR_INVALID_ARGUMENT;
    });
}

nar_status config_withhold(const nar_host* host, nar_str name) {
    return from_any_thread(host, [&](Instance& instance) -> nar_status {
        if (!instance.session().on_engine_thread()) {
            instance.report("config.withhold was called outside the engine thread");
            return NAR_WRONG_THREAD;
        }
        const std::string_view variable = given_text(name);
        if (variable.empty() ||
            variable.find_first_of(std::string_view("=\0", 2)) != variable.npos) {
            return NAR_INVALID_ARGUMENT;
        }
        instance.session().withhold_variable(variable);
        return NAR_OK;
    });
}

uint32_t thread_check(const nar_host* host) {
    uint32_t out = 0;
    from_any_thread(host, [&](Instance& instance) {
        out = instance.session().on_engine_thread() ? 1 : 0;
        return NAR_OK;
    });
    return out;
}

}  // namespace

const nar_host_log log_service{sizeof(nar_host_log), 0, log_write};
const nar_host_config config_service{sizeof(nar_host_config),
                                     0,
                                     config_settings,
                                     config_story,
                                     config_title,
                                     config_opening,
                                     config_language,
                                     config_publish,
                                     config_withhold};
const nar_host_thread_check thread_check_service{sizeof(nar_host_thread_check), 0, thread_check};

}  // namespace narratoria::plugin
