// SPDX-License-Identifier: Apache-2.0
#pragma once
// narratoria._core.Session: an engine and its one session, as the Python classes Session and
// aio.Session drive it. Here live the rules of threads and of the interpreter's lock:
//
// - A thread at a time. The engine moves to whoever calls, when nobody is inside.
// - The lock is given away while the engine is driven or waited for, and taken back by the first
//   callback into Python, which keeps it until the driving call returns: an event costs no lock.
// - What a callback throws never reaches C: an Exception is reported, anything above it (Ctrl-C in a
//   callback) is kept and thrown from the innermost call of Python's that led to it: a driving one, or
//   one that formats or changes the state.

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
#include <vector>

#include "event.hpp"
#include "narratoria/asset_renderer.h"
#include "narratoria/engine.hpp"
#include "narratoria/tools.h"
#include "narratoria/ui_handler.h"

namespace narratoria::python {

namespace py = pybind11;

class Session;

// What a submitted prompt, plan or script came to. `ended` is called with it, when there is one;
// `printed` with each line of a script.
struct Ticket {
    bool is_done = false;
    py::object value = py::none();
    py::object ended = py::none();
    py::object printed = py::none();
};

// A result, read when somebody asks. Any thread, also after the session.
struct ResultText {
    Result result;
    py::object to_dict() const;
};

// A try of a tool that is a Python function, or a question to a narrator, while it is open.
class Open {
public:
    Open(Session& session, const nar_host* host, std::uint64_t token, py::object request);

    py::object request() const { return request_; }
    std::uint64_t token() const { return token_; }
    bool is_cancelled() const { return is_cancelled_; }
    py::object on_cancel = py::none();

    void cancel();  // by the engine
    int traverse(visitproc visit, void* arg) const;
    void leave();  // it is over, or its session is

protected:
    // Throws Gone when it is over; a late word of a tool is no fault of its author's.
    bool is_open() const { return session_ != nullptr; }
    Session* session_;
    const nar_host* host_;
    std::uint64_t token_;
    py::object request_;
    bool is_cancelled_ = false;
};

class Invocation : public Open {
public:
    using Open::Open;
    // One event. False when nobody listens any more.
    bool emit(py::handle event);
    bool diagnostics(std::string_view text);
    // What was emitted takes effect before this returns, unless an event is being handled.
    void deliver_output();
    // Says how it ended, once: after these last lines of events, which have room in any case, and with
    // the code and the message of a failure, if there is one.
    void end(std::string_view lines, std::string_view code, std::string_view message);

private:
    friend class Session;
};

class Question : public Open {
public:
    using Open::Open;
    bool plan(std::string_view plan);
    bool fail(std::string_view message);
    // Runs a tool. `told` is called once with its outcome, later. 0 when the question has ended.
    std::uint64_t invoke(py::handle invocation, py::object told);
    void cancel_invocation(std::uint64_t number);

private:
    struct Invoked;
    bool answered(nar_status status);
};

class Session {
public:
    // The options are those of the constructor of narratoria.Session, made plain.
    explicit Session(const py::dict& options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void close();
    bool is_closed() const { return !engine_; }
    // In the child of a fork the session is the parent's.
    bool is_foreign() const { return process_ != ::getpid(); }

    std::shared_ptr<Ticket> prompt(std::string_view text, py::object ended);
    std::shared_ptr<Ticket> again(std::uint64_t turn, std::string_view tools, py::object ended);
    std::shared_ptr<Ticket> resume(std::uint64_t turn, bool repeat, py::object ended);
    std::shared_ptr<Ticket> execute(py::handle plan, std::string_view folder, py::object ended);
    // Throws the error of a script that is none: NAR_INVALID_DOCUMENT, "SCRIPT".
    std::shared_ptr<Ticket> run_script(std::string_view source, std::string_view scope,
                                       std::string_view tools, py::object printed,
                                       py::object ended);
    // From any thread and any callback.
    void cancel();

    // Calls a function on the thread that drives the engine: in a callback of the engine's, or, deferred,
    // soon after one, where the session can be extended. From any thread.
    void post(py::object function, bool is_deferred);

    // What would wait for itself in a callback is refused.
    void refuse_inside() const;
    // Between the two the session is the calling thread's, which may wait and run; to others, and to
    // what it calls meanwhile, it is as if a call were going on.
    void begin_use();
    void end_use();
    // Until the ticket is done, or a callback calls end_wait. Throws KeyboardInterrupt within 50 ms of
    // a Ctrl-C; nothing was cancelled by that.
    void wait(const Ticket& ticket);
    void end_wait() { is_wait_over_ = true; }
    // What is there to do, for about so long, without waiting.
    void run(std::int64_t budget_us);
    int descriptor();
    std::optional<std::int64_t> timeout_ms();
    bool is_busy();

    py::object state(std::string_view pointer);
    std::uint64_t state_size(std::string_view pointer);
    bool has_state(std::string_view pointer);
    void patch_state(py::handle patch);
    // `metadata`: None, or a tuple of the description and of a callable or None. `invocation`: the tool
    // that writes, or None.
    void set_state(std::string_view key, py::handle value, py::object metadata,
                   std::shared_ptr<Invocation> invocation);
    void clear_state(std::shared_ptr<Invocation> invocation);
    void register_state_metadata(std::string_view key, py::object metadata);
    py::object state_metadata(std::string_view key);  // such a tuple, or None
    py::object all_state_metadata();
    py::object format_state_for_prompt();
    py::object history();
    py::object turns();
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
    // A schema may be None: any object, any value.
    void add_tool(std::string_view name, std::string_view description, py::handle input_schema,
                  py::handle result_schema, py::object function, bool is_plain, bool waits,
                  bool repeatable);
    // `times`, `limits`: as of the options; what is left out is that of the manifest or the session.
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

    // For the collector of cycles.
    int traverse(visitproc visit, void* arg) const;
    void finalize() noexcept;
    void clear() noexcept;

    // The process ends: whoever waits in another thread comes back first, for at most 2 s.
    static void leave_all();

private:
    friend class Open;
    friend class Invocation;
    friend class Question;

    // Something that was given to the engine, and the Python callable behind it.
    struct Given {
        virtual ~Given() = default;
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

    // While it lives the calling thread is inside, and nobody else.
    class Inside {
    public:
        explicit Inside(Session& session);
        ~Inside();
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

    private:
        Session& session_;
    };

    narratoria::Session& handle();
    void leave();
    void refuse_forked() const;
    template <class Submit>
    std::shared_ptr<Ticket> submit_turn(py::object ended, Submit&& submit);
    void finish(const std::shared_ptr<Ticket>& ticket, py::object value);
    py::object text(Text&& text) const;
    void take_lock();
    template <class Drive>
    void without_lock(Drive&& drive);
    void throw_what_was_kept();
    void call_posted(std::uint64_t number);
    void call_deferred();
    void report(const char* what, py::error_already_set& error) noexcept;
    // Runs a callback: with the lock, and with nothing thrown out of it. False when it threw.
    template <class Call>
    bool call(const char* what, Call&& callback) noexcept;
    // Runs a call of Python's that drives nothing, but may call formatters and sinks.
    template <class Call>
    auto directly(Call&& call);
    template <class Give>
    void give_metadata(std::string_view key, const py::object& metadata, Give&& give);
    py::object metadata_of(std::string_view key, const py::handle& text) const;
    const nar_host* writer(const std::shared_ptr<Invocation>& invocation) const;
    template <class Each>
    Each& keep(py::object function);
    void retire(const Given& given) noexcept;
    const nar_host* register_tool(nar_tool_registration& registration, std::string_view name,
                                  std::string_view description, py::handle input_schema,
                                  py::handle result_schema, std::uint32_t flags,
                                  std::uint32_t try_ms);
    bool is_own_tool(std::string_view name);
    void replace(Given*& latest, Given& made);
    void drop_replaced();
    template <class Functions>
    void extend(Given& given, const char* extension, const Functions& functions);
    void open(const std::shared_ptr<Open>& opened) { open_[opened->token()] = opened; }
    std::shared_ptr<Open> close_open(std::uint64_t token);

    py::object hooks_;   // the module narratoria._hooks
    py::dict reported_;  // how often which exception left a callback
    std::optional<Engine> engine_;
    std::optional<narratoria::Session> session_;
    std::vector<std::unique_ptr<Given>> given_;
    Given* narrator_ = nullptr;                    // of given_: the latest
    std::vector<std::unique_ptr<Given>> retired_;  // until nobody is inside
    std::vector<Given*> replaced_;  // of given_: narrators whose functions may still run
    std::unordered_map<std::string, Formatter*> formatters_;  // of the state, by key; the engine's
    std::unordered_map<std::uint64_t, std::shared_ptr<Open>> open_;
    std::unordered_set<std::shared_ptr<Ticket>> tickets_;  // of what runs or waits

    const pid_t process_;
    std::thread::id owner_;
    std::uint32_t depth_ = 0;
    std::uint32_t direct_ = 0;           // calls of directly()
    PyThreadState* released_ = nullptr;  // while the lock is given away
    // An exception that must get out. While there is one nothing of Python is called.
    py::object kept_;
    std::unordered_map<std::uint64_t, py::object> posted_;
    std::uint64_t last_posted_ = 0;
    std::vector<std::uint64_t> deferred_;  // of posted_; of the thread that is inside
    bool is_closing_ = false;
    bool is_wait_over_ = false;
    bool is_leaving_ = false;
};

}  // namespace narratoria::python
