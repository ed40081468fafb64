// SPDX-License-Identifier: Apache-2.0
#include "state/replacement.hpp"

#include <unordered_map>
#include <unordered_set>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"

namespace narratoria::state {
namespace {

void append_member_name(std::string& out, std::string_view key) {
    if (out.back() != '{') out += ',';
    json::append_string(out, key);
    out += ':';
}

// Appends the object `value`, with null for each member that only the object `before` has. The
// parser bounds the depth of both.
void append_object(std::string& out, json::Value value, json::Value before) {
    std::unordered_map<std::string_view, json::Value> former;
    for (const json::Member member : before.members())
        former.insert_or_assign(member.key, member.value);
    std::unordered_set<std::string_view> kept;
    out += '{';
    for (const json::Member member : value.members()) {
        kept.insert(member.key);
        append_member_name(out, member.key);
        const auto found = former.find(member.key);
        if (member.value.is_object() && found != former.end() && found->second.is_object()) {
            append_object(out, member.value, found->second);
        } else {
            json::append_compact(out, member.value.raw());
        }
    }
    for (const json::Member member : before.members()) {
        if (!kept.insert(member.key).second) continue;
        append_member_name(out, member.key);
        out += "null";
    }
    out += '}';
}

// Appends the member, reduced to its nulls and the objects that contain them. Returns false and
// appends nothing if it has no null.
bool append_nulls(std::string& out, std::string_view key, json::Value value) {
    if (!value.is_null() && !value.is_object()) return false;
    const size_t before = out.size();
    append_member_name(out, key);
    if (value.is_null()) {
        out += "null";
        return true;
    }
    out += '{';
    bool has_any = false;
    // The last of repeated names wins.
    std::unordered_map<std::string_view, json::Value> last;
    for (const json::Member member : value.members())
        last.insert_or_assign(member.key, member.value);
    for (const json::Member member : value.members()) {
        if (last.at(member.key).index() != member.value.index()) continue;
        has_any |= append_nulls(out, member.key, member.value);
    }
    if (has_any) out += '}';
    else out.resize(before);
    return has_any;
}

}  // namespace

Replacement replacement_of(const Tree& tree, std::string_view key, json::Value value) {
    Replacement out;
    // Fast path: the text of most values does not contain "null".
    if (value.raw().find("null") != std::string_view::npos) {
        out.nulls += '{';
        if (append_nulls(out.nulls, key, value)) out.nulls += '}';
        else out.nulls.clear();
    }
    std::string& patch = out.patch;
    patch += '{';
    append_member_name(patch, key);
    std::string pointer;
    json::append_pointer(pointer, key);
    std::string now;
    bool malformed = false;
    json::Document before;
    json::ParseError error;
    if (value.is_object() && tree.read(pointer, now, malformed) && before.parse(now, error) &&
        before.root().is_object()) {
        append_object(patch, value, before.root());
    } else {
        json::append_compact(patch, value.raw());
    }
    patch += '}';
    return out;
}

void append_removal_of_all(std::string& patch, const Tree& tree) {
    std::string now;
    tree.append_json(now);
    json::Document before;
    json::ParseError error;
    patch += '{';
    if (before.parse(now, error, json::kDepthOfOwn)) {
        for (const json::Member member : before.root().members()) {
            append_member_name(patch, member.key);
            patch += "null";
        }
    }
    patch += '}';
}

}  // namespace narratoria::state
