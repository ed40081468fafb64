// SPDX-License-Identifier: Apache-2.0
#include "journal/records.hpp"

#include <algorithm>
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

void RecordWriter::need(size_t more) {
    if (bytes_.size() - size_ >= more) return;
    bytes_.resize(std::max(size_ + more, 2 * bytes_.size()));
}

void RecordWriter::add_number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_[size_++] = static_cast<char>(value | 0x80);
    bytes_[size_++] = static_cast<char>(value);
}

void RecordWriter::add_difference(uint64_t to, uint64_t from) {
    const auto difference = static_cast<int64_t>(to - from);
    add_number((static_cast<uint64_t>(difference) << 1) ^ static_cast<uint64_t>(difference >> 63));
}

void RecordWriter::add_bytes(std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += bytes.size();
}

void RecordWriter::add_text(std::string_view text) {
    add_number(text.size());
    add_bytes(text);
}

// Finds the last patch in the body of this event; empty if the body does not contain it.
std::string_view RecordWriter::patch_in(const Record& event) const {
    if (patch_size_ == 0 || event.seq != patch_seq_) return {};
    const auto begin = reinterpret_cast<uintptr_t>(event.body.data());
    if (patch_source_ < begin || patch_source_ - begin > event.body.size()) return {};
    const std::string_view found = event.body.substr(patch_source_ - begin, patch_size_);
    return found == std::string_view(bytes_).substr(patch_at_, patch_size_) ? found
                                                                            : std::string_view();
}

void RecordWriter::add(const Record& record) {
    need(kLongestHead + record.plan_id.size() + record.tool_id.size() + record.body.size());
    const bool is_new = record.tool_id != tool_id_ || record.plan_id != plan_id_;
    const std::string_view patch =
        record.kind == RecordKind::Event ? patch_in(record) : std::string_view();
    std::string_view before, after = record.body;
    uint8_t flags = is_new ? kNewSubject : 0;
    if (!patch.empty()) {
        const auto at = static_cast<size_t>(patch.data() - record.body.data());
        before = record.body.substr(0, at);
        after = record.body.substr(at + patch.size());
        const bool is_same = before == before_patch_;
        flags = static_cast<uint8_t>(flags | kAroundPatch | (is_same ? kSameBefore : 0));
    }
    bytes_[size_++] = static_cast<char>(static_cast<uint8_t>(record.kind) | flags);
    if (is_new) {
        add_text(record.plan_id);
        add_text(record.tool_id);
        plan_id_ = record.plan_id;
        tool_id_ = record.tool_id;
    }
    bytes_[size_++] = static_cast<char>(record.event_kind);
    bytes_[size_++] = static_cast<char>(record.event_type);
    add_number(record.attempt);
    add_difference(record.seq, std::exchange(seq_, record.seq));
    add_difference(static_cast<uint64_t>(record.time_us),
                   static_cast<uint64_t>(std::exchange(time_us_, record.time_us)));
    if ((flags & kAroundPatch) != 0 && (flags & kSameBefore) == 0) {
        add_text(before);
        before_patch_ = before;
    }
    add_text(after);
    if (record.kind != RecordKind::Patch) return;
    patch_size_ = record.body.size();
    patch_at_ = size_ - patch_size_;
    patch_seq_ = record.seq;
    patch_source_ = reinterpret_cast<uintptr_t>(record.body.data());
}

std::string RecordWriter::take() {
    const size_t room = bytes_.size();
    bytes_.resize(size_);
    seq_ = 0;
    time_us_ = 0;
    plan_id_.clear();
    tool_id_.clear();
    size_ = 0;
    patch_size_ = 0;
    before_patch_.clear();
    std::string part = std::exchange(bytes_, {});
    // The next part will probably be as long.
    if (part.size() > room / 2) bytes_.resize(room);
    return part;
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
