// SPDX-License-Identifier: Apache-2.0
#include "session/state_change.hpp"

#include "base/bytes/utf8.hpp"
#include "base/json/tape.hpp"

namespace narratoria::session {
namespace {

// Leaves room for the three levels that a state_patch event puts around the value: the event, its
// patch, and the key.
constexpr uint32_t kDepth = json::kMaximumDepth - 3;

// True if an object is a value with its metadata (narratoria/context.h).
bool is_packed(json::Value object) {
    const json::Value metadata = object.find("metadata");
    return metadata && (metadata.is_object() || metadata.is_null()) && object.find("value");
}

}  // namespace

nar_status read_state_change(const state::Tree& tree, std::string_view key, std::string_view value,
                             StateChange& change, std::string& why) {
    if (!utf8::is_valid(key)) {
        why = "the key of the state must be UTF-8";
        return NAR_INVALID_ARGUMENT;
    }
    json::Document document;
    json::ParseError error;
    if (!document.parse(value, error, kDepth)) {
        why = "the value for the state is not valid JSON: byte " + std::to_string(error.byte + 1) +
              ": " + error.message;
        return NAR_INVALID_DOCUMENT;
    }
    json::Value its = document.root();
    if (its.is_object() && is_packed(its)) {
        const json::Value metadata = its.find("metadata");
        its = its.find("value");
        change.forgets = metadata.is_null();
        if (metadata.is_object()) {
            const json::Value text = metadata.find("description");
            if (text && !text.is_string()) {
                why = std::string("metadata.description must be a string, not ") +
                      json::type_name(text.type());
                return NAR_INVALID_DOCUMENT;
            }
            change.description.emplace(text ? text.text() : std::string_view());
        }
    }
    change.patch = state::replacement_of(tree, key, its);
    return NAR_OK;
}

}  // namespace narratoria::session
