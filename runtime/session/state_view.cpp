// SPDX-License-Identifier: Apache-2.0
#include "session/state_view.hpp"

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "tool/schema/same_value.hpp"

namespace narratoria::session {
namespace {

// Where a Change::whole has its value. Its key in the tree is empty.
constexpr std::string_view kWhole = "/";

json::Value parsed(const std::string& text, json::Document& document) {
    json::ParseError error;
    return document.parse(text, error, json::kDepthOfOwn) ? document.root() : json::Value();
}

bool read_tree(const state::Tree& tree, std::string_view pointer, std::string& out) {
    bool malformed = false;
    return tree.read(pointer, out, malformed);
}

// Appends the patch that makes the object `to` of the object `from`.
void append_difference(std::string& out, json::Value from, json::Value to) {
    json::ObjectWriter patch(out);
    for (const json::Member member : to.members()) {
        const json::Value before = from.find(member.key);
        uint64_t steps = 1'000'000;
        if (before && tool::same_value(before, member.value, steps)) continue;
        patch.key(member.key);
        if (before && before.is_object() && member.value.is_object()) {
            append_difference(out, before, member.value);
        } else {
            out += member.value.raw();
        }
    }
    for (const json::Member member : from.members()) {
        if (!to.find(member.key)) patch.raw(member.key, "null");
    }
    patch.end();
}

}  // namespace

const StateView::Change* StateView::Change::find(std::string_view key) const {
    const uint32_t found =
        index.find(key, [&](uint32_t at) -> std::string_view { return keys[at]; });
    return found == NameIndex::kNone ? nullptr : &members[found];
}

StateView::Change& StateView::Change::member(std::string_view key) {
    const auto end = static_cast<uint32_t>(members.size());
    const uint32_t found =
        index.find_or_add(key, end, [&](uint32_t at) -> std::string_view { return keys[at]; });
    if (found == end) {
        keys.emplace_back(key);
        members.emplace_back();
    }
    return members[found];
}

const StateView::Change& StateView::nearest(std::string_view pointer,
                                            std::string_view& rest) const {
    const Change* change = &changes_;
    rest = pointer;
    std::string segment;
    while (!rest.empty() && !change->whole) {
        std::string_view below = rest;
        json::take_segment(below, segment);
        const Change* const member = change->find(segment);
        if (member == nullptr) break;
        change = member;
        rest = below;
    }
    return *change;
}

bool StateView::read(std::string_view pointer, std::string& out) const {
    std::string_view rest;
    const Change& change = nearest(pointer, rest);
    if (change.whole) return read_tree(*change.whole, std::string(kWhole).append(rest), out);
    if (!read_tree(tree_, pointer, out)) return false;
    if (!rest.empty() || change.members.empty()) return true;
    std::string patch, place(pointer);
    append_patch(patch, change, place);
    json::Document document;
    state::Tree merged;
    merged.assign(parsed(out, document));
    merged.merge(parsed(patch, document));
    out.clear();
    merged.append_json(out);
    return true;
}

std::optional<json::Type> StateView::type(std::string_view pointer) const {
    std::string_view rest;
    const Change& change = nearest(pointer, rest);
    return change.whole ? change.whole->type(std::string(kWhole).append(rest))
                        : tree_.type(pointer);
}

json::Value StateView::at(std::string_view pointer) const {
    const auto known = known_.find(pointer);
    if (known != known_.end()) return known->second;
    std::string text;
    json::Value value;
    if (json::is_pointer(pointer) && read(pointer, text)) {
        value = parsed(text, values_.emplace_back());
    }
    return known_.emplace(pointer, value).first->second;
}

json::Value StateView::at(std::string_view pointer, const NameLookup& text_of) const {
    if (pointer.find('{') == std::string_view::npos) return at(pointer);
    const std::optional<std::string> expanded = expand_pointer(pointer, text_of);
    return expanded ? at(*expanded) : json::Value();
}

bool StateView::is_within_list(std::string_view pointer) const {
    for (size_t slash = pointer.find('/', 1); slash != std::string_view::npos;
         slash = pointer.find('/', slash + 1)) {
        if (type(pointer.substr(0, slash)) == json::Type::Array) return true;
    }
    return false;
}

void StateView::merge(json::Value patch) {
    // Of duplicate keys the last one counts.
    state::Tree unique;
    unique.assign(patch);
    std::string text, pointer;
    unique.append_json(text);
    json::Document document;
    merge(changes_, pointer, parsed(text, document));
    known_.clear();
}

void StateView::merge(Change& change, std::string& pointer, json::Value patch) {
    if (!change.whole && patch.is_object() && tree_.type(pointer) == json::Type::Object) {
        for (const json::Member member : patch.members()) {
            const size_t size = pointer.size();
            json::append_pointer(pointer, member.key);
            merge(change.member(member.key), pointer, member.value);
            pointer.resize(size);
        }
        return;
    }
    if (!change.whole) {
        change = Change();
        change.whole.emplace();
    }
    json::Document document;
    change.whole->merge(parsed(json::nested(kWhole, patch.raw()), document));
}

std::string StateView::patch() const {
    std::string out, pointer;
    if (!changes_.members.empty()) append_patch(out, changes_, pointer);
    return out;
}

void StateView::append_patch(std::string& out, const Change& change, std::string& pointer) const {
    if (!change.whole) {
        json::ObjectWriter object(out);
        for (size_t i = 0; i < change.members.size(); ++i) {
            object.key(change.keys[i]);
            const size_t size = pointer.size();
            json::append_pointer(pointer, change.keys[i]);
            append_patch(out, change.members[i], pointer);
            pointer.resize(size);
        }
        return object.end();
    }
    std::string after;
    if (!read_tree(*change.whole, kWhole, after)) {
        out += "null";
    } else if (std::string before; change.whole->type(kWhole) == json::Type::Object &&
                                   tree_.type(pointer) == json::Type::Object &&
                                   read_tree(tree_, pointer, before)) {
        json::Document from, to;
        append_difference(out, parsed(before, from), parsed(after, to));
    } else {
        out += after;
    }
}

}  // namespace narratoria::session
