// SPDX-License-Identifier: Apache-2.0
#include "plugin/mailbox.hpp"

#include <algorithm>
#include <utility>

#include "plugin/instance.hpp"

namespace narratoria::plugin {

uint64_t new_token() {
    static std::atomic<uint64_t> last{0};
    return ++last;
}

void Mailbox::notify() {
    has_mail_.store(true, std::memory_order_release);
    session_.wake();
}

void Mailbox::log(uint32_t level, std::string line) {
    {
        const std::lock_guard lock(mutex_);
        if (lines_.size() >= kMaxLines) {
            ++lost_lines_;
            return;
        }
        lines_.push_back({level, std::move(line), nullptr});
    }
    notify();
}

void Mailbox::disable(Instance* instance, std::string reason) {
    {
        const std::lock_guard lock(mutex_);
        lines_.push_back({NAR_LOG_ERROR, std::move(reason), instance});
    }
    notify();
}

nar_status Mailbox::post(Instance* from, void (*function)(void*), void (*drop)(void*), void* user) {
    {
        const std::lock_guard lock(mutex_);
        if (posted_.size() >= kMaxPosts) return NAR_BUSY;
        posted_.push_back({from, function, drop, user});
    }
    notify();
    return NAR_OK;
}

Mailbox::Invocation* Mailbox::find(const Instance* from, uint64_t token, nar_status& status) {
    const auto found = invocations_.find(token);
    if (found == invocations_.end() || found->second.instance != from) {
        status = NAR_GONE;
        return nullptr;
    }
    if (found->second.has_ended) {
        status = NAR_STALE;
        return nullptr;
    }
    return &found->second;
}

void Mailbox::mark(uint64_t token, Invocation& invocation) {
    if (!std::exchange(invocation.marked, true)) marked_.push_back(token);
}

nar_status Mailbox::output(const Instance* from, uint64_t token, std::string_view bytes) {
    {
        const std::lock_guard lock(mutex_);
        nar_status status = NAR_OK;
        Invocation* const invocation = find(from, token, status);
        if (invocation == nullptr) return status;
        if (bytes.empty()) return NAR_OK;
        const size_t waiting = invocation->output.size() - invocation->delivered;
        if (waiting > 0 && waiting + bytes.size() > kMaxOutput) return NAR_BUSY;
        invocation->output.append(bytes);
        invocation->has_output = true;
        mark(token, *invocation);
    }
    notify();
    return NAR_OK;
}

nar_status Mailbox::diagnostics(const Instance* from, uint64_t token, std::string_view bytes) {
    {
        const std::lock_guard lock(mutex_);
        nar_status status = NAR_OK;
        Invocation* const invocation = find(from, token, status);
        if (invocation == nullptr) return status;
        const size_t waiting = invocation->diagnostics.size();
        if (waiting > 0 && waiting + bytes.size() > kMaxOutput) return NAR_BUSY;
        invocation->diagnostics.append(bytes);
        mark(token, *invocation);
    }
    notify();
    return NAR_OK;
}

nar_status Mailbox::ended(const Instance* from, uint64_t token, InvocationEnd end) {
    {
        const std::lock_guard lock(mutex_);
        nar_status status = NAR_OK;
        Invocation* const invocation = find(from, token, status);
        if (invocation == nullptr) return status;
        invocation->end = std::move(end);
        invocation->has_ended = true;
        mark(token, *invocation);
    }
    notify();
    return NAR_OK;
}

uint64_t Mailbox::open(const Instance* by, InvocationListener& listener) {
    const uint64_t token = new_token();
    const std::lock_guard lock(mutex_);
    Invocation& invocation = invocations_[token];
    invocation.instance = by;
    invocation.listener = &listener;
    return token;
}

void Mailbox::close(uint64_t token) {
    const std::lock_guard lock(mutex_);
    invocations_.erase(token);
}

bool Mailbox::has_ended(uint64_t token) {
    const std::lock_guard lock(mutex_);
    const auto found = invocations_.find(token);
    return found != invocations_.end() && found->second.has_ended;
}

nar_status Mailbox::run(const Instance* from, uint64_t token, std::vector<std::string> arguments) {
    InvocationListener* listener = nullptr;
    std::string diagnostics;
    {
        const std::lock_guard lock(mutex_);
        nar_status status = NAR_OK;
        Invocation* const invocation = find(from, token, status);
        if (invocation == nullptr) return status;
        if (invocation->has_output) return NAR_INVALID_ARGUMENT;
        listener = invocation->listener;
        diagnostics.swap(invocation->diagnostics);
    }
    // The token will be closed: what was said before stays said.
    if (!diagnostics.empty()) listener->on_diagnostics(diagnostics);
    return listener->on_run(std::move(arguments));
}

void Mailbox::end_all_of(const Instance* instance, const InvocationEnd& end) {
    {
        const std::lock_guard lock(mutex_);
        for (auto& [token, invocation] : invocations_) {
            if (invocation.instance != instance || invocation.has_ended) continue;
            invocation.end = end;
            invocation.has_ended = true;
            mark(token, invocation);
        }
        if (marked_.empty()) return;
    }
    notify();
}

void Mailbox::deliver_lines() {
    std::vector<Line> lines;
    uint64_t lost = 0;
    {
        const std::lock_guard lock(mutex_);
        lines.swap(lines_);
        lost = std::exchange(lost_lines_, 0);
    }
    for (const Line& line : lines) {
        if (line.to_disable != nullptr) line.to_disable->disable(line.text);
        else session_.log(line.level, line.text);
    }
    if (lost > 0) {
        session_.log(NAR_LOG_WARN, std::to_string(lost) +
                                       " more log lines of plugins came too fast and were dropped");
    }
}

void Mailbox::run_posted(const Posted& posted) {
    if (!posted.from->disabled()) {
        posted.from->call("a posted function", [&] { posted.function(posted.user); });
    } else if (posted.drop) {
        posted.from->call_always("a drop function", [&] { posted.drop(posted.user); });
    }
}

void Mailbox::deliver() {
    has_mail_.store(false, std::memory_order_relaxed);
    deliver_lines();
    std::vector<Posted> posted;
    std::vector<uint64_t> marked;
    {
        const std::lock_guard lock(mutex_);
        posted.swap(posted_);
        marked.swap(marked_);
    }
    size_t run = 0;
    size_t delivered = 0;
    // What was not come to, for want of time or because something threw, is first the next time.
    auto put_back = [&] {
        const std::lock_guard lock(mutex_);
        posted_.insert(posted_.begin(), posted.begin() + static_cast<ptrdiff_t>(run), posted.end());
        marked_.insert(marked_.begin(), marked.begin() + static_cast<ptrdiff_t>(delivered),
                       marked.end());
        if (!posted_.empty() || !marked_.empty()) notify();
    };
    try {
        while (run < posted.size() && (run == 0 || !session_.loop().time_is_up())) {
            run_posted(posted[run++]);
        }
        while (delivered < marked.size() && (delivered == 0 || !session_.loop().time_is_up())) {
            deliver_to(marked[delivered++]);
        }
    } catch (...) {
        put_back();
        throw;
    }
    put_back();
}

void Mailbox::deliver_to(uint64_t token) {
    InvocationListener* listener = nullptr;
    std::string output;
    std::string diagnostics;
    bool has_ended = false;
    InvocationEnd end;
    {
        const std::lock_guard lock(mutex_);
        const auto found = invocations_.find(token);
        if (found == invocations_.end()) return;
        Invocation& invocation = found->second;
        invocation.marked = false;
        listener = invocation.listener;
        diagnostics.swap(invocation.diagnostics);
        output = invocation.output.substr(invocation.delivered, kPiece);
        invocation.delivered += output.size();
        if (invocation.delivered < invocation.output.size()) {
            mark(token, invocation);
            // What was read is given back, now and then.
            if (invocation.delivered > invocation.output.size() / 2) {
                invocation.output.erase(0, invocation.delivered);
                invocation.delivered = 0;
            }
        } else {
            invocation.output.clear();
            invocation.delivered = 0;
            has_ended = invocation.has_ended;
            if (has_ended) end = invocation.end;
        }
    }
    auto still_open = [&] {
        const std::lock_guard lock(mutex_);
        return invocations_.contains(token);
    };
    if (!diagnostics.empty()) listener->on_diagnostics(diagnostics);
    if (!output.empty() && still_open()) listener->on_output(std::move(output));
    if (has_ended && still_open()) listener->on_ended(std::move(end));
}

void Mailbox::forget(Instance* instance) {
    std::vector<Posted> dropped;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(invocations_,
                      [&](const auto& each) { return each.second.instance == instance; });
        std::erase_if(lines_, [&](const Line& line) { return line.to_disable == instance; });
        const auto kept =
            std::stable_partition(posted_.begin(), posted_.end(),
                                  [&](const Posted& each) { return each.from != instance; });
        dropped.assign(kept, posted_.end());
        posted_.erase(kept, posted_.end());
    }
    for (const Posted& each : dropped) {
        if (each.drop) instance->call_always("a drop function", [&] { each.drop(each.user); });
    }
}

}  // namespace narratoria::plugin
