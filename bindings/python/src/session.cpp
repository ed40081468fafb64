// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <cxxabi.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <unordered_set>
#include <utility>

#include "narratoria/context.h"
#include "narratoria/narrator.h"
#include "value.hpp"

namespace narratoria::python {
namespace {

// The maximum delay of a signal that another thread received.
constexpr int kLongestWaitMs = 50;
// The owner of the tools that Python registers.
constexpr std::string_view kOwner = "python";
// The time for one round of work between checks for signals.
constexpr std::chrono::microseconds kRound{10'000};

bool on_main_thread() {
    const py::module_ threading = py::module_::import("threading");
    const py::object main = threading.attr("main_thread")().attr("ident");
    return main.equal(threading.attr("get_ident")());
}

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

// Reads numbers by name, from Python's Times or Limits; missing ones have the default.
Times times_of(const py::dict& given) {
    Times times;
    const std::pair<const char*, std::uint32_t*> fields[] = {{"try_ms", &times.try_ms},
                                                             {"plan_ms", &times.plan_ms},
                                                             {"narrator_ms", &times.narrator_ms},
                                                             {"prompt_ms", &times.prompt_ms},
                                                             {"grace_ms", &times.grace_ms}};
    for (const auto& [name, field] : fields) {
        if (!given.contains(name)) continue;
        const auto value = py::cast<std::uint32_t>(given[name]);
        *field = value == 0 ? NAR_NONE : value;
    }
    return times;
}

Limits limits_of(const py::dict& given) {
    Limits limits;
    auto read = [&](const char* name, auto& field) {
        if (!given.contains(name)) return;
        using Number = std::remove_reference_t<decltype(field)>;
        const auto value = py::cast<Number>(given[name]);
        field = value == 0 ? static_cast<Number>(~Number{0}) : value;
    };
#define NARRATORIA_LIMIT(name, type, least, text) read(#name, limits.name);
    NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return limits;
}

template <class Functions>
const Functions& host_functions(const nar_host* host, std::string_view id) {
    return *static_cast<const Functions*>(host->get_extension(host, detail::to_c(id)));
}

const nar_host_invocation& invocations(const nar_host* host) {
    return host_functions<nar_host_invocation>(host, NAR_HOST_INVOCATION);
}

const nar_host_narrator& narrator_functions(const nar_host* host) {
    return host_functions<nar_host_narrator>(host, NAR_EXTENSION_NARRATOR);
}

// Called when the interpreter has been finalized. Python before 3.14 would end this thread here and
// unwind frames that hold Python objects. Sleeps instead; the process ends soon.
[[noreturn]] void block_forever() {
    for (;;) ::pause();
}

// Calls a Python function. No object with a destructor exists between here and Python, so that a
// thread that Python ends does not touch any object.
py::object call_vector(PyObject* function, PyObject* const* arguments, std::size_t count) {
    PyObject* answer = nullptr;
    try {
        answer = PyObject_Vectorcall(function, arguments, count, nullptr);
    } catch (abi::__forced_unwind&) {
        block_forever();
    }
    if (answer == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(answer);
}

template <class... Arguments>
py::object call_python(const py::object& function, const Arguments&... arguments) {
    PyObject* const all[] = {arguments.ptr()..., nullptr};
    return call_vector(function.ptr(), all, sizeof...(arguments));
}

// Ends an invocation after its last lines, which always have room. `code` is empty without a
// failure.
void end_invocation(const nar_host* host, std::uint64_t token, std::string_view lines,
                    std::string_view code, std::string_view message) {
    nar_invocation_end end{};
    end.size = sizeof end;
    end.error_code = detail::to_c(code);
    end.error = detail::to_c(message);
    end.last_output = detail::to_c(lines);
    invocations(host).ended(host, token, &end);
}

// Returns the exception with its traceback, which pybind11 stores separately.
py::object exception_of(const py::error_already_set& error) {
    const py::object exception = error.value();
    if (error.trace() && !error.trace().is_none()) {
        PyException_SetTraceback(exception.ptr(), error.trace().ptr());
    }
    return exception;
}

}  // namespace

py::object ResultText::to_dict() const {
    Text text;
    {
        const py::gil_scoped_release released;
        text = result.json();
    }
    return to_python(text.view().data(), text.view().size());
}

// ---------------------------------------------------------------- registered objects

struct Session::Tool : Registration {
    // True if the function takes the input and returns the result; otherwise it takes an
    // Invocation.
    bool is_plain = false;

    static Tool& of(void* instance) { return *static_cast<Tool*>(instance); }

    static void invoke(void* instance, std::uint64_t token, const nar_tool*,
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

    void run(std::uint64_t token, const py::object& request) const {
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

    void fail(std::uint64_t token, const py::error_already_set& error) const {
        const py::tuple described =
            call_python(session->hooks_.attr("describe_exception"), exception_of(error));
        const auto lines = py::cast<std::string>(described[0]);
        const auto trace = py::cast<std::string>(described[1]);
        const auto code = py::cast<std::string>(described[2]);
        const auto message = py::cast<std::string>(described[3]);
        invocations(host).diagnostics(host, token, detail::to_c(trace));
        end_invocation(host, token, lines, code, message);
    }

    static void released(void* instance) noexcept {
        Tool& self = of(instance);
        // During close() it is dropped with all others.
        if (self.session->is_closing_) return;
        // Other threads read registrations_ with the GIL: traverse().
        self.session->take_lock();
        self.session->retire(self);
    }

    static void cancel(void* instance, std::uint64_t token) noexcept {
        Session& session = *of(instance).session;
        session.call("a tool's cancel", [&] {
            if (const auto opened = session.pending_calls_.find(token);
                opened != session.pending_calls_.end()) {
                const std::shared_ptr<PendingCall> kept = opened->second;
                kept->cancel();
            }
        });
    }
};

struct Session::UiHandler : Registration {
    std::vector<std::string> names;
    std::vector<nar_str> views;

    static nar_status handle(void* instance, const nar_ui_event* event) noexcept {
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
};

struct Session::AssetRenderer : Registration {
    std::vector<std::string> media_types;
    std::vector<nar_str> views;

    static nar_status render(void* instance, const nar_asset* asset) noexcept {
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
};

struct Session::Narrator : Registration {
    static void generate(void* instance, std::uint64_t token, nar_str request) noexcept {
        auto& self = *static_cast<Narrator*>(instance);
        Session& session = *self.session;
        if (!session.pending_exception_ && session.call("the narrator", [&] {
                const auto made = std::make_shared<Reply>(session, self.host, token,
                                                          to_python(detail::to_view(request)));
                session.open(made);
                call_python(self.function, py::cast(made));
            })) {
            return;
        }
        narrator_functions(self.host).fail(self.host, token, detail::to_c("it was interrupted"));
    }
    static void cancel(void* instance, std::uint64_t token) noexcept {
        Tool::cancel(instance, token);
    }
};

struct Session::Sink : Registration {
    EventMaker maker;
    std::uint64_t number = 0;

    void operator()(Event event) noexcept {
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
};

// A function that formats a key of the state. Owned by the engine, which returns it by released().
struct Session::Formatter : Registration {
    std::string key;
    bool has_failed = false;  // in the last call, which was logged

    static nar_status format(void* user, nar_str value, nar_write_fn write, void* to) noexcept {
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

    std::string call(nar_str value) const {
        // The function may be replaced while it runs.
        const py::object kept = function;
        const py::object made = call_python(kept, to_python(detail::to_view(value)));
        if (!py::isinstance<py::str>(made)) {
            PyErr_SetString(PyExc_TypeError, "a formatter of the state must return a str");
            throw py::error_already_set();
        }
        return py::cast<std::string>(made);
    }

    // The destruction of the function may run code that adds, removes or reads formatters. It is
    // postponed until the engine and formatters_ agree.
    static void released(void* user) noexcept {
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
};

// ---------------------------------------------------------------- open calls

PendingCall::PendingCall(Session& session, const nar_host* host, std::uint64_t token,
                         py::object request)
    : session_(&session), host_(host), token_(token), request_(std::move(request)) {}

void PendingCall::cancel() {
    is_cancelled_ = true;
    const py::object callback = on_cancel;
    if (!callback.is_none()) call_python(callback);
}

void PendingCall::leave() {
    session_ = nullptr;
    // Usually a method of a task that has this object in its frame.
    const py::object dropped = std::exchange(on_cancel, py::none());
}

int PendingCall::traverse(visitproc visit, void* arg) const {
    Py_VISIT(request_.ptr());
    Py_VISIT(on_cancel.ptr());
    return 0;
}

bool Invocation::emit(py::handle event) {
    if (!is_open()) return false;
    std::string line;
    append_json(line, event, session_->hooks_.attr("to_plain"));
    line += '\n';
    // The conversion may have run code that closed the session.
    if (!is_open()) return false;
    const nar_status status = invocations(host_).output(host_, token_, detail::to_c(line));
    if (status == NAR_FORKED) session_->refuse_forked();
    if (status == NAR_BUSY) {
        throw Error(NAR_BUSY, "OUTPUT_FULL",
                    "16 MiB of this tool's events are unread; in an async function, await "
                    "something and retry",
                    "");
    }
    return status == NAR_OK;
}

bool Invocation::diagnostics(std::string_view text) {
    return is_open() && invocations(host_).diagnostics(host_, token_, detail::to_c(text)) == NAR_OK;
}

void Invocation::end(std::string_view lines, std::string_view code, std::string_view message) {
    if (!is_open()) return;
    const auto kept = session_->take_pending_call(token_);
    end_invocation(host_, token_, lines, code, message);
    leave();
}

bool Reply::settle(nar_status status) {
    const auto kept = session_->take_pending_call(token_);
    leave();
    return status == NAR_OK;
}

bool Reply::plan(std::string_view plan) {
    return is_open() && settle(narrator_functions(host_).reply(host_, token_, detail::to_c(plan)));
}

bool Reply::fail(std::string_view message) {
    return is_open() &&
           settle(narrator_functions(host_).fail(host_, token_, detail::to_c(message)));
}

struct Reply::Invoked {
    Session& session;
    py::object on_outcome;

    static void run(void* user, std::uint64_t, std::uint64_t, nar_str outcome) noexcept {
        const std::unique_ptr<Invoked> self(static_cast<Invoked*>(user));
        // The function must be dropped with the GIL.
        self->session.call("an invocation's outcome", [&] {
            const py::object function = std::move(self->on_outcome);
            call_python(function, to_python(detail::to_view(outcome)));
        });
    }
};

std::uint64_t Reply::invoke(py::handle invocation, py::object on_outcome) {
    if (!is_open()) return 0;
    std::string text;
    append_json(text, invocation, session_->hooks_.attr("to_plain"));
    // The conversion may have run code that closed the session.
    if (!is_open()) return 0;
    auto invoked = std::make_unique<Invoked>(Invoked{*session_, std::move(on_outcome)});
    std::uint64_t number = 0;
    nar_failure failure{};
    failure.size = sizeof failure;
    const nar_status status = host_functions<nar_host_invoke>(host_, NAR_HOST_INVOKE)
                                  .invoke(host_, token_, detail::to_c(text), Invoked::run,
                                          invoked.get(), &number, &failure);
    if (status == NAR_GONE) return 0;
    if (status != NAR_OK) throw Error(status, "INVOCATION", failure.message, "");
    // Owned by the engine from here on, which calls run() once.
    static_cast<void>(invoked.release());
    return number;
}

void Reply::cancel_invocation(std::uint64_t number) {
    if (!is_open()) return;
    host_functions<nar_host_invoke>(host_, NAR_HOST_INVOKE).cancel(host_, token_, number);
}

// ---------------------------------------------------------------- lifecycle

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
    engine_options.log = [this](std::uint32_t level, std::string_view message) {
        call("the log", [&] { call_python(hooks_.attr("log"), py::int_(level), to_str(message)); });
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

    engine_.emplace(engine_options);
    session_.emplace(*engine_, session_options);
    all_sessions().insert(this);
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

// ---------------------------------------------------------------- threads and the GIL

Session::CallScope::CallScope(Session& session) : session_(session) {
    session.refuse_forked();
    const std::thread::id caller = std::this_thread::get_id();
    if (session.depth_ > 0 && session.owner_ != caller) {
        throw Error(NAR_BUSY, "SESSION_IN_USE",
                    "another thread is using this session; only one thread may use it at a time "
                    "(cancel() may be called on any thread)",
                    "");
    }
    if (!session.engine_) {
        throw Error(NAR_GONE, "SESSION_CLOSED", "the session is closed; create a new one", "");
    }
    if (session.owner_ != caller) {
        session.engine_->adopt_thread();
        session.owner_ = caller;
    }
    ++session.depth_;
}

Session::CallScope::~CallScope() { session_.leave(); }

void Session::leave() {
    // Dropping these may call leave() again. Not while the engine is being destroyed: see close().
    if (--depth_ == 0 && !is_closing_) std::vector<std::unique_ptr<Registration>>().swap(retired_);
}

narratoria::Session& Session::handle() { return *session_; }

void Session::take_lock() {
    if (released_ == nullptr) return;
    try {
        PyEval_RestoreThread(std::exchange(released_, nullptr));
    } catch (abi::__forced_unwind&) {
        block_forever();
    }
}

template <class Drive>
void Session::without_lock(Drive&& drive) {
    struct LockGuard {
        Session& session;
        ~LockGuard() { session.take_lock(); }
    } guard{*this};
    released_ = PyEval_SaveThread();
    drive();
}

void Session::throw_pending() {
    if (!pending_exception_) return;
    const py::object exception = std::exchange(pending_exception_, py::object());
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
    throw py::error_already_set();
}

void Session::report(const char* what, py::error_already_set& error) noexcept {
    try {
        if (!error.matches(PyExc_Exception)) {
            if (pending_exception_) return;
            pending_exception_ = exception_of(error);
            // Without this, the work would continue until the driving call returns: a narrator
            // would be asked again, and a sink would get all pending events. A direct call ends at
            // once, and its caller may catch the exception.
            if (!is_closing_ && direct_ == 0) handle().cancel();
            return;
        }
        call_python(hooks_.attr("report_exception"), py::str(what), exception_of(error), reported_);
    } catch (py::error_already_set& another) {
        another.discard_as_unraisable("narratoria");
    } catch (...) {
    }
}

template <class Call>
bool Session::call(const char* what, Call&& callback) noexcept {
    take_lock();
    try {
        callback();
        return true;
    } catch (py::error_already_set& error) {
        report(what, error);
    } catch (const py::builtin_exception& error) {
        error.set_error();
        py::error_already_set made;
        report(what, made);
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        py::error_already_set made;
        report(what, made);
    }
    return false;
}

template <class Call>
auto Session::directly(Call&& call) {
    const CallScope inside(*this);
    struct Direct {
        explicit Direct(std::uint32_t& its_depth) : depth(its_depth) { ++depth; }
        ~Direct() { --depth; }
        std::uint32_t& depth;
    } const direct(direct_);
    // An exception that was kept before belongs to the driving call.
    const bool had_pending_exception = static_cast<bool>(pending_exception_);
    const auto throw_new_exception = [&] {
        if (!had_pending_exception) throw_pending();
    };
    try {
        if constexpr (std::is_void_v<decltype(call())>) {
            call();
            throw_new_exception();
        } else {
            auto out = call();
            throw_new_exception();
            return out;
        }
    } catch (...) {
        throw_new_exception();
        throw;
    }
}

// ---------------------------------------------------------------- driving

void Session::finish(const std::shared_ptr<Ticket>& ticket, py::object value) {
    tickets_.erase(ticket);
    ticket->value = std::move(value);
    ticket->is_done = true;
    drop_replaced();
    const py::object printed = std::exchange(ticket->printed, py::none());
    const py::object ended = std::exchange(ticket->ended, py::none());
    if (!ended.is_none()) call_python(ended, py::cast(ticket));
}

// `submit` submits a turn with the handler that it is called with.
template <class Submit>
std::shared_ptr<Ticket> Session::submit_turn(py::object ended, Submit&& submit) {
    const CallScope inside(*this);
    auto ticket = std::make_shared<Ticket>();
    ticket->ended = std::move(ended);
    submit([this, ticket](Turn turn) {
        call("a turn's end", [&] {
            py::dict out;
            out["outcome"] = static_cast<std::uint32_t>(turn.outcome());
            out["generations"] = turn.generations();
            out["id"] = turn.id();
            out["durable"] = turn.is_durable();
            out["narrative"] = to_str(turn.narrative());
            out["choices"] = to_python(turn.choices());
            const Result result = turn.result();
            out["result"] = result ? py::cast(ResultText{result}) : py::none();
            finish(ticket, out);
        });
    });
    tickets_.insert(ticket);
    return ticket;
}

std::shared_ptr<Ticket> Session::prompt(std::string_view text, py::object ended) {
    return submit_turn(std::move(ended), [&](auto handler) { handle().prompt(text, handler); });
}

std::shared_ptr<Ticket> Session::again(std::uint64_t turn, std::string_view tools,
                                       py::object ended) {
    return submit_turn(std::move(ended),
                       [&](auto handler) { handle().again(turn, tools, handler); });
}

std::shared_ptr<Ticket> Session::resume(std::uint64_t turn, bool repeat, py::object ended) {
    return submit_turn(std::move(ended), [&](auto handler) {
        handle().resume(turn, repeat ? NAR_RESUME_REPEATS : 0, handler);
    });
}

std::shared_ptr<Ticket> Session::execute(py::handle plan, std::string_view folder,
                                         py::object ended) {
    const CallScope inside(*this);
    std::string text;
    if (py::isinstance<py::str>(plan)) text = py::cast<std::string>(plan);
    else append_json(text, plan, hooks_.attr("to_plain"));
    auto ticket = std::make_shared<Ticket>();
    ticket->ended = std::move(ended);
    handle().execute(text, folder, [this, ticket](Result result) {
        call("a plan's end", [&] { finish(ticket, py::cast(ResultText{result})); });
    });
    tickets_.insert(ticket);
    return ticket;
}

std::shared_ptr<Ticket> Session::run_script(std::string_view source, std::string_view scope,
                                            std::string_view tools, py::object printed,
                                            py::object ended) {
    const CallScope inside(*this);
    auto ticket = std::make_shared<Ticket>();
    ticket->printed = std::move(printed);
    ticket->ended = std::move(ended);
    handle().run_script(
        source, scope, tools,
        [this, ticket](std::string_view line) {
            if (pending_exception_) return;
            call("a script's on_print", [&] { call_python(ticket->printed, to_str(line)); });
        },
        [this, ticket](const ScriptEnd& end) {
            call("a script's end", [&] {
                py::dict out;
                out["scope"] = to_python(end.scope.empty() ? "{}" : end.scope);
                out["error"] = end.ok ? py::none() : to_python(end.error);
                out["result"] = end.result ? py::cast(ResultText{end.result}) : py::none();
                finish(ticket, out);
            });
        });
    tickets_.insert(ticket);
    return ticket;
}

void Session::refuse_forked() const {
    if (::getpid() == process_) return;
    throw Error(NAR_FORKED, "FORKED",
                "the session was created before a fork; create a new one in the child process", "");
}

void Session::cancel() {
    refuse_forked();
    if (!engine_)
        throw Error(NAR_GONE, "SESSION_CLOSED", "the session is closed; create a new one", "");
    handle().cancel();
}

// The callable stays in posted_: it must be dropped with the GIL, which the engine does not hold.
void Session::post(py::object function, bool is_deferred) {
    refuse_forked();
    if (!engine_ || is_closing_) {
        throw Error(NAR_GONE, "SESSION_CLOSED", "the session is closed; create a new one", "");
    }
    const std::uint64_t number = ++last_posted_;
    posted_.emplace(number, std::move(function));
    try {
        engine_->post([this, number, is_deferred] {
            // Queued here, in the order of posting.
            if (is_deferred) deferred_.push_back(number);
            else call("a posted function", [&] { call_posted(number); });
        });
    } catch (...) {
        posted_.erase(number);
        throw;
    }
}

void Session::call_posted(std::uint64_t number) {
    const auto found = posted_.find(number);
    if (found == posted_.end()) return;
    const py::object function = std::move(found->second);
    posted_.erase(found);
    call_python(function);
}

void Session::call_deferred() {
    while (!deferred_.empty()) {
        const std::uint64_t number = deferred_.front();
        deferred_.erase(deferred_.begin());
        call_posted(number);
    }
}

void Session::refuse_inside() const {
    if (depth_ == 0 || owner_ != std::this_thread::get_id()) return;
    throw Error(NAR_REENTRANT, "REENTRANT",
                "this call would wait for itself: it is made inside a tool, a sink, a handler or a "
                "narrator of this session",
                "");
}

void Session::begin_use() {
    refuse_inside();
    const CallScope inside(*this);
    ++depth_;
}

void Session::end_use() {
    if (depth_ > 0) leave();
}

void Session::run(std::int64_t budget_us) {
    const CallScope inside(*this);
    without_lock([&] { engine_->run_for(std::chrono::microseconds(budget_us)); });
    // Before any exception is thrown: tools in threads wait for these calls.
    call_deferred();
    throw_pending();
}

void Session::wait(const Ticket& ticket) {
    using Clock = std::chrono::steady_clock;
    const CallScope inside(*this);
    const bool checks_signals = on_main_thread();
    auto last_check = Clock::now();
    is_wait_over_ = false;
    while (!ticket.is_done && !is_wait_over_) {
        int ready = 0;
        without_lock([&] {
            engine_->run_for(kRound);
            // A callback ran and may have changed anything: check the ticket before waiting.
            if (released_ == nullptr || !deferred_.empty()) return;
            auto timeout = engine_->timeout();
            if (timeout == std::chrono::milliseconds(0)) return;
            if (checks_signals && (!timeout || timeout->count() > kLongestWaitMs)) {
                timeout = std::chrono::milliseconds(kLongestWaitMs);
            }
            pollfd watched{engine_->descriptor(), POLLIN, 0};
            ready = ::poll(&watched, 1, timeout ? static_cast<int>(timeout->count()) : -1);
        });
        call_deferred();
        throw_pending();
        if (is_leaving_) {
            throw Error(NAR_GONE, "PROCESS_ENDS",
                        "the interpreter is exiting, and the session was closed", "");
        }
        const auto now = Clock::now();
        if (checks_signals &&
            (ready < 0 || now - last_check > std::chrono::milliseconds(kLongestWaitMs / 2))) {
            last_check = now;
            if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        }
    }
}

int Session::descriptor() {
    const CallScope inside(*this);
    return engine_->descriptor();
}

std::optional<std::int64_t> Session::timeout_ms() {
    const CallScope inside(*this);
    const auto timeout = engine_->timeout();
    if (!timeout) return std::nullopt;
    return timeout->count();
}

bool Session::is_busy() {
    const CallScope inside(*this);
    return engine_->is_busy();
}

// ---------------------------------------------------------------- reading

py::object Session::text(Text&& text) const {
    return to_python(text.view().data(), text.view().size());
}

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

namespace {

void check_write(nar_status status, const nar_failure& failure) {
    if (status == NAR_OK) return;
    const bool has_ended = status == NAR_GONE || status == NAR_STALE;
    throw Error(has_ended ? NAR_GONE : status, has_ended ? "TOOL_ENDED" : "STATE", failure.message,
                "");
}

}  // namespace

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

void Invocation::deliver_output() {
    if (!is_open()) return;
    session_->directly([&] {
        host_functions<nar_host_context>(host_, NAR_HOST_CONTEXT).deliver_output(host_, token_);
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

py::object Session::turns() {
    const CallScope inside(*this);
    return text(handle().turns());
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

// ---------------------------------------------------------------- registering

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
        registration.flags = NAR_TOOL_REPLACES;
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
    functions.generate = Narrator::generate;
    functions.cancel = Narrator::cancel;
    extend(made, NAR_EXTENSION_NARRATOR, functions);
    replace(narrator_, made);
}

}  // namespace narratoria::python
