// SPDX-License-Identifier: Apache-2.0
#include "session/session_tools.hpp"

#include <utility>

#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "process/script.hpp"
#include "script/check.hpp"
#include "session/script_name.hpp"
#include "session/script_run.hpp"

namespace narratoria::session {

const nar_host* SessionTools::add(const nar_tool_registration& given,
                                  std::shared_ptr<tool::Definition> definition,
                                  plugin::ToolRefusal& refusal) {
    const std::string_view path(given.path.data == nullptr ? "" : given.path.data,
                                static_cast<size_t>(given.path.size));
    if (!path.empty() && !set_path(path, *definition, refusal)) return nullptr;
    return plugins_.add_tool(given, std::move(definition), refusal);
}

// Completes the definition of a tool that was registered with a path.
bool SessionTools::set_path(std::string_view path, tool::Definition& definition,
                            plugin::ToolRefusal& refusal) const {
    const std::string_view scheme = tool::scheme_of(path);
    if (!scheme.empty()) {
        definition.path = path;
        definition.runner = scheme;
        return true;
    }
    definition.path = path.front() == '/' ? std::string(path) : folder_ + "/" + std::string(path);
    definition.runner = tool::kProcessRunner;
    std::string problem;
    const auto file = registry_.file(definition.path, problem);
    if (!problem.empty()) {
        refusal.code = "TOOL_MANIFEST";
        refusal.message = json::quoted(definition.name) + " cannot be registered: " + problem;
        return false;
    }
    if (definition.description.empty()) definition.description = file->description;
    if (definition.input == nullptr) definition.input = file->input;
    if (definition.result == nullptr) {
        definition.result = file->result;
        definition.result_is_advice = file->result_is_advice;
    }
    if (!definition.try_ms) definition.try_ms = file->try_ms;
#define NARRATORIA_LIMIT(name, type, least, text) \
    if (!definition.limits.name) definition.limits.name = file->limits.name;
    NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    return true;
}

std::shared_ptr<const tool::Definition> SessionTools::file_named(std::string_view name) const {
    for (auto& each : registry_.list()) {
        if (each->origin.kind == tool::Origin::Kind::File && each->name == name) return each;
    }
    return nullptr;
}

SessionTools::Found SessionTools::remove(std::string_view name, std::string& why) {
    if (const auto registered = registry_.find(name)) {
        plugins_.remove_tool(registered);
        return Found::Yes;
    }
    why = "no registered tool has the name " + json::quoted(name);
    if (const auto file = file_named(name)) {
        why += "; it is " + tool::describe(file->origin) + ", not a registered tool";
    } else {
        why += did_you_mean(near_name(name, registry_.names()));
    }
    return Found::No;
}

std::string SessionTools::problem_of(const tool::Definition& definition) const {
    const std::string_view hidden = registry_.problem_of(definition);
    if (!hidden.empty()) return std::string(hidden);
    std::string clash = resolver_.clash(definition.name, folder_);
    if (!clash.empty()) return clash;
    if (definition.binding) {
        std::string problem = definition.binding->start_problem();
        if (!problem.empty()) return problem;
    }
    const bool is_file = definition.origin.kind == tool::Origin::Kind::File;
    const tool::Resolution resolution =
        resolver_.resolve(is_file ? definition.origin.place : definition.name, folder_);
    if (!resolution.error.empty() || definition.runner != tool::kProcessRunner) {
        return resolution.error;
    }
    const std::string trouble = process::script_fault(resolution.target);
    return trouble.empty() ? trouble : json::quoted(resolution.target) + " " + trouble;
}

void SessionTools::append(std::string& json, const tool::Definition& definition) const {
    const bool is_file = definition.origin.kind == tool::Origin::Kind::File;
    const Guarantees required = sandbox_.guarantees_of(
        definition.name, definition.name, is_file ? definition.origin.place : definition.path);
    tool::append_json(json, definition, script_name(definition), required, problem_of(definition));
}

SessionTools::Found SessionTools::find(std::string_view name, std::string& json,
                                       std::string& why) const {
    auto found = registry_.find(name);
    if (found != nullptr) {
        why = resolver_.clash(name, folder_);
        if (!why.empty()) return Found::Ambiguous;
    } else {
        found = file_named(name);
    }
    if (found == nullptr) {
        std::vector<std::string> names;
        for (const auto& each : registry_.list()) names.push_back(each->name);
        why = "no tool has the name " + json::quoted(name) +
              did_you_mean(
                  near_name(name, std::vector<std::string_view>(names.begin(), names.end())));
        return Found::No;
    }
    append(json, *found);
    return Found::Yes;
}

void SessionTools::list_for_models(tool::ModelForm form, std::string& json) const {
    std::string left_out;
    json += R"({"tools":[)";
    for (const auto& each : registry_.list_all()) {
        std::string why = problem_of(*each);
        std::string tool;
        if (!why.empty()) why.insert(0, "it cannot run: ");
        else tool::append_for_model(tool, *each, form, why);
        std::string& list = why.empty() ? json : left_out;
        if (!list.empty() && list.back() != '[') list += ',';
        if (why.empty()) json += tool;
        else json::ObjectWriter(left_out).string("name", each->name).string("reason", why).end();
    }
    json += R"(],"leftOut":[)" + left_out + "]}";
}

void SessionTools::list(std::string& json) const {
    json += '[';
    for (const auto& each : registry_.list_all()) {
        if (json.back() != '[') json += ',';
        append(json, *each);
    }
    json += ']';
}

std::vector<script::Error> SessionTools::check_script(
    std::string_view source, const script::Limits& limits,
    const std::optional<std::vector<std::string_view>>& scope, const std::string& folder) const {
    const ScriptTools tools(registry_, folder);
    const auto missing = [&](std::string_view name) {
        return tools.has(name) ? std::nullopt : std::optional(tools.hint(name));
    };
    const auto unknown = [&](std::string_view name, std::string_view argument) {
        return tools.unknown_argument(name, argument);
    };
    return script::check(source, limits, {scope, missing, unknown});
}

void SessionTools::list_script_names(const std::string& folder, std::string& json) const {
    const ScriptTools tools(registry_, folder);
    json += '[';
    for (const std::string_view name : tools.names()) {
        if (json.back() != '[') json += ',';
        json::append_string(json, name);
    }
    json += ']';
}

}  // namespace narratoria::session
