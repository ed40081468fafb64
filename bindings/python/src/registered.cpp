// SPDX-License-Identifier: Apache-2.0
#include "registered.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "host.hpp"
#include "pending_call.hpp"
#include "python_calls.hpp"
#include "threads.hpp"
#include "value.hpp"

namespace narratoria::python {

void Session::Tool::invoke(void* instance, std::uint64_t token, const nar_tool*,
                           const nar_invocation* invocation) noexcept {
    Tool& self = of(instance);
    Session& session = *self.session;
    if (!session.pending_exception_ && session.call("a tool", [&] {
            const py::object request = to_python(detail::to_view(invocation->request));
            if (self.is_plain) return self.run(token, request);
            const auto made = std::make_shared<Invocation>(session, self.host, token, request);
            session.open(made);
            call_python(self.function, py::cast(made));
        })) {
        return;
    }
    // The exception has been reported. Ends the invocation, for which the engine would wait.
    end_invocation(self.host, token, {}, "TOOL_EXCEPTION", "the function was interrupted");
}

void Session::Tool::run(std::uint64_t token, const py::object& request) const {
    std::string lines;
    try {
        const py::object result = call_python(function, py::object(request["input"]));
        lines = R"({"version":"0","type":"done","ok":true)";
        if (!result.is_none()) {
            lines += R"(,"result":)";
            append_json(lines, result, session->hooks_.attr("to_plain"));
        }
        lines += "}\n";
    } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_Exception)) throw;
        return fail(token, error);
    } catch (const py::builtin_exception& error) {
        error.set_error();
        py::error_already_set made;
        return fail(token, made);
    }
    end_invocation(host, token, lines, {}, {});
}

void Session::Tool::fail(std::uint64_t token, const py::error_already_set& error) const {
    const py::tuple described =
        call_python(session->hooks_.attr("describe_exception"), exception_of(error));
    const auto lines = py::cast<std::string>(described[0]);
    const auto trace = py::cast<std::string>(described[1]);
    const auto code = py::cast<std::string>(described[2]);
    const auto message = py::cast<std::string>(described[3]);
    invocations(host).diagnostics(host, token, detail::to_c(trace));
    end_invocation(host, token, lines, code, message);
}

void Session::Tool::released(void* instance) noexcept {
    Tool& self = of(instance);
    // During close() it is dropped with all others.
    if (self.session->is_closing_) return;
    // Other threads read registrations_ with the GIL: traverse().
    self.session->take_lock();
    self.session->retire(self);
}

void Session::Tool::cancel(void* instance, std::uint64_t token) noexcept {
    Session& session = *of(instance).session;
    session.call("a tool's cancel", [&] {
        if (const auto opened = session.pending_calls_.find(token);
            opened != session.pending_calls_.end()) {
            const std::shared_ptr<PendingCall> kept = opened->second;
            kept->cancel();
        }
    });
}

nar_status Session::UiHandler::handle(void* instance, const nar_ui_event* event) noexcept {
    auto& self = *static_cast<UiHandler*>(instance);
    if (self.session->pending_exception_) return NAR_DECLINED;
    bool is_handled = false;
    const bool succeeded = self.session->call("a ui handler", [&] {
        const py::object payload = to_python(detail::to_view(event->payload));
        is_handled = py::cast<bool>(
            call_python(self.function, to_str(detail::to_view(event->name)), payload));
    });
    return !succeeded ? NAR_FAILED : is_handled ? NAR_OK : NAR_DECLINED;
}

nar_status Session::AssetRenderer::render(void* instance, const nar_asset* asset) noexcept {
    auto& self = *static_cast<AssetRenderer*>(instance);
    if (self.session->pending_exception_) return NAR_DECLINED;
    bool is_handled = false;
    const bool succeeded = self.session->call("an asset renderer", [&] {
        py::dict out;
        out["planId"] = to_str(detail::to_view(asset->plan_id));
        out["toolId"] = to_str(detail::to_view(asset->tool_id));
        out["attempt"] = asset->attempt;
        out["seq"] = asset->seq;
        out["assetId"] = to_str(detail::to_view(asset->asset_id));
        out["kind"] = to_str(detail::to_view(asset->kind));
        out["mediaType"] = to_str(detail::to_view(asset->media_type));
        out["path"] = to_str(detail::to_view(asset->path));
        out["metadata"] = to_python(detail::to_view(asset->metadata));
        is_handled = py::cast<bool>(call_python(self.function, out));
    });
    return !succeeded ? NAR_FAILED : is_handled ? NAR_OK : NAR_DECLINED;
}

void Session::Narrator::generate(void* instance, const nar_narrator_request* request) noexcept {
    const std::uint64_t token = request->token;
    auto& self = *static_cast<Narrator*>(instance);
    Session& session = *self.session;
    if (!session.pending_exception_ && session.call("the narrator", [&] {
            const auto made = std::make_shared<Reply>(session, self.host, *request);
            session.open(made);
            call_python(self.function, py::cast(made));
        })) {
        return;
    }
    narrator_functions(self.host).fail(self.host, token, detail::to_c("it was interrupted"));
}

void Session::Narrator::cancel(void* instance, std::uint64_t token) noexcept {
    Tool::cancel(instance, token);
}

void Session::Sink::operator()(Event event) noexcept {
    // An exception is waiting to be thrown, and the running call is cancelled.
    if (session->pending_exception_) return;
    session->take_lock();
    try {
        const auto made = py::reinterpret_steal<py::object>(maker.make(event));
        if (!made) throw py::error_already_set();
        call_python(function, made);
    } catch (py::error_already_set& error) {
        session->report("a sink", error);
    }
}

nar_status Session::Formatter::format(void* user, nar_str value, nar_write_fn write,
                                      void* to) noexcept {
    auto& self = *static_cast<Formatter*>(user);
    if (self.session->pending_exception_) return NAR_FAILED;
    std::optional<std::string> text;
    self.session->call("a formatter of the state", [&] {
        try {
            text = self.call(value);
            self.has_failed = false;
        } catch (py::error_already_set& error) {
            const bool has_reported = std::exchange(self.has_failed, true);
            if (!has_reported || !error.matches(PyExc_Exception)) throw;
        }
    });
    return text ? write(to, detail::to_c(*text)) : NAR_FAILED;
}

std::string Session::Formatter::call(nar_str value) const {
    // The function may be replaced while it runs.
    const py::object kept = function;
    const py::object made = call_python(kept, to_python(detail::to_view(value)));
    if (!py::isinstance<py::str>(made)) {
        PyErr_SetString(PyExc_TypeError, "a formatter of the state must return a str");
        throw py::error_already_set();
    }
    return py::cast<std::string>(made);
}

void Session::Formatter::released(void* user) noexcept {
    std::unique_ptr<Formatter> self(static_cast<Formatter*>(user));
    Session& session = *self->session;
    session.call("the end of a formatter", [&] {
        const auto found = session.formatters_.find(self->key);
        if (found != session.formatters_.end() && found->second == self.get()) {
            session.formatters_.erase(found);
        }
        session.retired_.push_back(std::move(self));
    });
}

}  // namespace narratoria::python
