// SPDX-License-Identifier: Apache-2.0
// The plugins that narrate, in the form of narrators that a host supplies.
#include <algorithm>
#include <utility>

#include "plugin/dispatcher.hpp"
#include "plugin/given_extension.hpp"

namespace narratoria::plugin {

bool Dispatcher::take_narrator(Instance& instance, std::string& reason) {
    auto narrator = std::make_unique<Narrator>(Narrator{this, &instance, {}, 0});
    if (!read_extension(instance, NAR_EXTENSION_NARRATOR, narrator->extension, reason)) {
        return false;
    }
    if (narrator->extension.generate == nullptr) {
        reason = "its narrator has no function";
        return false;
    }
    if ((narrator->extension.flags & ~uint32_t{NAR_NARRATOR_DETAILED}) != 0) {
        reason = "its narrator has unknown flags; the known one is NAR_NARRATOR_DETAILED";
        return false;
    }
    narrators_.push_back(std::move(narrator));
    return true;
}

std::optional<nar_narrator> Dispatcher::narrator(std::string_view id) {
    const auto found = std::find_if(narrators_.begin(), narrators_.end(), [&](const auto& each) {
        return each->instance->library().id == id;
    });
    return found == narrators_.end() ? std::nullopt : narrator(*(*found)->instance);
}

std::optional<nar_narrator> Dispatcher::narrator(const Instance& its) const {
    const auto found = std::find_if(narrators_.begin(), narrators_.end(),
                                    [&](const auto& each) { return each->instance == &its; });
    if (found == narrators_.end()) return std::nullopt;
    (*found)->instance->set_narrator();
    nar_narrator out{};
    out.size = sizeof out;
    out.id = {(*found)->instance->library().id.data(), (*found)->instance->library().id.size()};
    out.user = found->get();
    out.flags = (*found)->extension.flags;
    out.generate = [](void* user, const nar_narrator_request* request) {
        auto& narrator = *static_cast<Narrator*>(user);
        Instance& instance = *narrator.instance;
        narrator.token = request->token;
        const bool called = instance.call(
            "its narrator", [&] { narrator.extension.generate(instance.data(), request); });
        if (called) return;
        // An exception ends this generation. If the plugin answered before it threw, its answer
        // counts, and this one is ignored (NAR_STALE).
        narrator.dispatcher->session_.answer(narrator.token, false,
                                             "the narrator " + instance.library().id +
                                                 " is disabled: " + instance.disabled_reason());
    };
    out.cancel = [](void* user, uint64_t token) {
        const auto& narrator = *static_cast<const Narrator*>(user);
        if (narrator.extension.cancel == nullptr) return;
        narrator.instance->call("its narrator's cancel", [&] {
            narrator.extension.cancel(narrator.instance->data(), token);
        });
    };
    return out;
}

}  // namespace narratoria::plugin
