// SPDX-License-Identifier: Apache-2.0
// Reads a session: everything but its state.
#include <string>

#include "session.hpp"
#include "value.hpp"

namespace narratoria::python {

py::object Session::text(Text&& text) const {
    return to_python(text.view().data(), text.view().size());
}

py::object Session::turns() {
    const CallScope inside(*this);
    return text(handle().turns());
}

py::object Session::current() {
    const CallScope inside(*this);
    return text(handle().current());
}

void Session::go_to(std::uint64_t turn) {
    const CallScope inside(*this);
    handle().go_to(turn);
}

py::object Session::history() {
    const CallScope inside(*this);
    return text(handle().history());
}

py::object Session::assets() {
    const CallScope inside(*this);
    return text(handle().assets());
}

std::uint64_t Session::latest_asset() {
    const CallScope inside(*this);
    return handle().latest_asset();
}

py::object Session::assets_after(std::uint64_t seq) {
    const CallScope inside(*this);
    return text(handle().assets_after(seq));
}

py::object Session::plugins() {
    const CallScope inside(*this);
    return text(handle().plugins());
}

py::object Session::published(std::string_view plugin, std::string_view name) {
    const CallScope inside(*this);
    const auto value = handle().published(plugin, name);
    if (!value) return py::none();
    return py::str(value->view().data(), value->view().size());
}

std::string Session::id() {
    const CallScope inside(*this);
    return std::string(handle().id());
}

py::object Session::opening() {
    const CallScope inside(*this);
    const std::string_view json = handle().opening();
    if (json.empty()) return py::none();
    return to_python(json);
}

}  // namespace narratoria::python
