// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "base/json/writer.hpp"
#include "tool/project/faults.hpp"
#include "tool/project/loader.hpp"

namespace narratoria::tool::project {

void Loader::resolve_collisions() {
    std::map<std::string_view, std::vector<size_t>> by_name;
    for (size_t i = 0; i < tools_.size(); ++i) {
        by_name[tools_[i].binding->name].push_back(i);
    }
    std::vector<bool> is_left_out(tools_.size());
    for (const auto& [name, all] : by_name) {
        const auto pinned = settings_.pinned_tools.find(std::string(name));
        const bool is_pinned = pinned != settings_.pinned_tools.end();
        if (all.size() == 1 && !is_pinned) continue;
        const auto chosen = std::find_if(all.begin(), all.end(), [&](size_t i) {
            const auto& pack = tools_[i].binding->pack;
            return is_pinned && pack && pack->id == pinned->second;
        });
        if (chosen != all.end()) {
            for (const size_t i : all) is_left_out[i] = i != *chosen;
            continue;
        }
        const bool is_of_pack = std::any_of(
            all.begin(), all.end(), [&](size_t i) { return tools_[i].binding->pack.has_value(); });
        const size_t first_fault = faults_.size();
        if (is_pinned && is_of_pack) {
            // A different pack must not take the place of the one that the user chose.
            for (auto i = all.begin() + 1; i != all.end(); ++i) is_left_out[*i] = true;
            report_missing_pin(std::string(name), pinned->second);
            Binding& kept = *tools_[all.front()].binding;
            kept.problem = contain(first_fault, faults_.size());
            kept.problem_reason = "pack_pin_missing";
            continue;
        }
        if (all.size() == 1) continue;
        for (auto i = all.begin() + 1; i != all.end(); ++i) {
            is_left_out[*i] = true;
            faults_.push_back(placed(tools_[*i].place, "project-collision",
                                     "the tool " + json::quoted(name) + " is also in " +
                                         tools_[all.front()].place.file +
                                         "; rename one, or choose a pack " +
                                         "with pinned_tools in [tool_packs] of namel3ss.toml"));
        }
        Binding& kept = *tools_[all.front()].binding;
        kept.problem = contain(first_fault, faults_.size());
        kept.problem_reason = "pack_collision";
    }
    std::vector<Bound> left;
    for (size_t i = 0; i < tools_.size(); ++i) {
        if (!is_left_out[i]) left.push_back(std::move(tools_[i]));
    }
    tools_ = std::move(left);
}

void Loader::report_missing_pin(const std::string& tool, const std::string& pack) {
    for (const auto& mention : settings_.mentions) {
        if (mention.tool != tool || mention.pack != pack) continue;
        faults_.push_back(placed(mention.place, "project-pack",
                                 "the tool " + json::quoted(tool) + " is pinned to the pack " +
                                     json::quoted(pack) +
                                     ", which does not provide it or is not enabled; enable "
                                     "the pack, or change pinned_tools"));
        missing_pins_.push_back(tool);
    }
}

void Loader::check_overrides() {
    std::vector<std::string_view> names;
    for (const Bound& each : tools_) names.push_back(each.binding->name);
    UnknownNames unknown(faults_, "project-override", std::move(names));
    for (const auto& [name, given] : settings_.overrides) {
        if (unknown.knows(name)) continue;
        unknown.tell(given.place, "no tool of the project has the name " + json::quoted(name),
                     name);
    }
}

void Loader::check_mentions() {
    UnknownNames unknown(faults_, "project-pack", {known_packs_.begin(), known_packs_.end()});
    for (const auto& [pack, tool, place] : settings_.mentions) {
        if (!tool.empty() &&
            std::find(missing_pins_.begin(), missing_pins_.end(), tool) != missing_pins_.end()) {
            continue;  // already an error
        }
        if (!unknown.knows(pack)) {
            unknown.tell(place, "no pack has the id " + json::quoted(pack), pack);
            continue;
        }
        const auto is_pinned = [&, &id = pack, &name = tool](const Bound& each) {
            const Binding& its = *each.binding;
            return its.name == name && its.pack && its.pack->id == id;
        };
        if (tool.empty() || std::any_of(tools_.begin(), tools_.end(), is_pinned)) continue;
        faults_.push_back(placed(place, "project-pack",
                                 "the pack " + json::quoted(pack) + " has no tool " +
                                     json::quoted(tool) + ", or is not enabled",
                                 true));
    }
}

}  // namespace narratoria::tool::project
