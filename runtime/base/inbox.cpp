// SPDX-License-Identifier: Apache-2.0
#include "base/inbox.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "narratoria/engine.h"

namespace narratoria {
namespace {

// Returns a number that is unique in the process, so that a token of one engine is never valid in
// another engine.
uint64_t new_token() {
    static std::atomic<uint64_t> last{0};
    return ++last;
}

}  // namespace

// Wakes the loop if the budget or an exception left messages undelivered. Takes the lock, so it
// must not live inside a locked scope.
class Inbox::WakeForRest {
public:
    explicit WakeForRest(Inbox& inbox) : inbox_(inbox) {}
    ~WakeForRest() {
        const std::lock_guard lock(inbox_.mutex_);
        if (inbox_.waiting_posts_ > 0 || !inbox_.ready_.empty()) inbox_.loop_.wake();
    }

private:
    Inbox& inbox_;
};

void Inbox::log(uint32_t level, std::string line, std::string session) {
    {
        const std::lock_guard lock(mutex_);
        if (lines_.size() >= kMaxLines) {
            ++lost_lines_;
            return;
        }
        lines_.push_back({level, std::move(line), std::move(session)});
    }
    loop_.wake();
}

nar_status Inbox::post(Poster& from, const Post& post) {
    {
        const std::lock_guard lock(mutex_);
        if (from.waiting_.size() >= from.max_posts_) return NAR_BUSY;
        from.waiting_.push_back(post);
        if (from.waiting_.size() == 1) turns_.push_back(&from);
        ++waiting_posts_;
    }
    loop_.wake();
    return NAR_OK;
}

const Inbox::Token* Inbox::find(uint64_t number) const {
    if (number == starting_number_ && number != 0) return &starting_;
    const auto found = tokens_.find(number);
    return found == tokens_.end() ? nullptr : &found->second;
}

Inbox::Token* Inbox::find(uint64_t number) {
    return const_cast<Token*>(std::as_const(*this).find(number));
}

Inbox::Token* Inbox::find_open(const void* owner, uint64_t token, const std::type_info* end_type,
                               nar_status& status) {
    Token* const found = find(token);
    if (found == nullptr || (owner != nullptr && found->owner != owner) ||
        (end_type != nullptr && *found->end_type != *end_type)) {
        status = NAR_GONE;
        return nullptr;
    }
    if (found->has_end) {
        status = NAR_STALE;
        return nullptr;
    }
    return found;
}

void Inbox::mark_ready(uint64_t number, Token& token) {
    if (!std::exchange(token.is_ready, true)) ready_.push_back(number);
}

nar_status Inbox::send_output(const void* owner, uint64_t token, std::string_view bytes,
                              const std::type_info* end_type) {
    {
        const std::lock_guard lock(mutex_);
        nar_status status = NAR_OK;
        Token* const open = find_open(owner, token, end_type, status);
        if (open == nullptr) return status;
        if (bytes.empty()) return NAR_OK;
        const size_t waiting = open->messages.output.size() - open->delivered;
        if (waiting > 0 && waiting + bytes.size() > kMaxOutput) return NAR_BUSY;
        open->messages.output.append(bytes);
        open->has_output = true;
        if (open->is_suspended) return NAR_OK;
        mark_ready(token, *open);
    }
    loop_.wake();
    return NAR_OK;
}

nar_status Inbox::send_diagnostics(const void* owner, uint64_t token, std::string_view bytes,
                                   const std::type_info* end_type) {
    {
        const std::lock_guard lock(mutex_);
        nar_status status = NAR_OK;
        Token* const open = find_open(owner, token, end_type, status);
        if (open == nullptr) return status;
        const size_t waiting = open->messages.diagnostics.size();
        if (waiting > 0 && waiting + bytes.size() > kMaxOutput) return NAR_BUSY;
        open->messages.diagnostics.append(bytes);
        if (open->is_suspended) return NAR_OK;
        mark_ready(token, *open);
    }
    loop_.wake();
    return NAR_OK;
}

nar_status Inbox::send_end(const void* owner, uint64_t token, const std::type_info& type,
                           std::any end, std::string_view last_output) {
    {
        const std::lock_guard lock(mutex_);
        nar_status status = NAR_OK;
        Token* const open = find_open(owner, token, &type, status);
        if (open == nullptr) return status;
        open->messages.output.append(last_output);
        open->messages.end = std::move(end);
        open->has_end = open->end_waits = true;
        if (open->is_suspended) return NAR_OK;
        mark_ready(token, *open);
    }
    loop_.wake();
    return NAR_OK;
}

uint64_t Inbox::open(const void* owner, Receiver& receiver, const std::type_info& end_type,
                     bool is_suspended) {
    const uint64_t number = new_token();
    const std::lock_guard lock(mutex_);
    // Most suspended tokens are closed before the next one is opened, so one has a place of its own,
    // which keeps its memory.
    const bool is_starting = is_suspended && starting_number_ == 0;
    if (is_starting) starting_number_ = number;
    Token& token = is_starting ? starting_ : tokens_[number];
    token.owner = owner;
    token.receiver = &receiver;
    token.end_type = &end_type;
    token.is_suspended = is_suspended;
    return number;
}

void Inbox::release(uint64_t number) {
    {
        const std::lock_guard lock(mutex_);
        Token* token = find(number);
        if (token == nullptr) return;
        if (token == &starting_) {
            token = &tokens_.emplace(number, std::move(starting_)).first->second;
            end_starting();
        }
        token->is_suspended = false;
        if (!token->has_messages()) return;
        mark_ready(number, *token);
    }
    loop_.wake();
}

void Inbox::close(uint64_t token) {
    const std::lock_guard lock(mutex_);
    if (token != starting_number_) tokens_.erase(token);
    else if (token != 0) end_starting();
}

// Keeps the memory of its output for the next one.
void Inbox::end_starting() {
    starting_number_ = 0;
    const Messages& messages = starting_.messages;
    if (std::max(messages.output.capacity(), messages.diagnostics.capacity()) > kPiece) {
        starting_ = Token();
        return;
    }
    starting_.messages.output.clear();
    starting_.messages.diagnostics.clear();
    starting_.messages.end.reset();
    // open() sets the others.
    starting_.delivered = 0;
    starting_.has_end = starting_.end_waits = starting_.has_output = starting_.is_ready = false;
}

void Inbox::set_receiver(uint64_t token, Receiver& receiver) {
    const std::lock_guard lock(mutex_);
    if (Token* const found = find(token)) found->receiver = &receiver;
}

const Inbox::Messages* Inbox::ended(uint64_t token) const {
    const std::lock_guard lock(mutex_);
    const Token* const found = find(token);
    return found != nullptr && found->has_end ? &found->messages : nullptr;
}

void Inbox::close_all(const void* owner) {
    const std::lock_guard lock(mutex_);
    std::erase_if(tokens_, [&](const auto& each) { return each.second.owner == owner; });
    if (starting_number_ != 0 && starting_.owner == owner) end_starting();
}

void Inbox::end_all(const void* owner, const std::any& end) {
    {
        const std::lock_guard lock(mutex_);
        const auto end_one = [&](uint64_t number, Token& token) {
            if (token.owner != owner || token.has_end) return;
            token.messages.end = end;
            token.has_end = token.end_waits = true;
            if (!token.is_suspended) mark_ready(number, token);
        };
        for (auto& [number, token] : tokens_) end_one(number, token);
        if (starting_number_ != 0) end_one(starting_number_, starting_);
        if (ready_.empty()) return;
    }
    loop_.wake();
}

bool Inbox::has_end(uint64_t token) const {
    const std::lock_guard lock(mutex_);
    const Token* const found = find(token);
    return found != nullptr && found->has_end;
}

Inbox::Found Inbox::find(const void* owner, uint64_t token) {
    const std::lock_guard lock(mutex_);
    Found found;
    if (const Token* const open = find_open(owner, token, nullptr, found.status)) {
        found.receiver = open->receiver;
        found.has_output = open->has_output;
    }
    return found;
}

void Inbox::deliver_diagnostics(uint64_t token) {
    std::string diagnostics;
    Receiver* receiver = nullptr;
    {
        const std::lock_guard lock(mutex_);
        Token* const found = find(token);
        if (found == nullptr) return;
        receiver = found->receiver;
        diagnostics.swap(found->messages.diagnostics);
    }
    if (!diagnostics.empty()) receiver->on_diagnostics(diagnostics);
}

void Inbox::deliver_output(uint64_t token) {
    std::string output;
    {
        const std::lock_guard lock(mutex_);
        Token* const found = find(token);
        if (found == nullptr) return;
        output = found->messages.output.substr(found->delivered);
        found->messages.output.clear();
        found->delivered = 0;
    }
    for (size_t at = 0; at < output.size(); at += kPiece) {
        Receiver* receiver = nullptr;
        {
            const std::lock_guard lock(mutex_);
            const Token* const found = find(token);
            if (found == nullptr) return;
            receiver = found->receiver;
        }
        receiver->on_output(output.substr(at, kPiece));
    }
}

void Inbox::deliver_lines() {
    std::vector<Line> lines;
    uint64_t lost = 0;
    {
        const std::lock_guard lock(mutex_);
        lines.swap(lines_);
        lost = std::exchange(lost_lines_, 0);
    }
    for (const Line& line : lines) log_(line.level, line.text, line.session);
    if (lost > 0) {
        log_(NAR_LOG_WARN,
             std::to_string(lost) +
                 " more log lines of plugins were dropped because too many were waiting",
             {});
    }
}

void Inbox::deliver() {
    deliver_lines();
    size_t posts = 0;
    size_t tokens = 0;
    {
        // Deliver only messages sent before this call: a function that posts itself again must not
        // keep the call running.
        const std::lock_guard lock(mutex_);
        posts = waiting_posts_;
        tokens = ready_.size();
    }
    const WakeForRest rest(*this);
    // Deliver at least one post and one token, even with a very small budget.
    for (; posts > 0; --posts) {
        deliver_post();
        if (loop_.time_is_up()) break;
    }
    for (; tokens > 0; --tokens) {
        deliver_ready();
        if (loop_.time_is_up()) break;
    }
}

void Inbox::deliver_post() {
    Poster* from = nullptr;
    Post post{};
    {
        const std::lock_guard lock(mutex_);
        if (turns_.empty()) return;  // an earlier post called forget_posts()
        from = turns_.front();
        turns_.pop_front();
        post = from->waiting_.front();
        from->waiting_.pop_front();
        --waiting_posts_;
        if (!from->waiting_.empty()) turns_.push_back(from);
    }
    from->run_post(post);
}

void Inbox::deliver_ready() {
    uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        if (ready_.empty()) return;
        number = ready_.front();
        ready_.pop_front();
        Token* const found = find(number);
        if (found == nullptr) return;
        found->is_ready = false;
    }
    deliver_piece(number);
}

void Inbox::deliver(uint64_t token) {
    while (deliver_piece(token)) {
    }
}

bool Inbox::deliver_piece(uint64_t number) {
    Receiver* receiver = nullptr;
    std::string output;
    std::string diagnostics;
    std::any end;
    bool has_ended = false;
    bool is_last = false;
    {
        const std::lock_guard lock(mutex_);
        Token* const found = find(number);
        if (found == nullptr) return false;
        Token& token = *found;
        receiver = token.receiver;
        diagnostics.swap(token.messages.diagnostics);
        output = token.messages.output.substr(token.delivered, kPiece);
        token.delivered += output.size();
        is_last = token.delivered == token.messages.output.size();
        if (is_last) {
            token.messages.output.clear();
            token.delivered = 0;
            end = std::move(token.messages.end);
            token.messages.end.reset();
            has_ended = std::exchange(token.end_waits, false);
        } else {
            if (!token.is_suspended) mark_ready(number, token);
            // Erase delivered bytes only when they are more than half: erasing each time would take
            // quadratic time.
            if (token.delivered > token.messages.output.size() / 2) {
                token.messages.output.erase(0, token.delivered);
                token.delivered = 0;
            }
        }
    }
    auto still_open = [&] {
        const std::lock_guard lock(mutex_);
        return find(number) != nullptr;
    };
    if (!diagnostics.empty()) receiver->on_diagnostics(diagnostics);
    if (!output.empty() && still_open()) receiver->on_output(std::move(output));
    if (has_ended && still_open()) receiver->on_ended(std::move(end));
    return !is_last;
}

void Inbox::forget_posts(Poster& from) {
    // An empty deque also allocates, so create it only if a post waits: destructors that call this
    // without waiting posts then do not allocate.
    std::optional<std::deque<Post>> dropped;
    {
        const std::lock_guard lock(mutex_);
        std::erase(turns_, &from);
        if (from.waiting_.empty()) return;
        dropped.emplace().swap(from.waiting_);
        waiting_posts_ -= dropped->size();
    }
    for (const Post& post : *dropped) from.drop_post(post);
}

bool Inbox::has_waiting(const Poster& of) const {
    const std::lock_guard lock(mutex_);
    return !of.waiting_.empty() || !ready_.empty();
}

}  // namespace narratoria
