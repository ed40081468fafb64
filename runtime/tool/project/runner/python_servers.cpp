// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/python_servers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/lifetime.hpp"

// The text of python/fork_server.py and python/narratoria_runner.py, zero-terminated.
extern "C" const char narratoria_python_fork_server[];

namespace narratoria::tool {
namespace {

// The maximum number of idle servers. The least recently used one is ended first.
constexpr size_t kMostIdle = 8;
constexpr size_t kLongestHeader = 24;
// The size limit of frames that the library itself reads (not L and A).
constexpr size_t kLongestText = 4096;

}  // namespace

bool PythonStart::operator==(const PythonStart& other) const {
    bool same_limits = true;
#define NARRATORIA_LIMIT(name, type, least, text) \
    same_limits = same_limits && limits.name == other.limits.name;
    NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    std::string mine, theirs;
    guarantees.append_json(mine);
    other.guarantees.append_json(theirs);
    return same_limits && mine == theirs && readable == other.readable &&
           interpreter == other.interpreter && folder == other.folder && module == other.module &&
           environment == other.environment;
}

std::vector<std::string> python_arguments(const std::string& interpreter, const char* text,
                                          const Guarantees& guarantees) {
    std::vector<std::string> out{interpreter, "-c", text};
    // See HAS_SCRATCH there.
    if (guarantees.requires_one(Guarantee::NoFilesystemWrite) ||
        guarantees.requires_one(Guarantee::NoFilesystemRead)) {
        out.emplace_back("--has-scratch");
    }
    return out;
}

// A call and its server. The server may change until one has taken the request.
class PythonServers::Call : public Source {
public:
    Call(PythonServers& servers, PythonStart start, std::string request,
         process::Listener& listener, std::function<void(std::string_view)> on_alone)
        : start_(std::move(start)),
          request_(std::move(request)),
          listener_(listener),
          on_alone_(std::move(on_alone)),
          servers_(servers) {}
    ~Call() override;

    bool send(StartFailure& failure);
    void terminate(uint32_t grace_ms) override;
    void stop_reading() override;

    // Sends the request to a different server. Ends the call if none can be started.
    void send_again();

    process::Listener& listener() { return listener_; }
    void report_unforkable(std::string_view why) const { on_alone_(why); }
    bool is_terminating() const { return terminating_; }

    Server* server = nullptr;  // NULL once the call has ended
    bool was_sent_again = false;

private:
    const PythonStart start_;
    const std::string request_;
    process::Listener& listener_;
    const std::function<void(std::string_view)> on_alone_;
    PythonServers& servers_;
    bool terminating_ = false;
};

class PythonServers::Server : public process::Listener {
public:
    Server(PythonServers& servers, PythonStart start)
        : servers_(servers), start_(std::move(start)) {}
    ~Server() override { lifetime_.end(); }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    bool begin(ProcessRunner& processes, StartFailure& failure) {
        process_ = processes.start_service(
            start_.interpreter,
            python_arguments(start_.interpreter, narratoria_python_fork_server, start_.guarantees),
            start_.environment, start_.limits, *this, failure, start_.folder,
            start_.guarantees.any() ? &start_.guarantees : nullptr, &start_.readable);
        if (process_ != nullptr) receipts_ = processes.receipts(start_.guarantees);
        return process_ != nullptr;
    }

    // True if the server can take a call with these parameters.
    bool fits(const PythonStart& start) const {
        return call_ == nullptr && !is_ending_ && process_->input() != nullptr &&
               process_->input()->is_open() && start_ == start;
    }
    bool is_idle() const { return call_ == nullptr; }

    void take(Call& call, const std::string& request) {
        call_ = &call;
        has_taken_ = false;
        process_->input()->write(std::to_string(request.size()) + '\n');
        process_->input()->write(request);
    }

    process::Process& process() { return *process_; }

private:
    void on_output(char* data, size_t size) override;
    void on_diagnostics(std::string_view data) override {
        if (call_ != nullptr) call_->listener().on_diagnostics(data);
    }
    void on_exit(const process::Exit& exit) override;

    // Each returns false if the server broke the protocol.
    bool take(char* data, size_t size, const Lifetime::Watch& life);
    bool read_header(char byte);
    bool take_frame();
    bool take_end();
    void end_call(const process::Exit& exit);

    PythonServers& servers_;
    const PythonStart start_;
    std::unique_ptr<process::Process> process_;
    Call* call_ = nullptr;  // NULL: idle
    bool has_taken_ = false;
    bool is_ending_ = false;      // takes no further calls
    bool leaves_behind_ = false;  // the call has ended, but its descendants still run
    process::Exit end_;
    std::string receipts_;
    std::string header_;
    std::string text_;
    char kind_ = 0;
    size_t left_ = 0;  // remaining bytes of the frame
    Lifetime lifetime_;
};

// ---- Call

PythonServers::Call::~Call() {
    if (server != nullptr) servers_.remove(*server);
}

bool PythonServers::Call::send(StartFailure& failure) {
    server = servers_.take(start_, failure);
    if (server == nullptr) return false;
    server->take(*this, request_);
    return true;
}

void PythonServers::Call::send_again() {
    StartFailure failure;
    if (send(failure)) return;
    process::Exit exit;
    exit.start_failure = failure.message;
    if (!failure.code.empty()) exit.start_code = failure.code;
    exit.may_retry = failure.may_retry;
    exit.no_supervisor = failure.no_supervisor;
    listener_.on_exit(exit);
}

void PythonServers::Call::terminate(uint32_t grace_ms) {
    terminating_ = true;
    if (server != nullptr) server->process().terminate(grace_ms);
}

void PythonServers::Call::stop_reading() {
    if (server != nullptr) server->process().stop_reading();
}

// ---- Server

bool PythonServers::Server::read_header(char byte) {
    if (byte != '\n') {
        header_ += byte;
        return header_.size() <= kLongestHeader;
    }
    kind_ = header_.empty() ? '\0' : header_[0];
    const char* const end = header_.data() + header_.size();
    const auto [read, error] =
        std::from_chars(header_.empty() ? end : header_.data() + 1, end, left_);
    const bool is_whole = error == std::errc() && read == end;
    header_.clear();
    text_.clear();
    const bool is_known = std::string_view("TLAEFC").find(kind_) != std::string_view::npos;
    const bool is_text = kind_ != 'L' && kind_ != 'A';
    return is_whole && is_known && kind_ != '\0' && !(is_text && left_ > kLongestText);
}

void PythonServers::Server::on_output(char* data, size_t size) {
    bool is_right = true;
    {
        const Lifetime::Watch life = lifetime_.watch();
        is_right = take(data, size, life);
        if (life.ended()) return;
    }
    if (is_right) return;
    // The server is broken, or another process writes to its pipe.
    is_ending_ = true;
    process_->stop_reading();
    process_->terminate(0);
}

bool PythonServers::Server::take(char* data, size_t size, const Lifetime::Watch& life) {
    while (size > 0) {
        if (call_ == nullptr || leaves_behind_) return false;
        if (kind_ == 0) {
            if (!read_header(*data)) return false;
            ++data;
            --size;
        } else {
            const size_t part = std::min(left_, size);
            if (kind_ == 'L') call_->listener().on_diagnostics({data, part});
            else if (kind_ == 'A') call_->listener().on_output(data, part);
            else text_.append(data, part);
            if (life.ended()) return true;
            data += part;
            size -= part;
            left_ -= part;
        }
        if (kind_ == 0 || left_ > 0) continue;
        const bool is_right = take_frame();
        if (life.ended() || !is_right) return is_right;
    }
    return true;
}

bool PythonServers::Server::take_frame() {
    switch (std::exchange(kind_, 0)) {
        case 'T': has_taken_ = true; return true;
        case 'F': {
            is_ending_ = true;
            if (!text_.empty()) call_->report_unforkable(text_);
            return true;
        }
        case 'C': {
            if (has_taken_) return false;  // the tool may have acted
            is_ending_ = true;
            if (call_->is_terminating()) return true;
            Call& call = *std::exchange(call_, nullptr);
            servers_.remove(*this);
            call.send_again();
            return true;
        }
        case 'E': return take_end();
        default: return true;
    }
}

bool PythonServers::Server::take_end() {
    std::array<uint64_t, 5> numbers{};
    const char* at = text_.data();
    const char* const end = at + text_.size();
    for (uint64_t& number : numbers) {
        const auto [next, error] = std::from_chars(at, end, number);
        if (error != std::errc()) return false;
        at = next == end ? next : next + 1;
    }
    end_ = {};
    end_.started = true;
    end_.receipts = receipts_;
    end_.wait_status = static_cast<int>(numbers[0]);
    end_.user_us = numbers[1];
    end_.system_us = numbers[2];
    end_.resident_kb = numbers[3];
    // If the call has left processes behind, the server exits and the supervisor ends them.
    leaves_behind_ = numbers[4] != 0;
    // A terminated call also ends its server, which got the signal as well.
    is_ending_ = is_ending_ || leaves_behind_ || call_->is_terminating();
    if (!is_ending_) end_call(end_);
    else leaves_behind_ = true;
    return true;
}

// `this` may be destroyed afterwards.
void PythonServers::Server::end_call(const process::Exit& exit) {
    Call& call = *std::exchange(call_, nullptr);
    call.server = nullptr;
    // The listener may start the next call, on this server.
    servers_.keep(*this);
    call.listener().on_exit(exit);
}

void PythonServers::Server::on_exit(const process::Exit& exit) {
    is_ending_ = true;
    Call* const call = std::exchange(call_, nullptr);
    process::Exit told = exit;
    if (leaves_behind_ && !exit.supervisor_lost) told = end_;
    // These counters cover all calls of the server, so they say nothing about this one.
    told.refused_programs = told.refused_sockets = 0;
    const bool may_try_again = exit.start_failure.empty() && !has_taken_;
    servers_.remove(*this);
    if (call == nullptr) return;
    call->server = nullptr;
    // The server died before it took the request. The tool has not run.
    if (may_try_again && !call->is_terminating() && !std::exchange(call->was_sent_again, true)) {
        return call->send_again();
    }
    call->listener().on_exit(told);
}

// ---- PythonServers

PythonServers::PythonServers(ProcessRunner& processes) : processes_(processes) {}
PythonServers::~PythonServers() = default;

std::unique_ptr<Source> PythonServers::start(PythonStart start, std::string request,
                                             process::Listener& listener,
                                             std::function<void(std::string_view)> on_alone,
                                             StartFailure& failure) {
    auto call = std::make_unique<Call>(*this, std::move(start), std::move(request), listener,
                                       std::move(on_alone));
    if (!call->send(failure)) return nullptr;
    return call;
}

PythonServers::Server* PythonServers::take(const PythonStart& start, StartFailure& failure) {
    const auto found = std::find_if(servers_.rbegin(), servers_.rend(),
                                    [&](const auto& each) { return each->fits(start); });
    if (found != servers_.rend()) return found->get();
    auto server = std::make_unique<Server>(*this, start);
    if (!server->begin(processes_, failure)) return nullptr;
    return servers_.emplace_back(std::move(server)).get();
}

void PythonServers::keep(Server& server) {
    const auto found = std::find_if(servers_.begin(), servers_.end(),
                                    [&](const auto& each) { return each.get() == &server; });
    std::rotate(found, found + 1, servers_.end());
    const auto idle = static_cast<size_t>(std::count_if(
        servers_.begin(), servers_.end(), [](const auto& each) { return each->is_idle(); }));
    if (idle <= kMostIdle) return;
    servers_.erase(std::find_if(servers_.begin(), servers_.end(),
                                [](const auto& each) { return each->is_idle(); }));
}

void PythonServers::remove(Server& server) {
    std::erase_if(servers_, [&](const auto& each) { return each.get() == &server; });
}

}  // namespace narratoria::tool
