// SPDX-License-Identifier: Apache-2.0
#include "session/prompts.hpp"

#include <algorithm>
#include <mutex>

#include "base/duplicates.hpp"
#include "session/prompts_reader.hpp"

namespace narratoria::session {
namespace {

// Of the text that stays in memory.
constexpr size_t kKeptBytes = size_t{1} << 20;

}  // namespace

bool PromptAnswer::has_tools() const {
    const json::Value tools = plan && plan.is_object() ? plan.find("tools") : json::Value();
    return tools && tools.is_array() && !tools.empty();
}

bool PromptEntry::matches(const PlayerWords& words, Bindings& captures) const {
    return std::any_of(patterns.begin(), patterns.end(), [&](const PromptPattern& pattern) {
        return pattern.matches(words, captures);
    });
}

std::shared_ptr<const Prompts> read_prompts(std::string_view text, Faults& faults) {
    static std::mutex mutex;
    static std::shared_ptr<const Prompts> last;
    {
        const std::lock_guard lock(mutex);
        if (last != nullptr && last->document->text() == text) return last;
    }
    const auto made = std::make_shared<Prompts>();
    Prompts& prompts = *made;
    const size_t first = faults.size();
    const auto document = std::make_shared<json::Document>();
    json::ParseError error;
    if (document->parse(text, error)) {
        prompts.document = document;
        prompts.warnings = json::duplicate_keys(document->root());
        for (Fault& each : prompts.warnings) each.file = kPromptsJson;
        PromptsReader(*document, prompts, faults).read(document->root());
    } else {
        faults.push_back({json::rule_of(error.kind), "", error.byte, error.message, kPromptsJson});
    }
    std::stable_sort(faults.begin() + static_cast<std::ptrdiff_t>(first), faults.end(),
                     [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
    place_faults(faults, first, text);
    place_faults(prompts.warnings, 0, text);
    // Placed together, because each call walks the text.
    Faults places;
    const auto each_mention = [&](auto&& use) {
        for (Mention& each : prompts.tool_paths) use(each.place);
        for (Mention& each : prompts.media_files) use(each.place);
        for (Mention& each : prompts.choices) use(each.place);
        for (Prompts::StateUse& each : prompts.state_uses) use(each.pointer.place);
        for (PromptEntry& entry : prompts.entries) {
            for (Mention& each : entry.mentions) use(each.place);
            for (PromptAnswer& each : entry.answers) use(each.place);
        }
        for (PromptAnswer& each : prompts.unmatched) use(each.place);
        for (PromptAnswer& each : prompts.after) use(each.place);
    };
    each_mention([&](Fault& place) { places.push_back(std::move(place)); });
    place_faults(places, 0, text);
    size_t next = 0;
    each_mention([&](Fault& place) { place = std::move(places[next++]); });
    if (faults.size() == first && text.size() <= kKeptBytes) {
        const std::lock_guard lock(mutex);
        last = made;
    }
    return made;
}

}  // namespace narratoria::session
