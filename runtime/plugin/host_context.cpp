// SPDX-License-Identifier: Apache-2.0
// Services of narratoria/context.h.
#include <optional>
#include <string>
#include <utility>

#include "base/given_struct.hpp"
#include "base/json/pointer.hpp"
#include "base/view.hpp"
#include "plugin/given_metadata.hpp"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"
#include "plugin/invocation.hpp"

namespace narratoria::plugin {
namespace {

// Delivers the tool's output so far, and finds its receiver.
nar_status deliver_output(Instance& instance, uint64_t token, InvocationReceiver*& receiver,
                          std::string& why) {
    Inbox& inbox = instance.inbox();
    Inbox::Found found = inbox.find(&instance, token);
    if (found.status == NAR_OK) {
        if (instance.session().is_publishing() ||
            static_cast<InvocationReceiver*>(found.receiver)->is_delivering()) {
            why = "an event is being handled; post the call (narratoria.post/1)";
            return NAR_REENTRANT;
        }
        inbox.deliver_output(token);
        found = inbox.find(&instance, token);
    }
    if (found.status != NAR_OK) {
        why = found.status == NAR_INVALID_ARGUMENT ? kIsSynchronous
                                                   : "the invocation has ended, or never existed";
        return found.status;
    }
    receiver = static_cast<InvocationReceiver*>(found.receiver);
    return NAR_OK;
}

// Delivers the invocation's output so far, so that a following write takes effect after it. `apply`
// then applies the patch; it stays empty for token 0.
nar_status begin_write(Instance& instance, uint64_t token, ApplyPatch& apply, std::string& why) {
    if (instance.disabled()) {
        why = "the plugin is disabled";
        return NAR_GONE;
    }
    if (token == 0) return NAR_OK;
    InvocationReceiver* receiver = nullptr;
    const nar_status status = deliver_output(instance, token, receiver, why);
    if (status != NAR_OK) return status;
    apply = [receiver](const state::Replacement& patch, std::string& reason) {
        return receiver->on_patch(patch, reason);
    };
    return NAR_OK;
}

nar_status context_deliver_output(const nar_host* host, uint64_t token) {
    return on_engine_thread(host, "context.deliver_output", [&](Instance& instance) {
        InvocationReceiver* receiver = nullptr;
        std::string why;
        return deliver_output(instance, token, receiver, why);
    });
}

// Calls `set` with the given metadata, if any. If `set` succeeds, the session owns the metadata.
template <typename Set>
nar_status with_metadata(Instance& instance, const nar_state_metadata* given, std::string& why,
                         Set&& set) {
    nar_state_metadata read;
    why = read_struct(given, read);
    if (!why.empty()) {
        why.insert(0, "nar_state_metadata ");
        return NAR_INVALID_ARGUMENT;
    }
    if (given == nullptr) return set(std::nullopt);
    // The instance outlives the calls: the session clears all metadata before it destroys
    // instances.
    const auto call = [&instance](const auto& function) {
        instance.call("a formatter of the state", function);
    };
    const auto release = [&instance](const auto& function) {
        instance.call_always("the release of a formatter", function);
    };
    GivenMetadata metadata(read, call, release);
    const nar_status status = set(metadata.description());
    if (status == NAR_OK) metadata.keep();
    return status;
}

nar_status context_set_state(const nar_host* host, uint64_t token, nar_str key, nar_str value,
                             const nar_state_metadata* metadata, nar_failure* failure) {
    return on_engine_thread(host, "context.set_state", [&](Instance& instance) {
        std::string why;
        ApplyPatch apply;
        nar_status status = begin_write(instance, token, apply, why);
        if (status == NAR_OK) {
            status = with_metadata(instance, metadata, why, [&](auto description) {
                return instance.session().set_state(given_text(key), given_text(value),
                                                    std::move(description), apply,
                                                    instance.library().id, why);
            });
        }
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status context_clear_state(const nar_host* host, uint64_t token, nar_failure* failure) {
    return on_engine_thread(host, "context.clear_state", [&](Instance& instance) {
        std::string why;
        ApplyPatch apply;
        nar_status status = begin_write(instance, token, apply, why);
        if (status == NAR_OK) {
            status = instance.session().clear_state(apply, instance.library().id, why);
        }
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status context_register(const nar_host* host, nar_str key, const nar_state_metadata* metadata,
                            nar_failure* failure) {
    return on_engine_thread(host, "context.register_state_metadata", [&](Instance& instance) {
        std::string why = "the plugin is disabled";
        nar_status status = NAR_GONE;
        if (!instance.disabled()) {
            why.clear();
            status = with_metadata(instance, metadata, why, [&](auto description) {
                return instance.session().register_state_metadata(given_text(key),
                                                                  std::move(description), why);
            });
        }
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status read_key(Instance& instance, nar_str key, std::string& text) {
    std::string pointer;
    json::append_pointer(pointer, given_text(key));
    return instance.session().read_state(pointer, text);
}

nar_status context_get(const nar_host* host, nar_str key, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "context.get_state_value", [&](Instance& instance) {
        std::string text;
        const nar_status status = read_key(instance, key, text);
        return status == NAR_OK ? write_out(instance, text, write, user) : status;
    });
}

nar_status context_has(const nar_host* host, nar_str key) {
    return on_engine_thread(host, "context.has_state", [&](Instance& instance) {
        std::string text;
        return read_key(instance, key, text);
    });
}

nar_status context_get_all(const nar_host* host, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "context.get_all_state", [&](Instance& instance) {
        std::string text;
        const nar_status status = instance.session().read_state("", text);
        return status == NAR_OK ? write_out(instance, text, write, user) : status;
    });
}

nar_status context_get_metadata(const nar_host* host, nar_str key, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(
        host, "context.get_state_metadata", [&](Instance& instance) -> nar_status {
            const auto found = instance.session().state_metadata().find(given_text(key));
            if (found == nullptr) return NAR_NOT_FOUND;
            std::string text;
            state::Metadata::append_json(text, *found);
            return write_out(instance, text, write, user);
        });
}

nar_status context_get_all_metadata(const nar_host* host, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "context.get_all_state_metadata", [&](Instance& instance) {
        std::string text;
        instance.session().state_metadata().append_json(text);
        return write_out(instance, text, write, user);
    });
}

nar_status context_format(const nar_host* host, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "context.format_state_for_prompt", [&](Instance& instance) {
        std::string text;
        instance.session().format_state_for_prompt(text);
        return write_out(instance, text, write, user);
    });
}

}  // namespace

const nar_host_context context_service{sizeof(nar_host_context),
                                       0,
                                       context_set_state,
                                       context_get,
                                       context_has,
                                       context_get_all,
                                       context_clear_state,
                                       context_get_metadata,
                                       context_get_all_metadata,
                                       context_register,
                                       context_format,
                                       context_deliver_output};

}  // namespace narratoria::plugin
