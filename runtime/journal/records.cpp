// SPDX-License-Identifier: Apache-2.0
#include "journal/records.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace narratoria::journal {
namespace {

// The format of a record: a byte with the kind and flags, [the two ids of the subject,] kind and
// type of the event, attempt, the differences of seq and time from the previous record, the body. A
// text is preceded by its size. Numbers have seven bits per byte, the lowest first. Differences
// have their sign in the lowest bit.
constexpr uint8_t kNewSubject = 0x80;  // otherwise the subject of the previous record
// The body consists of two texts, before and after the last patch. With kSameBefore, the first text
// is omitted, because it equals that of the last such event.
constexpr uint8_t kAroundPatch = 0x40;
constexpr uint8_t kSameBefore = 0x20;
constexpr uint8_t kFlags = kNewSubject | kAroundPatch | kSameBefore;

constexpr size_t kLongestNumber = 10;
// The maximum size of a record without its texts.
constexpr size_t kLongestHead = 3 + 8 * kLongestNumber;
constexpr size_t kFirstCapacity = 1024;

// Reads the format that RecordWriter writes. After the first fault, all values are 0 or empty.
class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    bool is_good() const { return is_good_; }
    bool is_at_end() const { return rest_.empty(); }

    uint8_t byte() {
        if (rest_.empty()) return fail();
        const auto value = static_cast<uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return value;
    }
    uint64_t number() {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const uint8_t next = byte();
            value |= uint64_t{next & 0x7Fu} << shift;
            if (next < 0x80) return value;
        }
        return fail();
    }
    uint64_t difference(uint64_t from) {
        const uint64_t value = number();
        return from + ((value >> 1) ^ (0 - (value & 1)));
    }
    std::string_view text() {
        const uint64_t size = number();
        if (size > rest_.size()) {
            fail();
            return {};
        }
        const std::string_view found = rest_.substr(0, static_cast<size_t>(size));
        rest_.remove_prefix(static_cast<size_t>(size));
        return found;
    }

private:
    uint8_t fail() {
        is_good_ = false;
        rest_ = {};
        return 0;
    }

    std::string_view rest_;
    bool is_good_ = true;
};

}  // namespace

// Writes the bytes of a record. Separate from the part, because the compiler would reload a member
// after each byte, which may alias it.
class RecordWriter::Output {
public:
    explicit Output(const Part& part) : at_(part.memory.get() + part.size) {}

    size_t size_in(const Part& part) const { return static_cast<size_t>(at_ - part.memory.get()); }

    void byte(unsigned value) { *at_++ = static_cast<char>(value); }
    void number(uint64_t value) {
        for (; value >= 0x80; value >>= 7) byte(static_cast<uint8_t>(value | 0x80));
        byte(static_cast<uint8_t>(value));
    }
    void difference(uint64_t to, uint64_t from) {
        const auto difference = static_cast<int64_t>(to - from);
        number((static_cast<uint64_t>(difference) << 1) ^ static_cast<uint64_t>(difference >> 63));
    }
    void text(std::string_view text) {
        number(text.size());
        at_ = std::copy(text.begin(), text.end(), at_);
    }

private:
    char* at_;
};

RecordWriter::Output RecordWriter::room_for(const Record& record) {
    const size_t most =
        kLongestHead + record.plan_id.size() + record.tool_id.size() + record.body.size();
    if (part_.capacity - part_.size < most) {
        const size_t capacity = std::max({part_.size + most, 2 * part_.capacity, kFirstCapacity});
        auto memory = std::make_unique_for_overwrite<char[]>(capacity);
        std::copy_n(part_.memory.get(), part_.size, memory.get());
        part_.memory = std::move(memory);
        part_.capacity = capacity;
    }
    return Output(part_);
}

void RecordWriter::put_head(Output& out, const Record& record, unsigned flags) {
    const bool is_new = std::string_view(tool_id_) != record.tool_id ||
                        std::string_view(plan_id_) != record.plan_id;
    out.byte(static_cast<unsigned>(record.kind) | flags | (is_new ? kNewSubject : 0));
    if (is_new) {
        out.text(record.plan_id);
        out.text(record.tool_id);
        plan_id_ = record.plan_id;
        tool_id_ = record.tool_id;
    }
    out.byte(record.event_kind);
    out.byte(record.event_type);
    out.number(record.attempt);
    out.difference(record.seq, std::exchange(seq_, record.seq));
    out.difference(static_cast<uint64_t>(record.time_us),
                   static_cast<uint64_t>(std::exchange(time_us_, record.time_us)));
}

void RecordWriter::add(const Record& record) {
    Output out = room_for(record);
    put_head(out, record, 0);
    out.text(record.body);
    part_.size = out.size_in(part_);
}

void RecordWriter::add_around(const Record& event, std::string_view patch) {
    assert(patch.data() >= event.body.data() &&
           patch.data() + patch.size() <= event.body.data() + event.body.size());
    const auto at = static_cast<size_t>(patch.data() - event.body.data());
    const std::string_view before = event.body.substr(0, at);
    const bool is_same = before == before_patch_;
    Output out = room_for(event);
    put_head(out, event, is_same ? kAroundPatch | kSameBefore : kAroundPatch);
    if (!is_same) {
        out.text(before);
        before_patch_ = before;
    }
    out.text(event.body.substr(at + patch.size()));
    part_.size = out.size_in(part_);
}

Part RecordWriter::take(Part next) {
    next.size = 0;
    seq_ = 0;
    time_us_ = 0;
    plan_id_.clear();
    tool_id_.clear();
    before_patch_.clear();
    return std::exchange(part_, std::move(next));
}

bool each_record(std::string_view part, const std::function<void(const Record& record)>& take) {
    Reader reader(part);
    Record record;
    std::string_view patch, before;
    std::string joined;
    while (!reader.is_at_end()) {
        const uint8_t first = reader.byte();
        record.kind = static_cast<RecordKind>(first & ~kFlags);
        if ((first & kNewSubject) != 0) {
            record.plan_id = reader.text();
            record.tool_id = reader.text();
        }
        record.event_kind = reader.byte();
        record.event_type = reader.byte();
        record.attempt = static_cast<uint32_t>(reader.number());
        record.seq = reader.difference(record.seq);
        record.time_us =
            static_cast<int64_t>(reader.difference(static_cast<uint64_t>(record.time_us)));
        if ((first & kAroundPatch) != 0 && (first & kSameBefore) == 0) before = reader.text();
        record.body = reader.text();
        if (!reader.is_good()) return false;
        if (record.kind == RecordKind::Patch) patch = record.body;
        if ((first & kAroundPatch) != 0) {
            joined.assign(before).append(patch).append(record.body);
            record.body = joined;
        }
        take(record);
    }
    return true;
}

}  // namespace narratoria::journal
