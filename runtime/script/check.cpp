// SPDX-License-Identifier: Apache-2.0
#include "script/check.hpp"

#include <algorithm>
#include <utility>

#include "base/near_name.hpp"
#include "script/syntax.hpp"

namespace narratoria::script {
namespace {

class Checker {
public:
    Checker(const Syntax& syntax, const Surroundings& around)
        : syntax_(syntax), around_(around), is_known_(syntax.symbols.size()) {
        if (around.scope) names_ = *around.scope;
        for (const Node& node : syntax.nodes) {
            if (node.kind != NodeKind::Let && node.kind != NodeKind::Do) continue;
            is_known_[node.value] = true;
            names_.push_back(syntax.symbols.text(node.value));
        }
    }

    std::vector<Error> run() {
        for (const Node& node : syntax_.nodes) {
            switch (node.kind) {
                case NodeKind::Function: function(node); break;
                case NodeKind::Variable: variable(node); break;
                case NodeKind::CallBegin: begin_call(node); break;
                case NodeKind::Argument: argument(node); break;
                case NodeKind::Call:
                case NodeKind::CallStatement: tools_.pop_back(); break;
                default: break;
            }
        }
        // The nodes are in the order of evaluation.
        std::stable_sort(errors_.begin(), errors_.end(), [](const Error& a, const Error& b) {
            return std::pair(a.line, a.column) < std::pair(b.line, b.column);
        });
        return std::move(errors_);
    }

private:
    void add(const Node& node, const char* name, std::string message, std::string hint = {}) {
        Error error{name, std::move(message)};
        error.hint = std::move(hint);
        place(error, syntax_.text(), node.byte);
        errors_.push_back(std::move(error));
    }

    void function(const Node& node) {
        const Syntax::Function& its = syntax_.functions[node.value];
        std::string fault = function_fault(syntax_.symbols.text(its.name), its.arguments);
        if (!fault.empty()) add(node, "RuntimeError", std::move(fault));
    }

    // Reports a variable only where it is read first.
    void variable(const Node& node) {
        const std::string_view name = syntax_.symbols.text(node.value);
        if (is_known_[node.value]) return;
        is_known_[node.value] = true;
        if (around_.scope && std::find(names_.begin(), names_.end(), name) != names_.end()) return;
        add(node, "UndefinedVariableError", undefined_variable(name));
        if (!around_.scope && hint_of(errors_.back(), syntax_.text()).empty()) errors_.pop_back();
        else errors_.back().hint = ask_for_near_name(name, names_);
    }

    void begin_call(const Node& node) {
        const std::string_view name = syntax_.symbols.text(node.value);
        tools_.push_back(name);
        if (!around_.missing_tool) return;
        if (std::optional<std::string> hint = around_.missing_tool(name)) {
            add(node, "ToolNotFoundError", missing_tool(name), *std::move(hint));
        }
    }

    void argument(const Node& node) {
        if (!around_.unknown_argument) return;
        const std::string_view name = syntax_.symbols.text(node.value);
        if (std::optional<std::string> hint = around_.unknown_argument(tools_.back(), name)) {
            add(node, "ToolArgumentError",
                "Tool '" + std::string(tools_.back()) + "' has no argument '" + std::string(name) +
                    "', which is dropped.",
                *std::move(hint));
        }
    }

    const Syntax& syntax_;
    const Surroundings& around_;
    std::vector<std::string_view> names_;  // that are set or given
    std::vector<std::string_view> tools_;  // of the CALLs around the current node
    std::vector<bool> is_known_;           // by symbol: set, or reported
    std::vector<Error> errors_;
};

}  // namespace

std::vector<Error> check(std::string_view source, const Limits& limits,
                         const Surroundings& around) {
    Syntax syntax;
    Error refused;
    if (!parse(source, limits, syntax, refused)) return {std::move(refused)};
    return Checker(syntax, around).run();
}

}  // namespace narratoria::script
