// SPDX-License-Identifier: Apache-2.0
#include "state/tree.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "state/object.hpp"

namespace narratoria::state {
namespace {

// The bytes of a value as the tree stores them: a string without quotes, other values as source
// text.
std::string_view kept_text(json::Value value) {
    const json::Node& node = value.tape().nodes()[value.index()];
    if (node.type <= json::Type::String && !node.escaped) [[likely]] {
        return {node.begin, node.size};
    }
    const std::string_view raw = value.raw();
    return value.is_string() ? raw.substr(1, raw.size() - 2) : raw;
}

bool has_line_ends(std::string_view text) {
    return text.find('\n') != std::string_view::npos || text.find('\r') != std::string_view::npos;
}

// Entries of an object with more entries than this are not expected to be in the cache.
constexpr uint32_t kMoreThanTheCacheHolds = 8192;

// Bounds the memory if a tool removes keys endlessly.
constexpr size_t kMaxRemovals = 10000;

Object* child_of(const Entry& entry) {
    return entry.kind() == Kind::Object ? entry.child.object : nullptr;
}

void append_object(std::string& out, const Object& object) {
    out += '{';
    bool first = true;
    for (uint32_t i = 0; i < object.count; ++i) {
        const Entry& entry = object.entries[i];
        if (entry.kind() == Kind::Removed) continue;
        if (!first) out += ',';
        first = false;
        json::append_string(out, entry.key.view());
        out += ':';
        if (const Object* child = child_of(entry)) {
            append_object(out, *child);
        } else if (entry.kind() == Kind::String) {
            out += '"';
            out += entry.value.view();
            out += '"';
        } else {
            out += entry.value.view();
        }
    }
    out += '}';
}

constexpr uint64_t kEmptyBytes = 2;

uint64_t json_bytes_of(std::string_view key) {
    return key.size() + 4;  // quotation marks, colon, comma
}

uint64_t json_bytes_of(Kind kind, std::string_view text) {
    return text.size() + (kind == Kind::String ? 2 : 0);
}

uint64_t json_bytes_of(const Object& object);

uint64_t json_bytes_of(const Entry& entry) {
    const Object* child = child_of(entry);
    return child != nullptr ? json_bytes_of(*child)
                            : json_bytes_of(entry.kind(), entry.value.view());
}

uint64_t json_bytes_of(const Object& object) {
    uint64_t bytes = kEmptyBytes;
    for (uint32_t i = 0; i < object.count; ++i) {
        const Entry& entry = object.entries[i];
        if (entry.kind() == Kind::Removed) continue;
        bytes += json_bytes_of(entry.key.view()) + json_bytes_of(entry);
    }
    return bytes;
}

// The digest of an object is the sum of the hashes of its values, each with its path and kind.
// Stores contain it, so the algorithm must never change.
constexpr uint64_t kRootPath = 0x6e6172;

uint64_t path_hash(uint64_t path, std::string_view key) { return hash_text(key, path); }

uint64_t digest_of(Kind kind, std::string_view text, uint64_t path) {
    return hash_text(text, path + static_cast<uint64_t>(kind));
}

// An empty object is also a value.
uint64_t digest_of_empty(uint64_t path) { return digest_of(Kind::Object, "", path); }

uint64_t digest_of(const Object& object, uint64_t path);

uint64_t digest_of(const Entry& entry, uint64_t path) {
    const Object* child = child_of(entry);
    return child != nullptr ? digest_of(*child, path)
                            : digest_of(entry.kind(), entry.value.view(), path);
}

uint64_t digest_of(const Object& object, uint64_t path) {
    uint64_t sum = digest_of_empty(path);
    for (uint32_t i = 0; i < object.count; ++i) {
        const Entry& entry = object.entries[i];
        if (entry.kind() == Kind::Removed) continue;
        sum += digest_of(entry, path_hash(path, entry.key.view()));
    }
    return sum;
}

uint64_t size_of(json::Value value) {
    uint64_t count = 0;
    if (value.is_object()) {
        for ([[maybe_unused]] const json::Member member : value.members()) ++count;
    } else if (value.is_array()) {
        for ([[maybe_unused]] const json::Value element : value.elements()) ++count;
    }
    return count;
}

}  // namespace

Patch::Patch() : seed_(hash_seed()) {}

void Patch::prepare(json::Value value, bool keeps_nulls) {
    removes_ = false;
    keeps_nulls_ = keeps_nulls;
    count_ = 0;
    compacted_.clear();
    // Free the memory that an unusually large patch required.
    constexpr size_t kKept = 4096;
    if (members_.size() > kKept && value.tape().node_count() < kKept) {
        std::vector<Member>().swap(members_);
        std::vector<uint32_t>().swap(slots_);
        std::string().swap(compacted_);
    }
    add_members(value.tape(), value.index());
}

std::string_view Patch::kept_array(json::Value value) {
    const std::string_view text = value.raw();
    if (!has_line_ends(text)) return text;
    // All compacted arrays together are shorter than the document, so this reserve is enough.
    if (compacted_.empty()) compacted_.reserve(value.tape().source().size() + json::kPadding);
    const size_t begin = compacted_.size();
    json::append_compact(compacted_, text);
    return std::string_view(compacted_).substr(begin);
}

uint32_t Patch::add_member() {
    if (count_ == members_.size()) members_.resize(std::max<size_t>(64, members_.size() * 2));
    return count_++;
}

void Patch::add_members(const json::Tape& tape, uint32_t object) {
    const json::Node* const nodes = tape.nodes();
    const uint32_t first = count_;
    const uint32_t end = nodes[object].size;
    uint32_t keys = 0;
    bool may_have_duplicates = false;
    uint64_t seen = 0;
    for (uint32_t at = object + 1; at < end; ++keys) {
        const std::string_view key(nodes[at].begin, nodes[at].size);
        const auto hash = static_cast<uint32_t>(hash_text(key, seed_));
        // A 64-bit filter: equal keys set the same bit, and different keys rarely do.
        const uint64_t bit = uint64_t{1} << (hash >> 26);
        may_have_duplicates |= (seen & bit) != 0;
        seen |= bit;
        const uint32_t place = add_member();
        Member& member = members_[place];
        member.key = key;
        member.hash = hash;
        member.end = count_;
        member.superseded = false;
        const uint32_t value = at + 1;
        switch (nodes[value].type) {
            case json::Type::Null:
                member.kind = keeps_nulls_ ? Kind::Plain : Kind::Removed;
                member.value = kept_text({&tape, value});
                removes_ |= !keeps_nulls_;
                break;
            case json::Type::Object:
                member.kind = Kind::Object;
                add_members(tape, value);
                members_[place].end = count_;  // members_ may have been reallocated
                break;
            case json::Type::String:
                member.kind = Kind::String;
                member.value = kept_text({&tape, value});
                break;
            case json::Type::Array:
                member.kind = Kind::Plain;
                member.value = kept_array({&tape, value});
                break;
            default: member.kind = Kind::Plain; member.value = kept_text({&tape, value});
        }
        at = tape.next(value);
    }
    if (may_have_duplicates) settle_duplicates(first, keys);
}

// Resolves duplicates among `count` members of one object, the first of which is at `first`.
void Patch::settle_duplicates(uint32_t first, uint32_t count) {
    auto same_key = [](const Member& a, const Member& b) {
        return a.hash == b.hash && a.key == b.key;
    };
    // Comparing all pairs is faster than a hash table for few members.
    if (count <= 16) {
        for (uint32_t i = first; i < count_; i = members_[i].end) {
            for (uint32_t j = first; j < i; j = members_[j].end) {
                if (same_key(members_[i], members_[j])) members_[j].superseded = true;
            }
        }
        return;
    }
    size_t slots = 64;
    while (slots < size_t{count} * 2) slots *= 2;
    slots_.assign(slots, 0);
    for (uint32_t i = first; i < count_; i = members_[i].end) {
        size_t slot = members_[i].hash & (slots - 1);
        while (slots_[slot] != 0) {
            Member& earlier = members_[slots_[slot] - 1];
            if (same_key(earlier, members_[i])) {
                earlier.superseded = true;
                break;
            }
            slot = (slot + 1) & (slots - 1);
        }
        slots_[slot] = i + 1;
    }
}

Tree::Tree() : root_(new Object), bytes_(kEmptyBytes), seed_(hash_seed()) {}
Tree::~Tree() { delete root_; }

Tree::Tree(Tree&& other) noexcept
    : root_(std::exchange(other.root_, nullptr)),
      bytes_(other.bytes_),
      keeps_digest_(other.keeps_digest_),
      digest_(other.digest_),
      seed_(other.seed_),
      removals_(std::move(other.removals_)) {}

Tree& Tree::operator=(Tree&& other) noexcept {
    std::swap(root_, other.root_);
    std::swap(bytes_, other.bytes_);
    std::swap(keeps_digest_, other.keeps_digest_);
    std::swap(digest_, other.digest_);
    std::swap(removals_, other.removals_);
    return *this;
}

Tree Tree::clone() const {
    Tree copy;
    Object* root = root_->clone();
    delete std::exchange(copy.root_, root);
    copy.bytes_ = bytes_;
    copy.keeps_digest_ = keeps_digest_;
    copy.digest_ = digest_;
    copy.removals_ = removals_;
    return copy;
}

void Tree::clear() {
    delete root_;
    root_ = nullptr;
    root_ = new Object;
    bytes_ = kEmptyBytes;
    if (keeps_digest_) keep_digest();
    removals_.clear();
}

void Tree::keep_digest() {
    keeps_digest_ = true;
    digest_ = digest_of(*root_, kRootPath);
}

size_t Tree::size() const { return root_->live; }

void Tree::merge(const Patch& patch, Writer writer, const Overlap* overlap) {
    overlap_ = overlap;
    oldest_ = overlap != nullptr ? overlap->oldest : UINT32_MAX;
    writer_ = writer;
    path_.clear();
    const bool is_watched = oldest_ != UINT32_MAX;
    const auto merge =
        keeps_digest_
            ? (is_watched ? &Tree::merge_members<true, true> : &Tree::merge_members<false, true>)
            : (is_watched ? &Tree::merge_members<true, false> : &Tree::merge_members<false, false>);
    (this->*merge)(root_, patch, 0, patch.count_, kRootPath);
}

template <bool kWatched, bool kDigested>
void Tree::merge_members(Object* target, const Patch& patch, uint32_t first, uint32_t end,
                         [[maybe_unused]] uint64_t path) {
    const Patch::Member* const members = patch.members_.data();
    const Writer writer = writer_;

    // The entries of a large object are scattered in memory: prefetch all of them before the first
    // is used.
    const bool is_large = target->count > kMoreThanTheCacheHolds;
    if (is_large) {
        for (uint32_t i = first; i < end; i = members[i].end) target->fetch_slot(members[i].hash);
        for (uint32_t i = first; i < end; i = members[i].end) target->fetch_entry(members[i].hash);
    }

    // Tools usually write the same keys in the same order, so try the next entry first. Not for a
    // large object, where that entry would be a cache miss.
    uint32_t expected = 0;
    for (uint32_t i = first; i < end; i = members[i].end) {
        const Patch::Member& member = members[i];
        if (member.superseded) continue;
        uint32_t position = expected;
        if (is_large || !target->find_at(position, member.key, member.hash)) {
            position = target->find(member.key, member.hash);
        }
        if (member.kind == Kind::Removed) {
            // RFC 7396: removing an unknown key has no effect.
            if (position != Object::kNone) {
                remove<kDigested>(target, position, member.key, path);
            }
            continue;
        }
        if constexpr (kWatched) {
            report_overwritten(target, position, member.key, member.kind == Kind::Object);
        }
        const bool is_new = position == Object::kNone;
        if (is_new) {
            target->append(member.key, member.hash);
            position = target->count - 1;
            bytes_ += json_bytes_of(member.key);
        }
        expected = position + 1;

        Entry& entry = target->entries[position];
        entry.writer = writer;
        // Tools often repeat values that have not changed. A new entry has no value yet.
        if (member.kind != Kind::Object && entry.kind() == member.kind &&
            entry.value.equals(member.value)) {
            continue;
        }
        uint64_t own_path = 0;
        if constexpr (kDigested) {
            own_path = path_hash(path, member.key);
            const bool is_merged = member.kind == Kind::Object && child_of(entry) != nullptr;
            if (!is_new && !is_merged) digest_ -= digest_of(entry, own_path);
            if (member.kind != Kind::Object) {
                digest_ += digest_of(member.kind, member.value, own_path);
            } else if (!is_merged) {
                digest_ += digest_of_empty(own_path);
            }
        }
        if (member.kind != Kind::Object) {
            // Measuring a replaced object costs no more than freeing it.
            bytes_ += json_bytes_of(member.kind, member.value) - json_bytes_of(entry);
            // replace() below reuses a heap block of the old text, so only an object is freed here.
            if (entry.kind() == Kind::Object) Object::release_value(entry);
            entry.value.replace(member.value);
            entry.set_kind(member.kind);
            continue;
        }
        Object* child = child_of(entry);
        if (child == nullptr) {
            // Allocated before the old value is released: if it throws, the old value is intact.
            child = new Object;
            bytes_ += kEmptyBytes - json_bytes_of(entry);
            Object::release_value(entry);
            entry.child.object = child;
            entry.set_kind(Kind::Object);
        }
        if constexpr (kWatched) path_.push_back(member.key);
        merge_members<kWatched, kDigested>(child, patch, i + 1, member.end, own_path);
        if constexpr (kWatched) path_.pop_back();
    }
}

// Counts the bytes that merge_members() would add.
uint64_t Tree::growth(const Object* target, const Patch& patch, uint32_t first, uint32_t end) {
    const Patch::Member* const members = patch.members_.data();
    uint64_t grown = 0;
    for (uint32_t i = first; i < end; i = members[i].end) {
        const Patch::Member& member = members[i];
        if (member.superseded) continue;
        const uint32_t position =
            target != nullptr ? target->find(member.key, member.hash) : Object::kNone;
        const Entry* const entry = position != Object::kNone ? &target->entries[position] : nullptr;
        const Object* const child = entry != nullptr ? child_of(*entry) : nullptr;
        if (member.kind == Kind::Object && child != nullptr) {
            grown += growth(child, patch, i + 1, member.end);
            continue;
        }
        if (entry != nullptr) grown -= json_bytes_of(entry->key.view()) + json_bytes_of(*entry);
        if (member.kind == Kind::Removed) continue;
        grown += json_bytes_of(member.key);
        grown += member.kind == Kind::Object
                     ? kEmptyBytes + growth(nullptr, patch, i + 1, member.end)
                     : json_bytes_of(member.kind, member.value);
    }
    return grown;
}

template <bool kDigested>
void Tree::remove(Object* target, uint32_t position, std::string_view key,
                  [[maybe_unused]] uint64_t path) {
    if (oldest_ != UINT32_MAX) {
        report_overwritten(target, position, key, false);
        if (removals_.size() < kMaxRemovals) removals_[path_to(key)] = writer_;
    }
    const Entry& entry = target->entries[position];
    bytes_ -= json_bytes_of(entry.key.view()) + json_bytes_of(entry);
    if constexpr (kDigested) digest_ -= digest_of(entry, path_hash(path, key));
    target->remove(position);
}

// Reports the values that a write or a removal overwrites. If an object is merged into an object,
// the values below it are reported where they are written.
void Tree::report_overwritten(const Object* target, uint32_t position, std::string_view key,
                              bool by_object) {
    if (position == Object::kNone) {
        if (removals_.empty()) return;
        const auto removal = removals_.find(path_to(key));
        if (removal == removals_.end()) return;
        report(key, removal->second);
        // Report it once: from now on the written entry stores its writer.
        removals_.erase(removal);
        return;
    }
    const Entry& entry = target->entries[position];
    if (child_of(entry) == nullptr || !by_object) report_entry(entry, key);
}

namespace {

Object* object_from(json::Value document, uint64_t seed) {
    auto* object = new Object;
    std::string compacted;
    for (const json::Member member : document.members()) {
        const auto hash = static_cast<uint32_t>(hash_text(member.key, seed));
        const uint32_t found = object->find(member.key, hash);
        Entry& entry =
            found != Object::kNone ? object->entries[found] : object->append(member.key, hash);
        Object::release_value(entry);
        if (member.value.is_object()) {
            Object* child = object_from(member.value, seed);
            entry.child.object = child;
            entry.set_kind(Kind::Object);
        } else if (member.value.is_array() && has_line_ends(member.value.raw())) {
            compacted.clear();
            compacted.reserve(member.value.raw().size() + json::kPadding);
            json::append_compact(compacted, member.value.raw());
            entry.value.set(compacted);
            entry.set_kind(Kind::Plain);
        } else {
            entry.value.set(kept_text(member.value));
            entry.set_kind(member.value.is_string() ? Kind::String : Kind::Plain);
        }
    }
    return object;
}

}  // namespace

void Tree::assign(json::Value document) {
    Object* fresh = object_from(document, seed_);
    delete root_;
    root_ = fresh;
    bytes_ = json_bytes_of(*root_);
    if (keeps_digest_) keep_digest();
    removals_.clear();
}

std::string Tree::path_to(std::string_view key) const {
    std::string pointer;
    for (const std::string_view segment : path_) json::append_pointer(pointer, segment);
    json::append_pointer(pointer, key);
    return pointer;
}

void Tree::report(std::string_view key, Writer earlier) {
    if (earlier < oldest_ || earlier == writer_) return;
    overlap_->written_before(path_to(key), earlier);
}

// All values in a replaced object are overwritten together. An empty object counts as one value.
void Tree::report_entry(const Entry& entry, std::string_view key) {
    const Object* object = child_of(entry);
    if (object == nullptr || object->live == 0) {
        report(key, entry.writer);
    } else {
        path_.push_back(key);
        for (uint32_t i = 0; i < object->count; ++i) {
            const Entry& below = object->entries[i];
            if (below.kind() != Kind::Removed) report_entry(below, below.key.view());
        }
        path_.pop_back();
    }
    if (object != nullptr && !removals_.empty()) report_removals_below(key);
}

void Tree::report_removals_below(std::string_view key) {
    const std::string below = path_to(key) + '/';
    auto removal = removals_.lower_bound(below);
    while (removal != removals_.end() && removal->first.compare(0, below.size(), below) == 0) {
        if (removal->second >= oldest_ && removal->second != writer_) {
            overlap_->written_before(removal->first, removal->second);
        }
        // Report it once: the path is now overwritten.
        removal = removals_.erase(removal);
    }
}

template <typename AtObject, typename AtText>
bool Tree::visit(std::string_view pointer, bool& malformed, AtObject&& at_object,
                 AtText&& at_text) const {
    // An invalid pointer is an error even if it leads nowhere.
    malformed = !json::is_pointer(pointer);
    if (malformed) return false;
    const Object* object = root_;
    std::string segment;
    while (!pointer.empty()) {
        json::take_segment(pointer, segment);
        const auto hash = static_cast<uint32_t>(hash_text(segment, seed_));
        // find() may read the padding after the key.
        segment.reserve(segment.size() + json::kPadding);
        const uint32_t position = object->find(segment, hash);
        if (position == Object::kNone) return false;
        const Entry& entry = object->entries[position];
        const Object* child = child_of(entry);
        if (child == nullptr) return at_text(entry, pointer);
        object = child;
    }
    at_object(*object);
    return true;
}

bool Tree::read(std::string_view pointer, std::string& out, bool& malformed) const {
    return visit(
        pointer, malformed,
        [&](const Object& object) {
            if (&object == root_) append_json(out);
            else append_object(out, object);
        },
        [&](const Entry& entry, std::string_view rest) {
            if (entry.kind() == Kind::String) {
                if (!rest.empty()) return false;
                out += '"';
                out += entry.value.view();
                out += '"';
                return true;
            }
            if (rest.empty()) {
                out += entry.value.view();
                return true;
            }
            json::Document document;
            json::ParseError error;
            if (!document.parse(entry.value.view(), error)) return false;
            const json::Value value = json::find_pointer(document.root(), rest);
            if (!value) return false;
            out += value.raw();
            return true;
        });
}

std::string Tree::part(const std::vector<std::string>& pointers) const {
    Tree out;
    Patch patch;
    for (const std::string& pointer : pointers) {
        std::string value;
        bool malformed = false;
        json::Document document;
        json::ParseError error;
        if (!read(pointer, value, malformed) ||
            !document.parse(json::nested(pointer, value), error, json::kDepthOfOwn)) {
            continue;
        }
        patch.prepare_nulls(document.root());
        out.merge(patch);
    }
    std::string json;
    out.append_json(json);
    return json;
}

bool Tree::measure(std::string_view pointer, uint64_t* count, bool& malformed) const {
    return visit(
        pointer, malformed,
        [&](const Object& object) {
            if (count != nullptr) *count = object.live;
        },
        [&](const Entry& entry, std::string_view rest) {
            const std::string_view text = entry.value.view();
            const bool is_array = entry.kind() != Kind::String && text.front() == '[';
            if (!is_array || (rest.empty() && count == nullptr)) return rest.empty();
            json::Document document;
            json::ParseError error;
            if (!document.parse(text, error)) return false;
            const json::Value value = json::find_pointer(document.root(), rest);
            if (!value) return false;
            if (count != nullptr) *count = size_of(value);
            return true;
        });
}

std::optional<json::Type> Tree::type(std::string_view pointer) const {
    std::optional<json::Type> type;
    bool malformed = false;
    visit(
        pointer, malformed, [&](const Object&) { type = json::Type::Object; },
        [&](const Entry& entry, std::string_view rest) {
            if (entry.kind() == Kind::String) {
                if (rest.empty()) type = json::Type::String;
                return true;
            }
            const std::string_view text = entry.value.view();
            if (rest.empty() && text.front() == '[') {
                type = json::Type::Array;
                return true;
            }
            json::Document document;
            json::ParseError error;
            if (!document.parse(text, error)) return false;
            const json::Value value = json::find_pointer(document.root(), rest);
            if (value) type = value.type();
            return true;
        });
    return type;
}

void Tree::append_json(std::string& out) const {
    out.reserve(out.size() + bytes_);
    append_object(out, *root_);
}

}  // namespace narratoria::state
