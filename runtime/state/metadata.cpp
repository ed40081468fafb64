// SPDX-License-Identifier: Apache-2.0
#include "state/metadata.hpp"

#include <utility>

#include "base/json/writer.hpp"

namespace narratoria::state {

std::string Metadata::refusal(std::string_view key, std::string_view text) const {
    const std::string most = std::to_string(kMaxText) + " bytes";
    if (key.size() > kMaxText) return "a key with metadata must have at most " + most;
    if (text.size() > kMaxText) return "a description of a state key must have at most " + most;
    if (keys_.size() >= kMaxKeys && !keys_.contains(key)) {
        return "the metadata of the state already has " + std::to_string(kMaxKeys) +
               " keys, which is the limit";
    }
    return {};
}

void Metadata::set(std::string_view key, Description description) {
    // Release the replaced description last, because its release may call this object.
    auto made = std::make_shared<const Description>(std::move(description));
    std::swap(keys_[std::string(key)], made);
}

void Metadata::remove(std::string_view key) {
    if (const auto found = keys_.find(key); found != keys_.end()) {
        const std::shared_ptr<const Description> removed = std::move(found->second);
        keys_.erase(found);
    }
}

void Metadata::clear() { const auto removed = std::exchange(keys_, {}); }

std::shared_ptr<const Description> Metadata::find(std::string_view key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? nullptr : found->second;
}

void Metadata::append_json(std::string& out, const Description& description) {
    json::ObjectWriter(out)
        .string("description", description.text)
        .boolean("formatter", description.formatter != nullptr)
        .end();
}

void Metadata::append_json(std::string& out) const {
    json::ObjectWriter all(out);
    for (const auto& [key, description] : keys_) {
        all.key(key);
        append_json(out, *description);
    }
    all.end();
}

}  // namespace narratoria::state
