// SPDX-License-Identifier: Apache-2.0
#include "base/duplicates.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"

namespace narratoria::json {
namespace {

// Nearly always returns false. Sorting is about five times as fast as filling a set.
bool has_duplicates(Value object) {
    std::vector<std::string_view> keys;
    for (const Member member : object.members()) keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

void look(Value value, std::string& pointer, Faults& faults) {
    const size_t length = pointer.size();
    if (value.is_object()) {
        const bool may_repeat = has_duplicates(value);
        // An ordered set, so that the author of a text cannot choose colliding keys.
        std::set<std::string_view> keys;
        for (const Member member : value.members()) {
            append_pointer(pointer, member.key);
            if (may_repeat && !keys.insert(member.key).second) {
                const Value key(&value.tape(), member.value.index() - 1);
                const auto byte =
                    static_cast<size_t>(key.raw().data() - value.tape().source().data());
                faults.push_back({"json-key-unique", pointer, byte,
                                  quoted(member.key) +
                                      " occurs more than once in this object; the last one is used",
                                  ""});
                faults.back().is_warning = true;
            }
            look(member.value, pointer, faults);
            pointer.resize(length);
        }
    } else if (value.is_array()) {
        size_t position = 0;
        for (const Value element : value.elements()) {
            if (element.is_object() || element.is_array()) {
                append_pointer(pointer, position);
                look(element, pointer, faults);
                pointer.resize(length);
            }
            ++position;
        }
    }
}

}  // namespace

Faults duplicate_keys(Value root) {
    Faults faults;
    std::string pointer;
    look(root, pointer, faults);
    return faults;
}

}  // namespace narratoria::json
