// SPDX-License-Identifier: Apache-2.0
#include "session/built_in_narrators.hpp"

#include <algorithm>
#include <iterator>

#include "base/json/writer.hpp"
#include "session/script_narrator.hpp"
#include "session/template_narrator.hpp"

namespace narratoria::session {
namespace {

constexpr BuiltInNarrator kBuiltIn[] = {
    {kTemplateNarrator, kTemplateNarrator, kPromptsJson,
     [](std::string_view name) { return name == kTemplateNarrator; }, template_narrator_library,
     [](const Story& story, std::string_view) {
         return template_narrator_settings(story.prompts_text);
     }},
    {kScriptNarrator, "FILE.nuwa", ".nuwa file", is_script, script_narrator_library,
     script_narrator_settings},
};
static_assert(std::size(kBuiltIn) == std::size(plugin::kBuiltInIds));

}  // namespace

const BuiltInNarrator* find_built_in(std::string_view name) {
    const auto* found =
        std::find_if(std::begin(kBuiltIn), std::end(kBuiltIn),
                     [&](const BuiltInNarrator& each) { return each.is_named(name); });
    return found == std::end(kBuiltIn) ? nullptr : found;
}

std::string list_built_in() {
    std::string out;
    for (const BuiltInNarrator& each : kBuiltIn) {
        if (!out.empty()) out += " and ";
        out += json::quoted(each.shown);
    }
    return out + (std::size(kBuiltIn) == 1 ? " is built in" : " are built in");
}

}  // namespace narratoria::session
