// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a player sees beside the narrative: ui events, choices and assets. Each goes to the plugins
// that handle or render it; what none of them takes becomes a placeholder in the event stream.

#include <cstdint>
#include <string>
#include <unordered_set>

#include "asset/registry.hpp"
#include "base/json/tape.hpp"
#include "event/event.hpp"
#include "event/stream.hpp"
#include "plugin/dispatcher.hpp"

namespace narratoria::session {

class Presentation {
public:
    // All outlive this.
    Presentation(plugin::Dispatcher& plugins, const asset::Registry& assets, event::Stream& stream)
        : plugins_(plugins), assets_(assets), stream_(stream) {}

    void on_ui_event(uint64_t number, const event::Subject& subject, const event::Event& event);
    // A plan that ends refers to all assets that it made.
    void on_tools_ended(uint64_t execution);

    // What the player may choose from, since forget_choices(): a JSON array.
    const std::string& choices() const { return choices_; }
    void forget_choices() { choices_ = "[]"; }

private:
    void take_choices(json::Value payload);
    void render_named(json::Value value);
    void render(const asset::Asset& asset);

    plugin::Dispatcher& plugins_;
    const asset::Registry& assets_;
    event::Stream& stream_;
    std::string choices_ = "[]";
    std::unordered_set<uint64_t> rendered_;  // assets of this execution, by their `seq`
};

}  // namespace narratoria::session
