// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>
#include <utility>

namespace narratoria {

// A map for keys that are looked up many times in a row: finding the last key again takes one
// comparison and no hash. Values never move.
template <typename Key, typename Value>
class RecentMap {
public:
    RecentMap() = default;
    RecentMap(const RecentMap&) = delete;
    RecentMap& operator=(const RecentMap&) = delete;

    // NULL if there is none.
    Value* find(const Key& key) {
        if (last_ != nullptr && last_->first == key) return &last_->second;
        const auto found = values_.find(key);
        if (found == values_.end()) return nullptr;
        last_ = &*found;
        return &last_->second;
    }
    // The key must be new.
    Value& add(const Key& key, Value value) {
        last_ = &*values_.emplace(key, std::move(value)).first;
        return last_->second;
    }

private:
    std::unordered_map<Key, Value> values_;
    std::pair<const Key, Value>* last_ = nullptr;
};

}  // namespace narratoria
