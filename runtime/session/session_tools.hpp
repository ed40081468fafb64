// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tools of a session as its host sees them (narratoria/tools.h).

#include <memory>
#include <string>
#include <string_view>

#include "plugin/dispatcher.hpp"
#include "tool/model_form.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"

namespace narratoria::session {

// A view of a session's registry, resolver and plugins. Engine thread only.
class SessionTools {
public:
    // `folder`: the session's base of relative paths, absolute.
    SessionTools(tool::Registry& registry, const tool::Resolver& resolver,
                 plugin::Dispatcher& plugins, const std::string& folder)
        : registry_(registry), resolver_(resolver), plugins_(plugins), folder_(folder) {}

    // As Dispatcher::add_tool. `definition`: of the registration's description and limits.
    const nar_host* add(const nar_tool_registration& given,
                        std::shared_ptr<tool::Definition> definition, plugin::ToolRefusal& refusal);
    enum class Found : uint8_t { No, Yes, Ambiguous };
    // Unless Yes, `why` says which owners the name has, if any.
    Found remove(std::string_view name, std::string& why);
    // Appends the JSON of one tool.
    Found find(std::string_view name, std::string& json, std::string& why) const;
    // Appends the JSON of all tools.
    void list(std::string& json) const;
    // Appends the JSON of what scripts can CALL. `folder`: of further tools, or empty.
    void list_script_names(const std::string& folder, std::string& json) const;
    // Appends {"tools", "leftOut"}, as nar_session_tools_for_models returns it.
    void list_for_models(tool::ModelForm form, std::string& json) const;

private:
    // Why the tool cannot run; empty if nothing is known.
    std::string problem_of(const tool::Definition& definition) const;
    std::shared_ptr<const tool::Definition> file_named(std::string_view name) const;
    bool set_path(std::string_view path, tool::Definition& definition,
                  plugin::ToolRefusal& refusal) const;

    tool::Registry& registry_;
    const tool::Resolver& resolver_;
    plugin::Dispatcher& plugins_;
    const std::string& folder_;
};

}  // namespace narratoria::session
