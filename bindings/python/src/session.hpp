// SPDX-License-Identifier: Apache-2.0
#pragma once
// narratoria._core.Session: an engine and its one session, driven by the Python classes Session and
// aio.Session. It implements the rules for threads and for the interpreter's lock (GIL):
//
// - One thread at a time. The engine moves to the calling thread if no other thread is inside.
// - The GIL is released while the engine is driven or waited for. The first callback into Python
//   takes it and keeps it until the driving call returns, so further events need no locking.
// - No exception of a callback reaches C. An Exception is reported. Any other BaseException (Ctrl-C
//   in a callback) is kept, and thrown from the innermost Python call that led to the callback: a
//   driving call, or one that formats or changes the state.

#include <pybind11/pybind11.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "narratoria/engine.hpp"
#include "narratoria/tools.h"
#include "pending_call.hpp"

namespace narratoria::python {

namespace py = pybind11;

// A submitted prompt, plan or script, and its result. `ended`, if set, is called with the ticket at
// the end; `printed` is called with each line of a script.
struct Ticket {
    bool is_done = false;
    py::object value = py::none();
    py::object ended = py::none();
    py::object printed = py::none();
};

// A result that is parsed on request. Usable on any thread, also after the session's end.
struct ResultText {
    Result result;
    py::object to_dict() const;
};

class Session {
public:
    // `options` are the checked arguments of narratoria.Session, as plain values.
    explicit Session(const py::dict& options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void close();
    // The constructor holds back the log lines about plugins that are not loaded, because the
    // caller may raise an exception with the same text. This logs them.
    void log_left_out_plugins();
    bool is_closed() const { return !engine_; }
    // True in a forked child: the session belongs to the parent.
    bool is_foreign() const { return process_ != ::getpid(); }
    void refuse_forked() const;
    // True on the thread that used the session last, which drives it.
    bool is_own_thread() const { return owner_ == std::this_thread::get_id(); }

    std::shared_ptr<Ticket> prompt(std::string_view text, py::object ended);
    std::shared_ptr<Ticket> again(std::uint64_t turn, std::string_view tools, py::object ended);
    std::shared_ptr<Ticket> resume(std::uint64_t turn, bool repeat, py::object ended);
    std::shared_ptr<Ticket> execute(py::handle plan, std::string_view folder, py::object ended);
    // Throws NAR_INVALID_DOCUMENT, "SCRIPT" for a script that is not valid.
    std::shared_ptr<Ticket> run_script(std::string_view source, std::string_view scope,
                                       std::string_view tools, py::object printed,
                                       py::object ended);
    // Thread-safe; allowed in callbacks.
    void cancel();

    // Calls a function on the thread that drives the engine: in a callback of the engine or, if
    // deferred, soon after one, when the session can be extended. Thread-safe.
    void post(py::object function, bool is_deferred);

    // Throws inside a callback, where a call that waits would wait for itself.
    void refuse_inside() const;
    // From begin_use to end_use the session belongs to the calling thread, which may wait and run.
    // Other threads and callbacks are refused as during a call.
    void begin_use();
    void end_use();
    // Waits until the ticket is done or a callback calls end_wait. Throws KeyboardInterrupt within
    // 50 ms of Ctrl-C, which cancels nothing.
    void wait(const Ticket& ticket);
    void end_wait() { is_wait_over_ = true; }
    // Does the pending work for about `budget_us` microseconds, without waiting.
    void run(std::int64_t budget_us);
    int descriptor();
    std::optional<std::int64_t> timeout_ms();
    bool is_busy();

    py::object state(std::string_view pointer);
    std::uint64_t state_size(std::string_view pointer);
    bool has_state(std::string_view pointer);
    void patch_state(py::handle patch);
    // `metadata`: None, or a tuple of the description and a callable or None. `invocation`: the
    // tool that writes, or None for the host.
    void set_state(std::string_view key, py::handle value, py::object metadata,
                   std::shared_ptr<Invocation> invocation);
    void clear_state(std::shared_ptr<Invocation> invocation);
    void register_state_metadata(std::string_view key, py::object metadata);
    py::object state_metadata(std::string_view key);  // such a tuple, or None
    py::object all_state_metadata();
    py::object format_state_for_prompt();
    py::object history();
    py::object turns();
    py::object current();
    void go_to(std::uint64_t turn);
    py::object assets();
    std::uint64_t latest_asset();
    py::object assets_after(std::uint64_t seq);
    py::object plugins();
    std::string id();
    py::object published(std::string_view plugin, std::string_view name);  // or None
    py::object opening();  // None if the story has none

    std::uint64_t attach(py::object sink, std::uint32_t kinds);
    void detach(std::uint64_t sink);
    // A schema may be None, which means any object or any value.
    void add_tool(std::string_view name, std::string_view description, py::handle input_schema,
                  py::handle result_schema, py::object function, bool is_plain, bool waits,
                  bool repeatable);
    // `times`, `limits`: as in the options; defaults are those of the manifest, then of the
    // session.
    void add_tool_path(std::string_view name, std::string_view description, py::handle input_schema,
                       py::handle result_schema, std::string_view path, const py::dict& times,
                       const py::dict& limits);
    void remove_tool(std::string_view name);
    py::object find_tool(std::string_view name);
    py::object tools();
    py::object tools_for_models(std::uint32_t form);
    void add_ui_handler(std::vector<std::string> names, std::int32_t priority, py::object function);
    void add_asset_renderer(std::vector<std::string> media_types, std::int32_t priority,
                            py::object function);
    void set_narrator(py::object function);

    // For Python's cyclic garbage collector.
    int traverse(visitproc visit, void* arg) const;
    void finalize() noexcept;
    void clear() noexcept;

    // Called at process exit: makes waiting threads return, and waits for them for at most 2 s.
    static void release_threads();

private:
    friend class PendingCall;
    friend class Invocation;
    friend class Reply;

    // An object registered with the engine, and its Python callable. Owned by registrations_, then
    // retired_; a Formatter is owned by the engine, then by retired_.
    struct Registration {
        virtual ~Registration() = default;
        Session* session = nullptr;
        const nar_host* host = nullptr;
        py::object function;
    };
    struct Tool;
    struct UiHandler;
    struct AssetRenderer;
    struct Narrator;
    struct Sink;
    struct Formatter;

    // While it exists, the calling thread is inside and all others are refused.
    class CallScope {
    public:
        explicit CallScope(Session& session);
        ~CallScope();
        CallScope(const CallScope&) = delete;
        CallScope& operator=(const CallScope&) = delete;

    private:
        Session& session_;
    };

    narratoria::Session& handle();
    void leave();
    template <class Submit>
    std::shared_ptr<Ticket> submit_turn(py::object ended, Submit&& submit);
    void finish(const std::shared_ptr<Ticket>& ticket, py::object value);
    py::object text(Text&& text) const;
    void take_lock();
    template <class Drive>
    void without_lock(Drive&& drive);
    void throw_pending();
    void call_posted(std::uint64_t number);
    void call_deferred();
    void report(const char* what, py::error_already_set& error) noexcept;
    // Runs a callback with the GIL. Never throws; false if the callback threw.
    template <class Call>
    bool call(const char* what, Call&& callback) noexcept;
    // Runs a Python call that does not drive the engine, but may call formatters and sinks.
    template <class Call>
    auto directly(Call&& call);
    template <class Give>
    void give_metadata(std::string_view key, const py::object& metadata, Give&& give);
    py::object metadata_of(std::string_view key, const py::handle& text) const;
    const nar_host* writer(const std::shared_ptr<Invocation>& invocation) const;
    template <class Each>
    Each& keep(py::object function);
    void retire(const Registration& given) noexcept;
    const nar_host* register_tool(nar_tool_registration& registration, std::string_view name,
                                  std::string_view description, py::handle input_schema,
                                  py::handle result_schema, std::uint32_t flags,
                                  std::uint32_t try_ms);
    bool is_own_tool(std::string_view name);
    void replace(Registration*& latest, Registration& made);
    void drop_replaced();
    template <class Functions>
    void extend(Registration& given, const char* extension, const Functions& functions);
    void open(const std::shared_ptr<PendingCall>& opened) {
        pending_calls_[opened->token()] = opened;
    }
    std::shared_ptr<PendingCall> take_pending_call(std::uint64_t token);
    void log(std::uint32_t level, std::string_view message);

    py::object hooks_;  // the module narratoria._hooks
    // Held back until log_left_out_plugins(): level and message.
    std::optional<std::vector<std::pair<std::uint32_t, std::string>>> left_out_plugins_{
        std::in_place};
    py::dict reported_;  // how often each exception has left a callback
    std::optional<Engine> engine_;
    std::optional<narratoria::Session> session_;
    std::vector<std::unique_ptr<Registration>> registrations_;
    Registration* narrator_ = nullptr;                    // the latest, in registrations_
    std::vector<std::unique_ptr<Registration>> retired_;  // until no thread is inside
    std::vector<Registration*>
        replaced_;  // in registrations_: narrators with functions that may still run
    std::unordered_map<std::string, Formatter*> formatters_;  // by key; owned by the engine
    std::unordered_map<std::uint64_t, std::shared_ptr<PendingCall>> pending_calls_;
    std::unordered_set<std::shared_ptr<Ticket>> tickets_;  // of running and waiting calls

    const pid_t process_;
    std::thread::id owner_;
    std::uint32_t depth_ = 0;
    std::uint32_t direct_ = 0;           // depth of directly()
    PyThreadState* released_ = nullptr;  // set while the GIL is released
    // An exception to be thrown from a Python call. While it is set, no Python code is called.
    py::object pending_exception_;
    std::unordered_map<std::uint64_t, py::object> posted_;
    std::uint64_t last_posted_ = 0;
    std::vector<std::uint64_t> deferred_;  // in posted_; used by the thread that is inside
    bool is_closing_ = false;
    bool is_wait_over_ = false;
    bool is_leaving_ = false;
};

}  // namespace narratoria::python
