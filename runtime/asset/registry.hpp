// SPDX-License-Identifier: Apache-2.0
#pragma once
// The assets that tools made (spec 000 §4.3 and §7): checked, then registered. The files stay the
// tools' own; nothing here changes or deletes them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace narratoria::asset {

struct Asset {
    std::string plan_id;
    std::string tool_id;
    std::string asset_id;
    std::string kind;
    std::string media_type;
    std::string path;      // absolute
    std::string metadata;  // a JSON object
    uint64_t execution = 0;
    uint64_t seq = 0;
    uint32_t attempt = 0;
};

struct Refusal {
    const char* code;  // ASSET_UNREADABLE, ASSET_INVALID, ASSET_DUPLICATE
    std::string message;
};

class Registry {
public:
    // `root`: where relative paths begin.
    explicit Registry(std::string root) : root_(std::move(root)) {}

    // Registers an asset whose path is as the tool gave it. Of the same tool in the same plan
    // execution a later attempt replaces an earlier one's; twice in one attempt is refused.
    std::optional<Refusal> add(Asset asset);

    // [{planId, toolId, attempt, seq, assetId, kind, mediaType, path, metadata}]
    void append_json(std::string& out) const;

    const std::vector<Asset>& assets() const { return assets_; }

    // The one registered last under this id, whichever tool made it, or NULL.
    const Asset* latest(std::string_view asset_id) const;

private:
    std::string root_;
    std::vector<Asset> assets_;
    std::unordered_map<std::string, size_t> by_key_;
    std::unordered_map<std::string, size_t> latest_;  // by assetId
};

}  // namespace narratoria::asset
