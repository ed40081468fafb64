// SPDX-License-Identifier: Apache-2.0
#include "state/tree.hpp"

#include <charconv>
#include <utility>

#include "base/hash.hpp"
#include "state/object.hpp"

namespace narratoria::state {
namespace {

// The bytes of a value as the tree keeps them: a string without its quotes, the rest as it is.
std::string_view kept_text(json::Value value) {
    const json::Node& node = value.tape().nodes()[value.index()];
    if (node.type == json::Type::String && !node.escaped) return {node.begin, node.size};
    const std::string_view raw = value.raw();
    return value.is_string() ? raw.substr(1, raw.size() - 2) : raw;
}

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

// The next segment of a pointer, decoded; moves `pointer` behind it. False when it is malformed.
bool take_segment(std::string_view& pointer, std::string& segment) {
    if (pointer.front() != '/') return false;
    pointer.remove_prefix(1);
    segment.clear();
    while (!pointer.empty() && pointer.front() != '/') {
        if (pointer.front() == '~') {
            if (pointer.size() < 2 || (pointer[1] != '0' && pointer[1] != '1')) return false;
            segment += pointer[1] == '0' ? '~' : '/';
            pointer.remove_prefix(2);
        } else {
            segment += pointer.front();
            pointer.remove_prefix(1);
        }
    }
    return true;
}

bool read_within(std::string_view text, std::string_view pointer, std::string& out,
                 bool& malformed) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(text, error)) return false;
    json::Value value = document.root();
    std::string segment;
    while (!pointer.empty()) {
        if (!take_segment(pointer, segment)) {
            malformed = true;
            return false;
        }
        json::Value next;
        if (value.is_object()) {
            next = value.find(segment);
        } else if (value.is_array()) {
            size_t wanted = 0;
            const auto [end, failure] =
                std::from_chars(segment.data(), segment.data() + segment.size(), wanted);
            const bool canonical = segment == "0" || (!segment.empty() && segment[0] != '0');
            if (failure == std::errc() && end == segment.data() + segment.size() && canonical) {
                for (const json::Value element : value.elements()) {
                    if (wanted-- == 0) {
                        next = element;
                        break;
                    }
                }
            }
        }
        if (!next) return false;
        value = next;
    }
    out += value.raw();
    return true;
}

}  // namespace

// A member of the patch object that is being merged.
struct Tree::Member {
    uint32_t key;  // its node on the tape
    uint32_t hash;
    uint32_t position;  // in the target, or Object::kNone
    bool superseded;    // a later member has the same key
};

Tree::Tree() : root_(new Object), seed_(hash_seed()) {}
Tree::~Tree() { delete root_; }

Tree::Tree(Tree&& other) noexcept
    : root_(std::exchange(other.root_, nullptr)), seed_(other.seed_) {}

Tree& Tree::operator=(Tree&& other) noexcept {
    std::swap(root_, other.root_);
    return *this;
}

void Tree::clear() {
    delete root_;
    root_ = nullptr;
    root_ = new Object;
    removals_.clear();
}

size_t Tree::size() const { return root_->live; }

void Tree::merge(json::Value patch, Writer writer, const Overlap* overlap) {
    overlap_ = overlap;
    oldest_ = overlap != nullptr ? overlap->oldest : UINT32_MAX;
    writer_ = writer;
    path_.clear();
    members_.clear();
    merge_members(root_, patch);
}

Object* Tree::merge_members(Object* target, json::Value patch) {
    const json::Node* nodes = patch.tape().nodes();
    const size_t first = members_.size();
    const uint32_t end = nodes[patch.index()].size;

    // Hash every key first, and fetch the slots of a large index while the others are hashed.
    for (uint32_t at = patch.index() + 1; at < end; at = patch.tape().next(at + 1)) {
        const std::string_view key(nodes[at].begin, nodes[at].size);
        const auto hash = static_cast<uint32_t>(hash_text(key, seed_));
        if (target->index != nullptr) __builtin_prefetch(&target->index[target->slot_of(hash)]);
        members_.push_back({at, hash, Object::kNone, false});
    }
    const size_t last = members_.size();
    const size_t count = last - first;

    auto same_key = [&](const Member& a, const Member& b) {
        return a.hash == b.hash && nodes[a.key].size == nodes[b.key].size &&
               std::string_view(nodes[a.key].begin, nodes[a.key].size) ==
                   std::string_view(nodes[b.key].begin, nodes[b.key].size);
    };
    if (count <= 16) {
        for (size_t i = first; i < last; ++i) {
            for (size_t j = i + 1; j < last; ++j) {
                if (same_key(members_[i], members_[j])) {
                    members_[i].superseded = true;
                    break;
                }
            }
        }
    } else {
        size_t slots = 64;
        while (slots < count * 2) slots *= 2;
        duplicates_.assign(slots, 0);
        for (size_t i = first; i < last; ++i) {
            size_t slot = members_[i].hash & (slots - 1);
            while (duplicates_[slot] != 0) {
                Member& earlier = members_[first + duplicates_[slot] - 1];
                if (same_key(earlier, members_[i])) {
                    earlier.superseded = true;
                    break;
                }
                slot = (slot + 1) & (slots - 1);
            }
            duplicates_[slot] = static_cast<uint32_t>(i - first + 1);
        }
    }

    if (target->index != nullptr && count > 1) {
        for (size_t i = first; i < last; ++i) {
            const uint32_t value = target->index[target->slot_of(members_[i].hash)];
            if (value != 0 && value != Object::kGap) {
                const char* entry = reinterpret_cast<const char*>(&target->entries[value - 1]);
                __builtin_prefetch(entry, 1);
                __builtin_prefetch(entry + sizeof(Entry) - 1, 1);
            }
        }
    }

    for (size_t i = first; i < last; ++i) {
        const Member member = members_[i];
        if (member.superseded) continue;
        const json::Node& key_node = nodes[member.key];
        const std::string_view key(key_node.begin, key_node.size);
        const json::Value value(&patch.tape(), member.key + 1);
        uint32_t position = target->find(key, member.hash);

        if (value.is_null()) {
            if (position != Object::kNone) {
                Entry& entry = target->entries[position];
                if (oldest_ != UINT32_MAX) {
                    if (const Object* child = child_of(entry)) {
                        path_.push_back(key);
                        report_below(*child);
                        path_.pop_back();
                    } else {
                        report(key, entry.writer);
                    }
                    removals_[path_to(key)] = writer_;
                }
                target->remove(position);
            }
            continue;
        }

        if (position == Object::kNone) {
            if (!removals_.empty() && oldest_ != UINT32_MAX) {
                const auto removal = removals_.find(path_to(key));
                if (removal != removals_.end()) {
                    report(key, removal->second);
                    removals_.erase(removal);
                }
            }
            target->append(key, member.hash);
            position = target->count - 1;
        } else if (oldest_ != UINT32_MAX) {
            const Entry& entry = target->entries[position];
            if (const Object* child = child_of(entry)) {
                if (!value.is_object()) {
                    path_.push_back(key);
                    report_below(*child);
                    path_.pop_back();
                }
            } else {
                report(key, entry.writer);
            }
        }

        Entry& entry = target->entries[position];
        entry.writer = writer_;
        if (value.is_object()) {
            Object* child = child_of(entry);
            if (child == nullptr) {
                Object::release_value(entry);
                child = new Object;
                entry.child.object = child;
                entry.set_kind(Kind::Object);
            }
            path_.push_back(key);
            merge_members(child, value);
            path_.pop_back();
        } else {
            if (entry.kind() == Kind::Object) Object::release_value(entry);
            entry.value.replace(kept_text(value));
            entry.set_kind(value.is_string() ? Kind::String : Kind::Plain);
        }
    }
    members_.resize(first);
    return target;
}

namespace {

Object* object_from(json::Value document, uint64_t seed) {
    auto* object = new Object;
    for (const json::Member member : document.members()) {
        const auto hash = static_cast<uint32_t>(hash_text(member.key, seed));
        const uint32_t found = object->find(member.key, hash);
        Entry& entry = found != Object::kNone ? object->entries[found]
                                              : object->append(member.key, hash);
        Object::release_value(entry);
        if (member.value.is_object()) {
            Object* child = object_from(member.value, seed);
            entry.child.object = child;
            entry.set_kind(Kind::Object);
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

// Everything below an object is overwritten at once.
void Tree::report_below(const Object& object) {
    for (uint32_t i = 0; i < object.count; ++i) {
        const Entry& entry = object.entries[i];
        if (entry.kind() == Kind::Removed) continue;
        if (const Object* child = child_of(entry)) {
            path_.push_back(entry.key.view());
            report_below(*child);
            path_.pop_back();
        } else {
            report(entry.key.view(), entry.writer);
        }
    }
}

bool Tree::read(std::string_view pointer, std::string& out, bool& malformed) const {
    malformed = false;
    const Object* object = root_;
    std::string segment;
    while (!pointer.empty()) {
        if (!take_segment(pointer, segment)) {
            malformed = true;
            return false;
        }
        const auto hash = static_cast<uint32_t>(hash_text(segment, seed_));
        segment.reserve(segment.size() + json::kPadding);
        const uint32_t position = object->find(segment, hash);
        if (position == Object::kNone) {
            // The rest is still looked at: a wrong pointer is wrong wherever it leads.
            while (!pointer.empty()) {
                if (!take_segment(pointer, segment)) {
                    malformed = true;
                    break;
                }
            }
            return false;
        }
        const Entry& entry = object->entries[position];
        if (const Object* child = child_of(entry)) {
            object = child;
            continue;
        }
        if (entry.kind() == Kind::String) {
            std::string quoted;
            quoted += '"';
            quoted += entry.value.view();
            quoted += '"';
            return read_within(quoted, pointer, out, malformed);
        }
        return read_within(entry.value.view(), pointer, out, malformed);
    }
    append_object(out, *object);
    return true;
}

void Tree::append_json(std::string& out) const { append_object(out, *root_); }

}  // namespace narratoria::state
