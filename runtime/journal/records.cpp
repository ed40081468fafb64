// SPDX-License-Identifier: Apache-2.0
#include "journal/records.hpp"

#include <utility>

namespace narratoria::journal {
namespace {

// A record is: a byte with the kind and whether the subject is new, [the two ids of the subject,] kind
// and type of the event, attempt, the differences of seq and time to the record before, the body. Texts
// come after their size. Numbers have seven bits a byte, the lowest first; differences have their sign
// in the lowest bit.
constexpr uint8_t kNewSubject = 0x80;

void add_number(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

void add_difference(std::string& out, uint64_t to, uint64_t from) {
    const auto difference = static_cast<int64_t>(to - from);
    add_number(out,
               (static_cast<uint64_t>(difference) << 1) ^ static_cast<uint64_t>(difference >> 63));
}

void add_text(std::string& out, std::string_view text) {
    add_number(out, text.size());
    out += text;
}

// Reads what the functions above write. After the first fault, everything is 0 or empty.
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

void RecordWriter::add(const Record& record) {
    const bool is_new = record.tool_id != tool_id_ || record.plan_id != plan_id_;
    bytes_ +=
        static_cast<char>(static_cast<uint8_t>(record.kind) | (is_new ? kNewSubject : uint8_t{0}));
    if (is_new) {
        add_text(bytes_, record.plan_id);
        add_text(bytes_, record.tool_id);
        plan_id_ = record.plan_id;
        tool_id_ = record.tool_id;
    }
    bytes_ += static_cast<char>(record.event_kind);
    bytes_ += static_cast<char>(record.event_type);
    add_number(bytes_, record.attempt);
    add_difference(bytes_, record.seq, std::exchange(seq_, record.seq));
    add_difference(bytes_, static_cast<uint64_t>(record.time_us),
                   static_cast<uint64_t>(std::exchange(time_us_, record.time_us)));
    add_text(bytes_, record.body);
}

std::string RecordWriter::take() {
    seq_ = 0;
    time_us_ = 0;
    plan_id_.clear();
    tool_id_.clear();
    return std::exchange(bytes_, {});
}

bool each_record(std::string_view part, const std::function<void(const Record& record)>& take) {
    Reader reader(part);
    Record record;
    while (!reader.is_at_end()) {
        const uint8_t first = reader.byte();
        record.kind = static_cast<RecordKind>(first & ~kNewSubject);
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
        record.body = reader.text();
        if (!reader.is_good()) return false;
        take(record);
    }
    return true;
}

}  // namespace narratoria::journal
