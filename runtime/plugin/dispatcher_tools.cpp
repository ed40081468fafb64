// SPDX-License-Identifier: Apache-2.0
// The tools and schemes of plugins, and the tools of the host.
#include <algorithm>
#include <utility>

#include "base/json/writer.hpp"
#include "base/view.hpp"
#include "plugin/dispatcher.hpp"
#include "plugin/given_extension.hpp"
#include "plugin/own_tool.hpp"

namespace narratoria::plugin {
namespace {

constexpr const char* kOwnId = "host";  // the owner of host functions that do not name one
constexpr size_t kMaxScheme = 64;

}  // namespace

bool Dispatcher::take_runner(Instance& instance, std::string& reason) {
    nar_tool_runner_extension extension;
    std::vector<std::string> schemes;
    if (!read_extension(instance, NAR_EXTENSION_TOOL_RUNNER, extension, reason) ||
        !read_names(extension.schemes, extension.scheme_count, "schemes", schemes, reason)) {
        return false;
    }
    if (extension.start == nullptr || extension.cancel == nullptr) {
        reason = "its tool runner has no start or no cancel";
        return false;
    }
    if ((extension.flags & ~NAR_TOOL_RUNNER_WAITS) != 0) {
        reason = "its tool runner has unknown flags; the known one is NAR_TOOL_RUNNER_WAITS";
        return false;
    }
    const bool waits = (extension.flags & NAR_TOOL_RUNNER_WAITS) != 0;
    const auto scheme_runner =
        std::make_shared<SchemeRunner>(tools_.processes, instance, extension);
    // Reserve first, so that each scheme added to the runners is also recorded here.
    schemes_.reserve(schemes_.size() + schemes.size());
    for (std::string& scheme : schemes) {
        if (scheme.size() > kMaxScheme || !tool::is_scheme(scheme)) {
            reason =
                "its scheme \"" + scheme + "\" is not valid; use only letters, digits and + - . _";
            return false;
        }
        const std::string& id = instance.library().id;
        if (!tools_.runners.add_scheme(scheme, scheme_runner, id, waits)) {
            const std::string& owner = tools_.runners.find_scheme(scheme)->origin;
            instance.report("the scheme \"" + scheme + "\" " +
                            (owner.empty() ? "is built in"
                                           : "belongs to " + owner + ", which was loaded first"));
            continue;
        }
        schemes_.emplace_back(&instance, std::move(scheme));
    }
    return true;
}

bool Dispatcher::take_tools(Instance& instance, std::string& reason) {
    nar_tool_extension extension;
    if (!read_extension(instance, NAR_EXTENSION_TOOL, extension, reason)) {
        return false;
    }
    if (extension.invoke == nullptr || extension.tool_count > kMaxListed ||
        (extension.tool_count > 0 && extension.tools == nullptr)) {
        reason = "its tool extension has no invoke function or no valid list of tools";
        return false;
    }
    std::vector<std::pair<std::shared_ptr<const tool::Definition>, const nar_tool*>> offers;
    for (uint64_t i = 0; i < extension.tool_count; ++i) {
        if (extension.tools[i] == nullptr) {
            reason = "number " + std::to_string(i + 1) + " in its list of tools is NULL";
            return false;
        }
        ToolRefusal refusal;
        auto definition = read_tool(extension.tools[i], refusal);
        if (definition == nullptr) {
            reason = "its tool " + refusal.message;
            return false;
        }
        const std::string& name = definition->name;
        if (std::any_of(offers.begin(), offers.end(),
                        [&](const auto& offer) { return offer.first->name == name; })) {
            instance.report("it lists the tool \"" + name + "\" twice; the first one is used");
            continue;
        }
        const auto other = tools_.registry.find(name);
        if (other != nullptr && !instance.is_own()) {
            instance.report("the tool \"" + name + "\" belongs to " +
                            tool::describe(other->origin) + ", which registered it first");
            continue;
        }
        definition->runner = FunctionRunner::kName;
        definition->origin = {
            instance.is_own() ? tool::Origin::Kind::Host : tool::Origin::Kind::Plugin,
            instance.library().id};
        offers.emplace_back(std::move(definition), extension.tools[i]);
    }
    // Register only after all are valid and nothing can fail: a refused extension must not replace
    // a tool.
    std::vector<std::shared_ptr<const tool::Definition>> displaced;
    displaced.reserve(offers.size());
    tools_.registry.reserve(offers.size());
    for (const auto& [definition, handle] : offers) {
        functions_->add(definition, instance, extension, handle);
    }
    for (const auto& [definition, handle] : offers) {
        if (const auto& other = tools_.registry.find(definition->name)) displaced.push_back(other);
        tools_.registry.replace(definition);
    }
    // Last: the `released` of a function of the host may change the registry.
    for (const auto& each : displaced) functions_->remove(*each);
    return true;
}

Instance& Dispatcher::own_functions() {
    if (own_ == nullptr) {
        own_ = std::make_unique<Instance>(
            OwnExtension{kOwnId, NAR_EXTENSION_TOOL, nullptr, nullptr, nullptr, true}, session_,
            stories_.back());
    }
    return *own_;
}

const nar_host* Dispatcher::add_tool(const nar_tool_registration& given,
                                     std::shared_ptr<tool::Definition> definition,
                                     ToolRefusal& refusal) {
    const std::string_view owner = view(given.owner);
    definition->origin = {tool::Origin::Kind::Host, std::string(owner.empty() ? kOwnId : owner)};
    const auto other = tools_.registry.find(definition->name);
    if (other != nullptr && (given.flags & NAR_TOOL_REGISTRATION_REPLACES) == 0) {
        refusal.code = "TOOL_NAME_IN_USE";
        refusal.message =
            json::quoted(definition->name) + " of " + tool::describe(definition->origin) +
            " cannot be registered: the name belongs to a tool of " +
            tool::describe(other->origin) + "; choose a different name, or remove that tool first";
        return nullptr;
    }
    Instance& instance = own_functions();
    const bool is_function = definition->path.empty();
    if (is_function) definition->runner = FunctionRunner::kName;
    const std::shared_ptr<const tool::Definition> shared = std::move(definition);
    std::shared_ptr<OwnTool> own;
    if (is_function) {
        own = std::make_shared<OwnTool>(instance, shared, given);
        functions_->add(shared, instance, own);
    }
    try {
        tools_.registry.replace(shared);
    } catch (...) {
        functions_->remove(*shared);
        throw;
    }
    // Nothing throws from here on.
    if (own != nullptr) own->accept();
    // Last, as in take_tools().
    if (other != nullptr) functions_->remove(*other);
    return instance.host();
}

void Dispatcher::remove_tool(const std::shared_ptr<const tool::Definition>& definition) {
    tools_.registry.remove(*definition);
    // Last, as in take_tools().
    functions_->remove(*definition);
}

}  // namespace narratoria::plugin
