// SPDX-License-Identifier: Apache-2.0
#include "tool/project/bindings_file.hpp"

#include <algorithm>
#include <utility>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "narratoria/engine.h"
#include "tool/project/fields.hpp"

namespace narratoria::tool::project {
namespace {

constexpr uint32_t kMaxTimeoutMs = NAR_NONE - 1;

// Accepts every non-ASCII byte: Python checks those letters itself.
bool is_identifier(std::string_view text) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || static_cast<unsigned char>(c) >= 0x80;
    };
    return !text.empty() && (text.front() < '0' || text.front() > '9') &&
           std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

bool is_entry(std::string_view text) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || !is_identifier(text.substr(colon + 1))) return false;
    std::string_view module = text.substr(0, colon);
    for (;;) {
        const size_t dot = std::min(module.find('.'), module.size());
        if (!is_identifier(module.substr(0, dot))) return false;
        if (dot == module.size()) return true;
        module.remove_prefix(dot + 1);
    }
}

namespace {

// Bit sets of runners.
constexpr uint8_t kLocal = 1;
constexpr uint8_t kService = 2;
constexpr uint8_t kContainer = 4;
constexpr uint8_t kAll = kLocal | kService | kContainer;

uint8_t uses_of(RunnerKind runner) {
    switch (runner) {
        case RunnerKind::Service: return kService;
        case RunnerKind::Container: return kContainer;
        default: return kLocal;
    }
}

// The fields of a binding and the runners that use them.
constexpr struct {
    std::string_view name;
    uint8_t runners;
    const char* why;  // why the other runners ignore it
} kFields[] = {
    {"kind", kAll, ""},
    {"entry", kAll, ""},
    {"runner", kAll, ""},
    {"url", kService, "only a service has an address"},
    {"image", kContainer, "only a container has an image"},
    {"command", kContainer, "only a container has a command"},
    {"env", kLocal | kContainer, "a service has its own environment"},
    {"purity", kAll, ""},
    {"timeout_ms", kAll, ""},
    {"timeout_seconds", kAll, ""},
    {"sandbox", kLocal, "only a local tool can run in a sandbox"},
    {"enforcement", kContainer,
     "a local tool has \"sandbox\", and a service reports what it enforces"},
    {"warm", kLocal, "only the Python process of a local tool can be reused"},
};

Draft read_tool(File& file, const Node& name, const Node& value, const std::string& pointer) {
    Draft draft;
    Binding& binding = draft.binding;
    binding.name = name.text;
    const std::string subject = "the tool " + json::quoted(name.text);
    if (value.kind != Node::Kind::Map) {
        file.fault(value.byte, "project-type", pointer,
                   subject + " must be a table with \"kind\" and \"entry\", not " +
                       std::string(describe(value)));
        return draft;
    }
    Fields fields(file, value, subject, pointer);
    std::vector<std::string_view> known;
    for (const auto& field : kFields) {
        known.push_back(field.name);
        if (fields.find(field.name) != nullptr) {
            draft.fields.emplace(field.name, fields.place_of(field.name));
        }
    }
    fields.allow(known);
    binding.kind = fields.choice("kind", {"python", "node"}).value_or("python");
    binding.entry = fields.required_text("entry", "\"tools.my_tool:run\"");
    if (!binding.entry.empty() && !is_entry(binding.entry)) {
        fields.fault("entry", "project-value",
                     "\"entry\" must be module:function, as in tools.my_tool:run, not " +
                         json::quoted(binding.entry));
    }
    if (const auto runner = fields.choice("runner", {"local", "service", "container"})) {
        draft.runner = *runner == "local"     ? RunnerKind::Local
                       : *runner == "service" ? RunnerKind::Service
                                              : RunnerKind::Container;
    } else {
        draft.has_unknown_runner = fields.find("runner") != nullptr;
    }
    binding.url = fields.url("url").value_or("");
    binding.image = fields.text("image", true).value_or("");
    binding.command = fields.texts("command").value_or(std::vector<std::string>());
    if (const Node* command = fields.find("command");
        command != nullptr && command->kind == Node::Kind::List && command->items.empty()) {
        fields.warn_of_no_effect("command", "it is empty, so the default command is used");
    }
    binding.environment = fields.variables("env").value_or(std::map<std::string, std::string>());
    binding.purity = fields.choice("purity", {"pure", "impure"}).value_or("impure");
    binding.enforcement = fields.choice("enforcement", {"declared", "verified"}).value_or("");
    draft.sandbox = fields.boolean("sandbox");
    draft.warm = fields.boolean("warm");
    draft.timeout_ms = fields.positive("timeout_ms", kMaxTimeoutMs);
    const auto seconds = fields.positive("timeout_seconds", kMaxTimeoutMs / 1000);
    if (fields.find("timeout_ms") != nullptr && seconds) {
        fields.warn_of_no_effect("timeout_seconds", "\"timeout_ms\" takes precedence");
    } else if (seconds) {
        draft.timeout_ms = *seconds * 1000;
    }
    return draft;
}

}  // namespace

std::vector<Draft> read_tools(File& file, const Node& tools, const std::string& pointer) {
    std::vector<Draft> drafts;
    for (const auto& [name, value] : tools.members) {
        std::string at = pointer;
        json::append_pointer(at, name.text);
        const bool has_control = std::any_of(name.text.begin(), name.text.end(), [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
        });
        if (name.text.empty() || has_control) {
            file.fault(name.byte, "project-value", at,
                       "the name of a tool must not be empty or contain a control character");
            continue;
        }
        Fault place = file.place_of(name.byte, at);
        const size_t errors = file.errors();
        const size_t first_fault = file.listed();
        drafts.push_back(read_tool(file, name, value, at));
        drafts.back().is_faulty = file.errors() != errors;
        drafts.back().first_fault = first_fault;
        drafts.back().end_fault = file.listed();
        drafts.back().place = std::move(place);
    }
    return drafts;
}

void warn_of_unused(const Draft& draft, RunnerKind runner, Faults& faults) {
    for (const auto& field : kFields) {
        const auto given = draft.fields.find(std::string(field.name));
        if (given == draft.fields.end() || (field.runners & uses_of(runner)) != 0) continue;
        Fault fault = given->second;
        fault.rule = kNoEffect;
        fault.is_warning = true;
        fault.message = "the tool " + json::quoted(draft.binding.name) + ": " +
                        json::quoted(field.name) + " has no effect with the runner " +
                        std::string(name_of(runner)) + ": " + field.why;
        faults.push_back(std::move(fault));
    }
}

std::vector<Draft> read_bindings(File& file) {
    const std::optional<Node> root = parse_yaml(file);
    if (!root) return {};
    const Node* tools = root->find("tools");
    if (root->kind != Node::Kind::Map || tools == nullptr) {
        file.fault(0, "project-missing", "/tools",
                   "\"tools\" is missing; begin the file with the line tools: and list the tools "
                   "below it");
        return {};
    }
    Fields(file, *root, "the file", "").allow({"tools"});
    if (tools->kind == Node::Kind::Null) return {};
    if (tools->kind != Node::Kind::Map) {
        file.fault(tools->byte, "project-type", "/tools",
                   "\"tools\" must be a table of tools, not " + std::string(describe(*tools)));
        return {};
    }
    return read_tools(file, *tools, "/tools");
}

}  // namespace narratoria::tool::project
