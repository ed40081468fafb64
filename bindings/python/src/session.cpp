// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "limits.hpp"
#include "python_calls.hpp"
#include "registered.hpp"
#include "threads.hpp"
#include "value.hpp"

namespace narratoria::python {
namespace {

std::unordered_set<Session*>& all_sessions() {
    static auto* const sessions = new std::unordered_set<Session*>;
    return *sessions;
}

// Returns a text option; None gives an empty text. The text lives as long as the dict.
std::string_view text_option(const py::dict& options, const char* name) {
    const py::object value = options[name];
    return value.is_none() ? std::string_view() : py::cast<std::string_view>(value);
}

struct Texts {
    explicit Texts(const py::object& list) {
        for (const py::handle each : list) all.push_back(py::cast<std::string>(each));
        views.assign(all.begin(), all.end());
    }
    std::vector<std::string> all;
    std::vector<std::string_view> views;
};

}  // namespace

Session::Session(const py::dict& options)
    : hooks_(py::module_::import("narratoria._hooks")),
      process_(::getpid()),
      owner_(std::this_thread::get_id()) {
    const Texts environment(options["environment"]);
    const Texts allow_paths(options["allow_paths"]);
    const Texts allow_schemes(options["allow_schemes"]);
    const Texts plugins(options["plugins"]);
    EngineOptions engine_options;
    engine_options.jobs = py::cast<std::uint32_t>(options["jobs"]);
    engine_options.root = text_option(options, "root");
    engine_options.environment = environment.views;
    engine_options.allow_paths = allow_paths.views;
    engine_options.allow_schemes = allow_schemes.views;
    engine_options.sandbox = text_option(options, "sandbox");
    engine_options.output_mode = py::cast<std::uint32_t>(options["output_mode"]);
    engine_options.cgroup = text_option(options, "cgroup");
    engine_options.times = times_of(options["times"]);
    engine_options.limits = limits_of(options["limits"]);
    engine_options.log = [this](const LogLine& line) {
        if (left_out_plugins_ && line.code == "PLUGIN_LEFT_OUT") {
            left_out_plugins_->emplace_back(line.level, line.message);
        } else {
            log(line.level, line.message);
        }
    };
    auto json_option = [&](const char* name) {
        std::string json;
        if (!options[name].is_none()) append_json(json, options[name], hooks_.attr("to_plain"));
        return json;
    };
    const std::string state = json_option("state");
    const std::string plugin_settings = json_option("plugin_settings");

    SessionOptions session_options;
    session_options.id = text_option(options, "id");
    session_options.story = text_option(options, "story");
    session_options.state = state;
    session_options.project = text_option(options, "project");
    session_options.plugins = plugins.views;
    session_options.plugin_settings = plugin_settings;
    session_options.narrator_id = text_option(options, "narrator_id");
    session_options.without_plugins = py::cast<bool>(options["without_plugins"]);
    session_options.store = text_option(options, "store");
    session_options.durability = py::cast<std::uint32_t>(options["durability"]);
    session_options.must_be_new = py::cast<bool>(options["must_be_new"]);
    session_options.seed = py::cast<std::uint64_t>(options["seed"]);
    session_options.watches_story = py::cast<bool>(options["watch"]);

    engine_.emplace(engine_options);
    session_.emplace(*engine_, session_options);
    all_sessions().insert(this);
}

void Session::log(std::uint32_t level, std::string_view message) {
    call("the log", [&] { call_python(hooks_.attr("log"), py::int_(level), to_str(message)); });
}

void Session::log_left_out_plugins() {
    const auto lines = std::exchange(left_out_plugins_, std::nullopt);
    for (const auto& [level, message] : *lines) log(level, message);
    throw_pending();
}

Session::~Session() {
    try {
        close();
    } catch (...) {
        // It cannot be closed here, for example in a forked child, and is leaked.
    }
    all_sessions().erase(this);
}

void Session::close() {
    if (!engine_) return;
    {
        const CallScope inside(*this);
        is_closing_ = true;
        try {
            engine_->destroy();
        } catch (...) {
            is_closing_ = false;
            throw;
        }
    }
    const auto posted = std::exchange(posted_, {});
    deferred_.clear();
    session_.reset();
    engine_.reset();
    all_sessions().erase(this);
    // Dropping these may run Python code, which must find a closed session.
    const auto given = std::exchange(registrations_, {});
    const auto retired = std::exchange(retired_, {});
    narrator_ = nullptr;
    const auto opened = std::exchange(pending_calls_, {});
    for (const auto& [token, each] : opened) each->leave();
    throw_pending();
}

int Session::traverse(visitproc visit, void* arg) const {
    for (const auto& given : registrations_) Py_VISIT(given->function.ptr());
    for (const auto& [token, opened] : pending_calls_) {
        if (const int stopped = opened->traverse(visit, arg)) return stopped;
    }
    for (const auto& [key, formatter] : formatters_) Py_VISIT(formatter->function.ptr());
    for (const auto& ticket : tickets_) {
        Py_VISIT(ticket->ended.ptr());
        Py_VISIT(ticket->printed.ptr());
    }
    for (const auto& [number, function] : posted_) Py_VISIT(function.ptr());
    return 0;
}

// Runs before the garbage collector clears the objects that callbacks need.
void Session::finalize() noexcept {
    try {
        close();
    } catch (...) {
        // It was created before a fork, or threw an exception that no caller can receive.
        PyErr_Clear();
    }
}

void Session::clear() noexcept {
    std::vector<py::object> dropped;
    for (const auto& given : registrations_) {
        dropped.push_back(std::exchange(given->function, py::none()));
    }
    for (const auto& [key, formatter] : formatters_) {
        dropped.push_back(std::exchange(formatter->function, py::none()));
    }
    for (const auto& [number, function] : std::exchange(posted_, {})) dropped.push_back(function);
    for (const auto& ticket : tickets_) {
        dropped.push_back(std::exchange(ticket->ended, py::none()));
        dropped.push_back(std::exchange(ticket->printed, py::none()));
    }
    for (const auto& [token, opened] : pending_calls_) {
        dropped.push_back(std::exchange(opened->on_cancel, py::none()));
    }
}

void Session::release_threads() {
    const std::thread::id caller = std::this_thread::get_id();
    auto is_used_elsewhere = [&](const Session* session) {
        return session->process_ == ::getpid() && session->depth_ > 0 && session->owner_ != caller;
    };
    for (Session* session : all_sessions()) {
        session->is_leaving_ = true;
        if (!is_used_elsewhere(session)) continue;
        try {
            session->engine_->post([] {});  // wakes it
        } catch (const Error&) {
        }
    }
    // A thread that returned later would find no interpreter.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (std::any_of(all_sessions().begin(), all_sessions().end(), is_used_elsewhere) &&
           std::chrono::steady_clock::now() < deadline) {
        const py::gil_scoped_release released;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace narratoria::python
