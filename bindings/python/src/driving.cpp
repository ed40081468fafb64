// SPDX-License-Identifier: Apache-2.0
// Submits prompts, plans and scripts, and drives the engine.
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "python_calls.hpp"
#include "session.hpp"
#include "threads.hpp"
#include "tool_threads.hpp"
#include "value.hpp"

namespace narratoria::python {
namespace {

// The maximum delay of a signal that another thread received.
constexpr int kLongestWaitMs = 50;
// The time for one round of work between checks for signals.
constexpr std::chrono::microseconds kRound{10'000};

bool on_main_thread() {
    const py::module_ threading = py::module_::import("threading");
    const py::object main = threading.attr("main_thread")().attr("ident");
    return main.equal(threading.attr("get_ident")());
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
            out["usage"] = turn.usage().empty() ? py::none() : to_python(turn.usage());
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
            DriverWait wait;
            if (wait.spin(watched.fd)) return;
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

}  // namespace narratoria::python
