// SPDX-License-Identifier: Apache-2.0
#pragma once
// The assets that tools produced (spec 000 §4.3 and §7). Checks and registers them. The files
// belong to the tools; the runtime never changes or deletes them.

#include <cstdint>
#include <functional>
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
    // ASSET_UNREADABLE, ASSET_FORBIDDEN, ASSET_INVALID, ASSET_DUPLICATE, ASSET_TEMPORARY
    const char* code;
    std::string message;
};

// The assets of one session. Engine thread only.
class Registry {
public:
    // `root` is the base of relative paths.
    explicit Registry(std::string root) : root_(std::move(root)) {}

    // Registers an asset with the path that the tool sent. A later attempt of the same tool in the
    // same execution replaces the asset of an earlier attempt. The same id twice in one attempt is
    // refused. Returns nothing on success. `readable`: see tool::Attempt::readable(); with such a
    // list, the asset is registered under its path without symbolic links.
    std::optional<Refusal> add(Asset asset, const std::vector<std::string>* readable = nullptr);

    // Registers an asset from an earlier run of the session, without checks: its file may no
    // longer exist.
    void put(Asset asset);
    // Replaces all assets with those of `other`.
    void take_from(Registry&& other);
    // Receives every asset that add() registers. Must outlive the registry.
    void set_listener(std::function<void(const Asset& asset)> listener) {
        listener_ = std::move(listener);
    }

    // Appends [{planId, toolId, attempt, seq, assetId, kind, mediaType, path, metadata}] of the
    // assets with a seq greater than `after`; 0: of all assets.
    void append_json(std::string& out, uint64_t after = 0) const;
    // The greatest seq of all assets; 0 if there are none.
    uint64_t latest_seq() const { return latest_seq_; }

    const std::vector<Asset>& assets() const { return assets_; }

    // The latest asset with this id, of any tool, or NULL. Valid until the next add().
    const Asset* latest(std::string_view asset_id) const;

private:
    static std::string key_of(const Asset& asset);

    std::string root_;
    std::function<void(const Asset& asset)> listener_;
    std::vector<Asset> assets_;
    uint64_t latest_seq_ = 0;
    std::unordered_map<std::string, size_t> by_key_;
    std::unordered_map<std::string, size_t> latest_;  // assetId → index into assets_
};

}  // namespace narratoria::asset
