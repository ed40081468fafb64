// SPDX-License-Identifier: Apache-2.0
// Adds tools, handlers, narrators and sinks to a session, and removes them.
#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "limits.hpp"
#include "narratoria/narrator.h"
#include "registered.hpp"
#include "session.hpp"
#include "value.hpp"

namespace narratoria::python {
namespace {

// The owner of the tools that Python registers.
constexpr std::string_view kOwner = "python";

}  // namespace

template <class Each>
Each& Session::keep(py::object function) {
    auto made = std::make_unique<Each>();
    made->session = this;
    made->function = std::move(function);
    Each& out = *made;
    registrations_.push_back(std::move(made));
    return out;
}

template <class Functions>
void Session::extend(Registration& given, const char* extension, const Functions& functions) {
    try {
        given.host = handle().extend("python", extension, &functions, &given);
    } catch (...) {
        std::erase_if(registrations_, [&](const auto& each) { return each.get() == &given; });
        throw;
    }
}

// A retired object may be running, so it is kept until no thread is inside.
void Session::retire(const Registration& given) noexcept {
    assert(PyGILState_Check());
    const auto found = std::find_if(registrations_.begin(), registrations_.end(),
                                    [&](const auto& each) { return each.get() == &given; });
    if (found == registrations_.end()) return;
    retired_.push_back(std::move(*found));
    registrations_.erase(found);
}

void Session::replace(Registration*& latest, Registration& made) {
    if (Registration* const before = std::exchange(latest, &made)) replaced_.push_back(before);
    drop_replaced();
}

// Replaced functions can only be called by turns that began before the replacement.
void Session::drop_replaced() {
    if (!tickets_.empty()) return;
    std::vector<py::object> dropped;
    for (Registration* const each : std::exchange(replaced_, {})) {
        dropped.push_back(std::exchange(each->function, py::none()));
    }
}

std::shared_ptr<PendingCall> Session::take_pending_call(std::uint64_t token) {
    const auto found = pending_calls_.find(token);
    if (found == pending_calls_.end()) return nullptr;
    std::shared_ptr<PendingCall> out = std::move(found->second);
    pending_calls_.erase(found);
    return out;
}

std::uint64_t Session::attach(py::object sink, std::uint32_t kinds) {
    const CallScope inside(*this);
    Sink& made = keep<Sink>(std::move(sink));
    made.number = handle().attach(std::ref(made), kinds);
    return made.number;
}

void Session::detach(std::uint64_t sink) {
    const CallScope inside(*this);
    handle().detach(sink);
    const auto found =
        std::find_if(registrations_.begin(), registrations_.end(), [&](const auto& each) {
            const auto* attached = dynamic_cast<const Sink*>(each.get());
            return attached != nullptr && attached->number == sink;
        });
    retire(**found);
}

const nar_host* Session::register_tool(nar_tool_registration& registration, std::string_view name,
                                       std::string_view description, py::handle input_schema,
                                       py::handle result_schema, std::uint32_t flags,
                                       std::uint32_t try_ms) {
    std::string input, result;
    if (!input_schema.is_none()) append_json(input, input_schema);
    if (!result_schema.is_none()) append_json(result, result_schema);
    nar_tool tool{};
    tool.size = sizeof tool;
    tool.name = detail::to_c(name);
    tool.description = detail::to_c(description);
    tool.input_schema = detail::to_c(input);
    tool.result_schema = detail::to_c(result);
    tool.flags = flags;
    tool.try_ms = try_ms;
    registration.size = sizeof registration;
    registration.flags = 0;
    registration.tool = &tool;
    registration.owner = detail::to_c(kOwner);
    const nar_host* host = nullptr;
    const auto add = [&] {
        detail::Check check;
        check(nar_session_tools_add(handle().raw(), &registration, &host, check.details()));
    };
    try {
        add();
    } catch (const Error& error) {
        if (error.code() != "TOOL_NAME_IN_USE" || !is_own_tool(name)) throw;
        registration.flags = NAR_TOOL_REGISTRATION_REPLACES;
        add();
    }
    return host;
}

// True if Python has registered a tool with this name (a file does not count).
bool Session::is_own_tool(std::string_view name) {
    for (const py::handle each : tools()) {
        const py::object origin = each["origin"];
        if (py::cast<std::string>(each["name"]) == name &&
            py::cast<std::string>(origin["kind"]) == "host") {
            return py::cast<std::string>(origin["place"]) == kOwner;
        }
    }
    return false;
}

void Session::add_tool(std::string_view name, std::string_view description, py::handle input_schema,
                       py::handle result_schema, py::object function, bool is_plain, bool waits,
                       bool repeatable) {
    const CallScope inside(*this);
    Tool& made = keep<Tool>(std::move(function));
    made.is_plain = is_plain;
    nar_tool_registration registration{};
    registration.user = &made;
    registration.invoke = Tool::invoke;
    registration.cancel = Tool::cancel;
    registration.released = Tool::released;
    try {
        made.host = register_tool(
            registration, name, description, input_schema, result_schema,
            (waits ? NAR_TOOL_WAITS : 0) | (repeatable ? 0 : NAR_TOOL_NOT_REPEATABLE), 0);
    } catch (...) {
        retire(made);
        throw;
    }
}

void Session::add_tool_path(std::string_view name, std::string_view description,
                            py::handle input_schema, py::handle result_schema,
                            std::string_view path, const py::dict& times, const py::dict& limits) {
    const CallScope inside(*this);
    const Limits given_limits = limits_of(limits);
    nar_tool_registration registration{};
    registration.path = detail::to_c(path);
    registration.limits = &given_limits;
    register_tool(registration, name, description, input_schema, result_schema, 0,
                  times_of(times).try_ms);
}

void Session::remove_tool(std::string_view name) {
    const CallScope inside(*this);
    detail::Check check;
    check(nar_session_tools_remove(handle().raw(), detail::to_c(name), check.details()));
}

py::object Session::find_tool(std::string_view name) {
    const CallScope inside(*this);
    nar_text* json = nullptr;
    detail::Check check;
    check(nar_session_tools_find(handle().raw(), detail::to_c(name), &json, check.details()));
    return text(Text(json));
}

py::object Session::tools() {
    const CallScope inside(*this);
    nar_text* json = nullptr;
    detail::Check check;
    check(nar_session_tools_list(handle().raw(), &json, check.details()));
    return text(Text(json));
}

py::object Session::tools_for_models(std::uint32_t form) {
    const CallScope inside(*this);
    nar_text* json = nullptr;
    detail::Check check;
    check(nar_session_tools_for_models(handle().raw(), form, &json, check.details()));
    return text(Text(json));
}

void Session::add_ui_handler(std::vector<std::string> names, std::int32_t priority,
                             py::object function) {
    const CallScope inside(*this);
    UiHandler& made = keep<UiHandler>(std::move(function));
    made.names = std::move(names);
    for (const std::string& name : made.names) made.views.push_back(detail::to_c(name));
    nar_ui_handler_extension functions{};
    functions.size = sizeof functions;
    functions.priority = priority;
    functions.events = made.views.data();
    functions.event_count = made.views.size();
    functions.handle = UiHandler::handle;
    extend(made, NAR_EXTENSION_UI_HANDLER, functions);
}

void Session::add_asset_renderer(std::vector<std::string> media_types, std::int32_t priority,
                                 py::object function) {
    const CallScope inside(*this);
    AssetRenderer& made = keep<AssetRenderer>(std::move(function));
    made.media_types = std::move(media_types);
    for (const std::string& type : made.media_types) made.views.push_back(detail::to_c(type));
    nar_asset_renderer_extension functions{};
    functions.size = sizeof functions;
    functions.priority = priority;
    functions.media_types = made.views.data();
    functions.media_type_count = made.views.size();
    functions.render = AssetRenderer::render;
    extend(made, NAR_EXTENSION_ASSET_RENDERER, functions);
}

void Session::set_narrator(py::object function) {
    const CallScope inside(*this);
    Narrator& made = keep<Narrator>(std::move(function));
    nar_narrator_extension functions{};
    functions.size = sizeof functions;
    functions.flags = NAR_NARRATOR_DETAILED;
    functions.generate = Narrator::generate;
    functions.cancel = Narrator::cancel;
    extend(made, NAR_EXTENSION_NARRATOR, functions);
    replace(narrator_, made);
}

}  // namespace narratoria::python
