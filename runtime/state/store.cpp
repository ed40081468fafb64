// SPDX-License-Identifier: Apache-2.0
#include "state/store.hpp"

#include <algorithm>
#include <utility>

#include "base/json/writer.hpp"

namespace narratoria::state {

Store::Store(uint32_t history_limit, SizeLimits limits) : history_(history_limit), limits_(limits) {
    overlap_.written_before = [this](std::string_view path, Writer earlier) {
        if (listener_ != nullptr && writers_.overlap(earlier, writer_)) {
            listener_->on_conflict(path, earlier, writer_);
        }
    };
}

void Store::assign(json::Value document) { tree_.assign(document); }

std::optional<Refusal> Store::refusal(json::Value patch, json::Value nulls) {
    const uint64_t of_nulls = nulls ? nulls.raw().size() : 0;
    const uint64_t bytes = patch.raw().size() + of_nulls;
    if (bytes > limits_.patch_bytes) {
        return Refusal{"PATCH_TOO_LARGE", "the patch has " + std::to_string(bytes) +
                                              " bytes; the limit patch_bytes is " +
                                              std::to_string(limits_.patch_bytes)};
    }
    const uint64_t before = tree_.json_bytes();
    // Fast path: even if the patch only added, the state would stay below the limit.
    if (before + bytes <= limits_.state_bytes || limits_.state_bytes == UINT64_MAX) return {};
    patch_.prepare(patch);
    const uint64_t after = tree_.json_bytes_after(patch_) + of_nulls;
    if (after <= std::max(before, limits_.state_bytes)) return {};
    return Refusal{"STATE_TOO_LARGE", "the state has about " + std::to_string(before) +
                                          " bytes and would have " + std::to_string(after) +
                                          " with the patch; the limit state_bytes is " +
                                          std::to_string(limits_.state_bytes)};
}

void Store::close_writer(Writer writer) {
    writers_.close(writer);
    if (!writers_.any_open()) tree_.forget_removals();
}

const Patch& Store::apply(json::Value patch, Writer writer, const PatchOrigin& origin,
                          ConflictListener* listener) {
    patch_.prepare(patch);
    merge(writer, listener);
    remember(patch.raw(), origin);
    return patch_;
}

const Patch& Store::apply_nulls(json::Value nulls, Writer writer, ConflictListener* listener) {
    patch_.prepare_nulls(nulls);
    if (writer == kHost) tree_.merge(patch_);
    else merge(writer, listener);
    history_.add_nulls(nulls.raw());
    return patch_;
}

void Store::remember(std::string_view patch, const PatchOrigin& origin) {
    history_.add(origin.seq, origin.time_us, origin.by, origin.attempt, patch);
}

void Store::fold(json::Value patch, const PatchOrigin& origin) {
    patch_.prepare(patch);
    tree_.merge(patch_);
    remember(patch.raw(), origin);
}

void Store::fold_nulls(json::Value nulls) {
    patch_.prepare_nulls(nulls);
    tree_.merge(patch_);
    history_.add_nulls(nulls.raw());
}

// Merges `patch_`.
void Store::merge(Writer writer, ConflictListener* listener) {
    // Without a concurrent writer a patch overwrites no concurrent value. Its removals still matter
    // if a later writer may overlap: a removed entry cannot store its writer.
    const bool is_watched =
        !writers_.is_alone(writer) || (patch_.removes() && !writers_.is_exclusive(writer));
    if (is_watched) {
        writer_ = writer;
        listener_ = listener;
        overlap_.oldest = writers_.oldest_peer(writer);
    }
    tree_.merge(patch_, writer, is_watched ? &overlap_ : nullptr);
}

std::string_view Store::apply_host(json::Value patch, const PatchOrigin& origin) {
    text_.clear();
    json::append_compact(text_, patch.raw());
    // Merge exactly the recorded bytes, so that replaying the journal produces the same state.
    json::ParseError error;
    document_.parse(text_, error, json::kDepthOfOwn);
    patch_.prepare(document_.root());
    tree_.merge(patch_);
    remember(text_, origin);
    return text_;
}

void Store::take_from(Store&& other) {
    tree_ = std::move(other.tree_);
    history_ = std::move(other.history_);
    if (keeps_digest_) tree_.keep_digest();
}

void Store::restore(Snapshot&& snapshot) {
    // Move assignment swaps, so `restored` frees the replaced tree.
    Tree restored = std::move(snapshot.tree_);
    tree_ = std::move(restored);
    history_.rewind(snapshot.history_);
}

}  // namespace narratoria::state
