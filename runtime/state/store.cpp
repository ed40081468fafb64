// SPDX-License-Identifier: Apache-2.0
#include "state/store.hpp"

#include <utility>

#include "base/json/writer.hpp"

namespace narratoria::state {

Store::Store(uint32_t history_limit) : history_(history_limit) {
    overlap_.written_before = [this](std::string_view path, Writer earlier) {
        if (listener_ != nullptr && writers_.overlap(earlier, writer_)) {
            listener_->on_conflict(path, earlier, writer_);
        }
    };
}

void Store::assign(json::Value document) { tree_.assign(document); }

void Store::close_writer(Writer writer) {
    writers_.close(writer);
    if (!writers_.any_open()) tree_.forget_removals();
}

const Patch& Store::apply(json::Value patch, Writer writer, const PatchOrigin& origin,
                          ConflictListener* listener) {
    patch_.prepare(patch);
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
    history_.add(origin.seq, origin.time_us, origin.by, origin.attempt, patch.raw());
    return patch_;
}

std::string_view Store::apply_host(json::Value patch, const PatchOrigin& origin) {
    text_.clear();
    json::append_compact(text_, patch.raw());
    patch_.prepare(patch);
    tree_.merge(patch_);
    history_.add(origin.seq, origin.time_us, origin.by, origin.attempt, text_);
    return text_;
}

void Store::restore(Snapshot&& snapshot) {
    // Move assignment swaps, so `restored` frees the replaced tree.
    Tree restored = std::move(snapshot.tree_);
    tree_ = std::move(restored);
    history_.rewind(snapshot.history_);
}

}  // namespace narratoria::state
