// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tools of a session, for its host (narratoria/tools.h).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/dispatcher.hpp"
#include "script/error.hpp"
#include "script/limits.hpp"
#include "tool/model_form.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"
#include "tool/sandbox_rules.hpp"

namespace narratoria::session {

// A view of a session's registry, resolver and plugins. Engine thread only.
class SessionTools {
public:
    // `folder`: the session's base of relative paths, an absolute path.
    SessionTools(tool::Registry& registry, const tool::Resolver& resolver,
                 plugin::Dispatcher& plugins, const tool::SandboxRules& sandbox,
                 const std::string& folder)
        : registry_(registry),
          resolver_(resolver),
          plugins_(plugins),
          sandbox_(sandbox),
          folder_(folder) {}

    // Like Dispatcher::add_tool(). `definition` holds the registration's description and limits.
    const nar_host* add(const nar_tool_registration& given,
                        std::shared_ptr<tool::Definition> definition, plugin::ToolRefusal& refusal);
    enum class Found : uint8_t { No, Yes, Ambiguous };
    // If not found, `why` holds the reason.
    Found remove(std::string_view name, std::string& why);
    // Appends the JSON of one tool.
    Found find(std::string_view name, std::string& json, std::string& why) const;
    // Appends the JSON of all tools.
    void list(std::string& json) const;
    // Appends the names that scripts can CALL, as JSON. `folder`: additional tools; may be empty.
    void list_script_names(const std::string& folder, std::string& json) const;
    // Like nar_session_check_script. `scope`: the names of the script's variables, if known.
    std::vector<script::Error> check_script(
        std::string_view source, const script::Limits& limits,
        const std::optional<std::vector<std::string_view>>& scope, const std::string& folder) const;
    // Appends {"tools", "leftOut"}, as nar_session_tools_for_models returns it.
    void list_for_models(tool::ModelForm form, std::string& json) const;

private:
    void append(std::string& json, const tool::Definition& definition) const;
    // The reason why the tool cannot run; empty if none is known.
    std::string problem_of(const tool::Definition& definition) const;
    std::shared_ptr<const tool::Definition> file_named(std::string_view name) const;
    bool set_path(std::string_view path, tool::Definition& definition,
                  plugin::ToolRefusal& refusal) const;

    tool::Registry& registry_;
    const tool::Resolver& resolver_;
    plugin::Dispatcher& plugins_;
    const tool::SandboxRules& sandbox_;
    const std::string& folder_;
};

}  // namespace narratoria::session
