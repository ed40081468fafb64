// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes ui events and assets to the plugins that handle or render them, and keeps the player's
// choices. Publishes a placeholder event for each item that no plugin accepts.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "asset/registry.hpp"
#include "base/json/tape.hpp"
#include "base/loop.hpp"
#include "event/event.hpp"
#include "event/stream.hpp"
#include "plugin/dispatcher.hpp"
#include "session/choices.hpp"

namespace narratoria::session {

// Lives as long as its session. Engine thread only.
class Presentation {
public:
    // All arguments must outlive the presentation.
    Presentation(plugin::Dispatcher& plugins, const asset::Registry& assets, event::Stream& stream,
                 Loop& loop, uint32_t render_ms)
        : plugins_(plugins), assets_(assets), stream_(stream), loop_(loop), render_ms_(render_ms) {}

    void on_ui_event(uint64_t number, const event::Subject& subject, const event::Event& event);
    // Offers the choices of a plan that has succeeded, like a narrative_choice of a tool.
    void offer(const std::string& plan_id, const std::vector<std::string>& choices);
    // Renders the assets of an execution that no ui event referred to.
    void on_tools_ended(uint64_t execution);

    // The outcome of a rendering that `renderer` reports later. Returns false if there is none.
    bool on_rendered(plugin::Instance& renderer, uint64_t seq, nar_status status);
    // Lets the next renderers show what is pending at this one.
    void drop_renderings(plugin::Instance& renderer);
    bool has_pending() const { return !pending_.empty(); }

    // The choices of the turn, as a JSON array of strings.
    std::string choices() const { return choices_.json(); }
    void forget_choices() { choices_.clear(); }
    // See Choices.
    void keep_choices() { choices_.keep(); }
    void drop_choices() { choices_.drop(); }

private:
    void show(uint64_t number, const event::Subject& subject, std::string_view name,
              json::Value payload);
    void render_named(json::Value value);
    struct Pending {
        asset::Asset asset;
        std::vector<plugin::Instance*> tried;  // the last one renders it
        std::unique_ptr<Timer> time;           // NULL: unlimited
    };
    void render(const asset::Asset& asset, std::vector<plugin::Instance*> tried = {});

    plugin::Dispatcher& plugins_;
    const asset::Registry& assets_;
    event::Stream& stream_;
    Choices choices_;
    std::unordered_set<uint64_t> rendered_;  // seq of this execution's rendered assets
    Loop& loop_;
    const uint32_t render_ms_;             // 0: no limit
    std::map<uint64_t, Pending> pending_;  // by seq
};

}  // namespace narratoria::session
