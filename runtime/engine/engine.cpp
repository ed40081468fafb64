// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "base/environment.hpp"
#include "base/fork_count.hpp"

extern char** environ;

namespace narratoria::engine {
namespace {

uint32_t cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return static_cast<uint32_t>(std::max(1, CPU_COUNT(&set)));
    }
    return static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace

std::vector<std::string> tool_environment(const std::vector<std::string>& more) {
    std::vector<std::string> environment;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        if (is_inherited(*variable)) environment.emplace_back(*variable);
    }
    for (const std::string& variable : more) set_variable(environment, variable);
    return environment;
}

Engine::Engine(EngineSettings settings)
    : settings_(std::move(settings)),
      thread_(std::make_shared<EngineThread>()),
      made_under_(fork_count()),
      loop_(settings_.clock),
      inbox_(loop_, [this](uint32_t level, std::string_view line,
                           std::string_view session) { log(level, line, session); }),
      host_posts_(*this),
      pool_(loop_, settings_.supervisor),
      http_(loop_, pool_),
      slots_(settings_.jobs != 0 ? settings_.jobs : cores()) {
    loop_.set_on_wake([this] { on_wake(); });
    pool_.set_on_warning([this](std::string_view message) { log(NAR_LOG_WARN, message); });
}

Engine::~Engine() {
    // In the child of a fork no process is terminated, because the processes belong to the parent.
    // Remove sessions one by one: their handlers may create or destroy other sessions.
    while (!sessions_.empty() || !removed_.empty()) {
        auto& from = sessions_.empty() ? removed_ : sessions_;
        const std::unique_ptr<Member> gone = std::move(from.back());
        from.pop_back();
    }
    inbox_.forget_posts(host_posts_);
}

journal::Writer& Engine::store_writer() {
    if (!store_writer_) store_writer_ = std::make_unique<journal::Writer>(inbox_);
    return *store_writer_;
}

bool Engine::forked() const { return made_under_ != fork_count(); }

bool Engine::busy() const {
    if (pool_.busy() > 0 || !removed_.empty()) return true;
    for (const auto& session : sessions_) {
        if (session->busy()) return true;
    }
    return inbox_.has_waiting(host_posts_);
}

template <typename Drive>
void Engine::drive(Drive&& step) {
    step();
    // Repeat, because the handlers of a destroyed session may remove more sessions.
    while (!removed_.empty()) {
        const std::vector<std::unique_ptr<Member>> gone = std::move(removed_);
        removed_.clear();
    }
}

void Engine::run_once() {
    if (busy()) drive([this] { loop_.run_once(); });
    else run_for(0);
}

void Engine::run_until_idle() {
    // Posts of plugins do not count as busy. run_for(0) still delivers queued ones, which may start
    // a turn.
    do {
        while (busy()) run_once();
        run_for(0);
    } while (busy());
}

void Engine::run_for(uint64_t microseconds) {
    drive([&] { loop_.run_for(microseconds); });
}

void Engine::post(void (*function)(void*), void (*drop)(void*), void* user) {
    inbox_.post(host_posts_, {function, drop, user});
}

void Engine::HostPosts::run_post(const Inbox::Post& post) {
    engine_.call_host([&] { post.function(post.user); }, "a posted function");
}

void Engine::HostPosts::drop_post(const Inbox::Post& post) {
    if (post.drop) engine_.call_host([&] { post.drop(post.user); }, "a posted function");
}

void Engine::on_wake() {
    inbox_.deliver();
    // Search from the start each time: the handler of a cancelled turn may change sessions_.
    for (;;) {
        const auto cancelled = std::find_if(sessions_.begin(), sessions_.end(),
                                            [](const auto& each) { return each->has_cancel(); });
        if (cancelled == sessions_.end()) break;
        (*cancelled)->apply_cancel();
    }
}

void Engine::add(std::unique_ptr<Member> session) { sessions_.push_back(std::move(session)); }

void Engine::remove(Member* session) {
    const auto found = std::find_if(sessions_.begin(), sessions_.end(),
                                    [&](const auto& each) { return each.get() == session; });
    if (found == sessions_.end()) return;
    std::unique_ptr<Member> owned = std::move(*found);
    sessions_.erase(found);
    // In a callback the caller's frame may still use the session, so its destruction is deferred.
    if (!in_callback()) return;
    removed_.push_back(std::move(owned));
    wake();
}

void Engine::log(uint32_t level, std::string_view message, std::string_view session,
                 std::string_view code) {
    if (!settings_.log) return;
    ++callback_depth_;
    try {
        settings_.log(level, message, session, code);
    } catch (const std::exception& exception) {
        keep_thrown("the log function", exception.what());
    } catch (...) {
        keep_thrown("the log function", "an exception that is not a std::exception");
    }
    --callback_depth_;
}

void Engine::keep_thrown(const char* what, const char* text) noexcept {
    if (!thrown_.empty()) return;
    try {
        thrown_ = std::string(what) + " threw an exception: " + text;
    } catch (...) {
        // Out of memory. The log still gets the line.
    }
}

void Engine::note_thrown(const char* what, const char* text) noexcept {
    keep_thrown(what, text);
    try {
        log(NAR_LOG_ERROR, std::string(what) + " threw an exception: " + text);
    } catch (...) {
        // Out of memory. The driving call still reports the exception.
    }
}

}  // namespace narratoria::engine
