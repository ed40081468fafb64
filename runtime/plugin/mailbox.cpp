// SPDX-License-Identifier: Apache-2.0
#include "plugin/mailbox.hpp"

#include <algorithm>
#include <utility>

#include "plugin/instance.hpp"

namespace narratoria::plugin {

void Mailbox::notify() {
    has_mail_.store(true, std::memory_order_release);
    session_.wake();
}

void Mailbox::log(uint32_t level, std::string line) {
    {
        const std::lock_guard lock(mutex_);
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
        if (invocation->output.size() >= kMostOutput) return NAR_BUSY;
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
        if (invocation->diagnostics.size() >= kMostOutput) return NAR_BUSY;
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
    const std::lock_guard lock(mutex_);
    Invocation& invocation = invocations_[++last_token_];
    invocation.instance = by;
    invocation.listener = &listener;
    return last_token_;
}

void Mailbox::close(uint64_t token) {
    const std::lock_guard lock(mutex_);
    invocations_.erase(token);
}

nar_status Mailbox::run(const Instance* from, uint64_t token, std::vector<std::string> arguments) {
    InvocationListener* listener = nullptr;
    {
        const std::lock_guard lock(mutex_);
        nar_status status = NAR_OK;
        const Invocation* const invocation = find(from, token, status);
        if (invocation == nullptr) return status;
        if (invocation->has_output) return NAR_INVALID_ARGUMENT;
        listener = invocation->listener;
    }
    return listener->on_run(std::move(arguments));
}

void Mailbox::deliver() {
    std::vector<Line> lines;
    std::vector<Posted> posted;
    std::vector<uint64_t> marked;
    {
        const std::lock_guard lock(mutex_);
        has_mail_.store(false, std::memory_order_relaxed);
        lines.swap(lines_);
        posted.swap(posted_);
        marked.swap(marked_);
    }
    for (const Line& line : lines) {
        if (line.to_disable != nullptr) line.to_disable->disable(line.text);
        else session_.log(line.level, line.text);
    }
    for (const Posted& each : posted) {
        if (!each.from->disabled()) {
            each.from->call("a posted function", [&] { each.function(each.user); });
        } else if (each.drop) {
            each.drop(each.user);
        }
    }
    for (const uint64_t token : marked) {
        Invocation taken{};
        {
            const std::lock_guard lock(mutex_);
            const auto found = invocations_.find(token);
            if (found == invocations_.end()) continue;
            Invocation& invocation = found->second;
            invocation.marked = false;
            taken.listener = invocation.listener;
            taken.output.swap(invocation.output);
            taken.diagnostics.swap(invocation.diagnostics);
            taken.has_ended = invocation.has_ended;
            if (taken.has_ended) taken.end = invocation.end;
        }
        auto still_open = [&] {
            const std::lock_guard lock(mutex_);
            return invocations_.contains(token);
        };
        if (!taken.diagnostics.empty()) taken.listener->on_diagnostics(taken.diagnostics);
        if (!taken.output.empty() && still_open()) {
            taken.listener->on_output(std::move(taken.output));
        }
        if (taken.has_ended && still_open()) taken.listener->on_ended(std::move(taken.end));
    }
}

void Mailbox::forget(Instance* instance) {
    std::vector<Posted> dropped;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(invocations_,
                      [&](const auto& each) { return each.second.instance == instance; });
        const auto kept =
            std::stable_partition(posted_.begin(), posted_.end(),
                                  [&](const Posted& each) { return each.from != instance; });
        dropped.assign(kept, posted_.end());
        posted_.erase(kept, posted_.end());
    }
    for (const Posted& each : dropped) {
        if (each.drop) instance->call("a drop function", [&] { each.drop(each.user); });
    }
}

}  // namespace narratoria::plugin
