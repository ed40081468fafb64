// SPDX-License-Identifier: Apache-2.0
#include "plan/ended_tools.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include "plan/result.hpp"

namespace narratoria::plan {
namespace {

constexpr std::string_view kPlainDone = R"({"version":"0","type":"done","ok":true)";
constexpr std::string_view kPlainResult = R"(,"result":)";

// Numbers are stored in 7 bits a byte, because most are small. Negative ones, too: -1 becomes 1.
constexpr size_t kMaximumNumber = 10;

template <typename Number>
uint64_t encoded(Number value) {
    if constexpr (std::is_enum_v<Number>) return static_cast<uint64_t>(value);
    else if constexpr (std::is_unsigned_v<Number>) return value;
    else return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(int64_t{value} >> 63);
}

template <typename Number>
Number decoded(uint64_t value) {
    if constexpr (std::is_enum_v<Number> || std::is_unsigned_v<Number>) {  // bool, too
        return static_cast<Number>(value);
    } else {
        return static_cast<Number>((value >> 1) ^ (~(value & 1) + 1));
    }
}

// All directions list the same members in the same order, so that they cannot differ.
class Measuring {
public:
    template <typename Number>
    void number(Number) {
        size += kMaximumNumber;
    }
    void text(std::string_view value) { size += kMaximumNumber + value.size(); }
    template <typename List>
    size_t size_of(const List& list) {
        size += kMaximumNumber;
        return list.size();
    }

    size_t size = 0;
};

class Storing {
public:
    explicit Storing(char* out) : out_(out) {}
    template <typename Number>
    void number(Number value) {
        uint64_t rest = encoded(value);
        for (; rest > 127; rest >>= 7) *out_++ = static_cast<char>(rest | 128);
        *out_++ = static_cast<char>(rest);
    }
    void text(std::string_view value) {
        number(value.size());
        if (!value.empty()) std::memcpy(out_, value.data(), value.size());
        out_ += value.size();
    }
    template <typename List>
    size_t size_of(const List& list) {
        number(list.size());
        return list.size();
    }
    const char* end() const { return out_; }

private:
    char* out_;
};

class Loading {
public:
    explicit Loading(std::string_view& in) : in_(in) {}
    template <typename Number>
    void number(Number& value) {
        uint64_t bits = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = static_cast<uint8_t>(in_.front());
            in_.remove_prefix(1);
            bits |= uint64_t{byte & 127u} << shift;
            if (byte < 128) break;
        }
        value = decoded<Number>(bits);
    }
    void text(std::string& value) { value = text(); }
    std::string_view text() {
        size_t size = 0;
        number(size);
        const std::string_view value = in_.substr(0, size);
        in_.remove_prefix(size);
        return value;
    }
    template <typename List>
    size_t size_of(List& list) {
        size_t size = 0;
        number(size);
        list.resize(size);
        return size;
    }

private:
    std::string_view& in_;
};

bool has_details(const AttemptRecord& attempt) {
    return !attempt.code.empty() || !attempt.error.empty() || attempt.signal != 0 ||
           attempt.lines_after_done > 0 || attempt.user_us > 0 || attempt.system_us > 0 ||
           attempt.resident_kb > 0 || !attempt.guarantees.empty() || !attempt.details.empty() ||
           !attempt.traces.empty();
}

template <typename Direction, typename Attempt>
void pass_attempt(Direction& each, Attempt& attempt) {
    bool is_detailed = has_details(attempt);
    each.number(is_detailed);
    each.number(attempt.attempt);
    each.number(attempt.state);
    each.number(attempt.exit_status);
    each.number(attempt.started_us);
    each.number(attempt.execution_ms);
    each.number(attempt.first_event);
    each.number(attempt.event_count);
    if (!is_detailed) return;
    each.text(attempt.code);
    each.text(attempt.error);
    each.number(attempt.signal);
    each.number(attempt.lines_after_done);
    each.number(attempt.user_us);
    each.number(attempt.system_us);
    each.number(attempt.resident_kb);
    each.text(attempt.guarantees);
    each.text(attempt.details);
    const size_t count = each.size_of(attempt.traces);
    for (size_t i = 0; i < count; ++i) each.text(attempt.traces[i]);
}

bool has_details(const ToolResult& tool) {
    return !tool.error.empty() || !tool.error_code.empty() || !tool.diagnostics.empty() ||
           !tool.summary.empty() || tool.output != "{}";
}

template <typename Direction, typename Tool>
void pass_tool(Direction& each, Tool& tool) {
    bool is_detailed = has_details(tool);
    each.number(is_detailed);
    each.text(tool.tool_id);
    each.number(tool.state);
    each.text(tool.result);
    each.number(tool.execution_ms);
    each.number(tool.line);
    const size_t count = each.size_of(tool.attempts);
    for (size_t i = 0; i < count; ++i) pass_attempt(each, tool.attempts[i]);
    if (!is_detailed) return;
    each.text(tool.output);
    each.text(tool.error);
    each.text(tool.error_code);
    each.text(tool.diagnostics);
    each.text(tool.summary);
}

}  // namespace

void EndedTools::write_plain_done(std::string& out, const ToolResult& tool) {
    out = kPlainDone;
    if (!tool.result.empty()) out.append(kPlainResult).append(tool.result);
    out += '}';
}

bool EndedTools::is_plain_done(const ToolResult& tool, std::string_view event) {
    if (!event.starts_with(kPlainDone) || event.back() != '}') return false;
    event.remove_prefix(kPlainDone.size());
    event.remove_suffix(1);
    if (tool.result.empty()) return event.empty();
    return event.size() == kPlainResult.size() + tool.result.size() &&
           event.starts_with(kPlainResult) && event.ends_with(tool.result);
}

void EndedTools::add(const ToolResult& tool, const std::string_view* events, uint32_t before) {
    if (last_.empty()) last_.reserve(kBlock + 1024);
    const auto pass = [&](auto& each) {
        each.number(before);
        pass_tool(each, tool);
        each.number(events == nullptr);
        if (events != nullptr) each.text(*events);
    };
    Measuring measuring;
    pass(measuring);
    const size_t begin = last_.size();
    last_.resize(begin + measuring.size);
    Storing storing(last_.data() + begin);
    pass(storing);
    last_.resize(static_cast<size_t>(storing.end() - last_.data()));
    event_bytes_ += events != nullptr
                        ? events->size()
                        : kPlainDone.size() + kPlainResult.size() + tool.result.size() + 1;
    if (last_.size() >= kBlock) end_block();
}

bool EndedTools::Reader::next(ToolResult& tool, uint32_t& before) {
    while (rest_.empty()) {
        if (!next_block()) return false;
    }
    Loading loading(rest_);
    tool = ToolResult(std::make_shared<EventSpool>());
    loading.number(before);
    pass_tool(loading, tool);
    bool is_plain = false;
    loading.number(is_plain);
    if (is_plain) {
        std::string done;
        write_plain_done(done, tool);
        tool.events.add(done);
    } else if (const auto events = loading.text(); !events.empty()) tool.events.add(events);
    return true;
}

void EndedTools::end_block() {
    spool_.in_memory_ += last_.size();
    blocks_.push_back(std::move(last_));
    last_.clear();
    if (!spool_.over_limit()) return;
    size_t moved = 0;
    for (; moved < blocks_.size(); ++moved) {
        Extent extent{0, blocks_[moved].size()};
        if (!spool_.append(blocks_[moved], extent.offset)) break;
        extents_.push_back(extent);
        spool_.in_memory_ -= extent.size;
    }
    // Reuse the memory of a block for the next one.
    if (moved > 0 && blocks_[moved - 1].capacity() <= 2 * kBlock) {
        last_ = std::move(blocks_[moved - 1]);
        last_.clear();
    }
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(moved));
}

uint64_t EndedTools::memory() const {
    uint64_t bytes = last_.capacity() + extents_.capacity() * sizeof(Extent);
    for (const std::string& block : blocks_) bytes += block.capacity();
    return bytes;
}

bool EndedTools::Reader::next_block() {
    const size_t block = block_++;
    const size_t in_file = tools_.extents_.size();
    if (block >= in_file) {
        const size_t in_memory = tools_.blocks_.size();
        if (block - in_file > in_memory) return false;
        rest_ = block - in_file == in_memory ? std::string_view(tools_.last_)
                                             : std::string_view(tools_.blocks_[block - in_file]);
        return true;
    }
    const Extent& extent = tools_.extents_[block];
    from_file_.resize(extent.size);
    for (uint64_t read = 0; read < extent.size;) {
        const ssize_t count = ::pread(tools_.spool_.file_.get(), from_file_.data() + read,
                                      extent.size - read, static_cast<off_t>(extent.offset + read));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            has_failed_ = true;
            return false;
        }
        read += static_cast<uint64_t>(count);
    }
    rest_ = from_file_;
    return true;
}

}  // namespace narratoria::plan
