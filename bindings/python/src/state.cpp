// SPDX-License-Identifier: Apache-2.0
// The session's state: reading, writing, and the metadata of its keys.
#include <memory>
#include <string>
#include <utility>

#include "host.hpp"
#include "registered.hpp"
#include "session.hpp"
#include "threads.hpp"
#include "value.hpp"

namespace narratoria::python {
namespace {

void check_write(nar_status status, const nar_failure& failure) {
    if (status == NAR_OK) return;
    const bool has_ended = status == NAR_GONE || status == NAR_STALE;
    throw Error(has_ended ? NAR_GONE : status, has_ended ? "TOOL_ENDED" : "STATE", failure.message,
                "");
}

}  // namespace

py::object Session::state(std::string_view pointer) {
    const CallScope inside(*this);
    return text(handle().state(pointer));
}

std::uint64_t Session::state_size(std::string_view pointer) {
    const CallScope inside(*this);
    return handle().state_size(pointer);
}

bool Session::has_state(std::string_view pointer) {
    const CallScope inside(*this);
    return handle().has_state(pointer);
}

void Session::patch_state(py::handle patch) {
    directly([&] {
        std::string json;
        append_json(json, patch, hooks_.attr("to_plain"));
        handle().patch_state(json);
    });
}

// Returns the host for the writes of a running tool; NULL for the session's own writes.
const nar_host* Session::writer(const std::shared_ptr<Invocation>& invocation) const {
    if (invocation == nullptr) return nullptr;
    if (invocation->session_ != this) {
        throw Error(NAR_GONE, "TOOL_ENDED", "the tool has ended and can no longer change the state",
                    "");
    }
    return invocation->host_;
}

// Calls `give` with the metadata as a C struct, or NULL. `give` throws on failure.
template <class Give>
void Session::give_metadata(std::string_view key, const py::object& metadata, Give&& give) {
    if (metadata.is_none()) return give(nullptr);
    const auto pair = py::cast<py::tuple>(metadata);
    const auto description = py::cast<std::string>(pair[0]);
    nar_state_metadata given{};
    given.size = sizeof given;
    given.description = detail::to_c(description);
    std::unique_ptr<Formatter> formatter;
    if (!pair[1].is_none()) {
        formatter = std::make_unique<Formatter>();
        formatter->session = this;
        formatter->key = key;
        formatter->function = py::object(pair[1]);
        given.user = formatter.get();
        given.format = Formatter::format;
        given.released = Formatter::released;
    }
    give(&given);
    // Last: `give` releases the previous formatter, which is found under the same key.
    if (formatter) formatters_[formatter->key] = formatter.get();
    static_cast<void>(formatter.release());
}

void Session::set_state(std::string_view key, py::handle value, py::object metadata,
                        std::shared_ptr<Invocation> invocation) {
    directly([&] {
        std::string json;
        append_json(json, value, hooks_.attr("to_plain"));
        const nar_host* const host = writer(invocation);
        give_metadata(key, metadata, [&](const nar_state_metadata* given) {
            if (host == nullptr) {
                narratoria::detail::Check check;
                return check(nar_session_set_state(handle().raw(), detail::to_c(key),
                                                   detail::to_c(json), given, check.details()));
            }
            nar_failure failure{};
            failure.size = sizeof failure;
            check_write(host_functions<nar_host_context>(host, NAR_HOST_CONTEXT)
                            .set_state(host, invocation->token(), detail::to_c(key),
                                       detail::to_c(json), given, &failure),
                        failure);
        });
    });
}

void Session::clear_state(std::shared_ptr<Invocation> invocation) {
    directly([&] {
        const nar_host* const host = writer(invocation);
        if (host == nullptr) return handle().clear_state();
        nar_failure failure{};
        failure.size = sizeof failure;
        check_write(host_functions<nar_host_context>(host, NAR_HOST_CONTEXT)
                        .clear_state(host, invocation->token(), &failure),
                    failure);
    });
}

void Session::register_state_metadata(std::string_view key, py::object metadata) {
    directly([&] {
        give_metadata(key, metadata, [&](const nar_state_metadata* given) {
            narratoria::detail::Check check;
            check(nar_session_register_state_metadata(handle().raw(), detail::to_c(key), given,
                                                      check.details()));
        });
    });
}

// Returns the description, and the formatter if it is a Python function.
py::object Session::metadata_of(std::string_view key, const py::handle& metadata) const {
    const auto found = formatters_.find(std::string(key));
    const bool is_here = found != formatters_.end();
    return py::make_tuple(metadata["description"],
                          is_here ? found->second->function : py::object(py::none()));
}

py::object Session::state_metadata(std::string_view key) {
    const CallScope inside(*this);
    auto found = handle().get_state_metadata(key);
    if (!found) return py::none();
    return metadata_of(key, text(std::move(*found)));
}

py::object Session::all_state_metadata() {
    const CallScope inside(*this);
    py::dict all;
    for (const auto& [key, metadata] : py::dict(text(handle().get_all_state_metadata()))) {
        all[key] = metadata_of(py::cast<std::string>(key), metadata);
    }
    return all;
}

py::object Session::format_state_for_prompt() {
    return directly([&] {
        const Text made = handle().format_state_for_prompt();
        return to_str(made.view());
    });
}

}  // namespace narratoria::python
