// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tools that test scripts call, in place of the tool registry.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "script/tools.hpp"

namespace narratoria::script::test {

// identity{value}        returns it at once
// later{value}         returns it when the test resumes the script
// add{a, b}              numbers; returns the sum
// typed{n, s?, o?, l?}   checks its arguments (number, string, {k: number}, numbers); returns them
// fail{message}          fails at once
// fail_later{message}  fails when the test resumes the script
// parse{json}            returns the value of a text
// any{…}                 takes everything and returns its arguments
class TestTools : public Tools {
public:
    std::vector<std::string> called;  // "name {arguments as JSON}"

    bool has(std::string_view tool) override { return schemas().count(tool) != 0; }

    bool check(std::string_view tool, Value& arguments, Memory& memory,
               std::string& faults) override {
        if (tool == "any") return true;
        std::vector<Member> kept;
        for (const Parameter& parameter : schemas().find(tool)->second) {
            const Value* given = arguments.find(parameter.name);
            if (given == nullptr) {
                if (parameter.is_required) {
                    add_fault(faults, parameter.name, "Required", parameter.type, "undefined");
                }
                continue;
            }
            check_type(faults, parameter.name, parameter.type, *given);
            kept.push_back({memory.string(parameter.name), *given});
        }
        if (!faults.empty()) return false;
        arguments = memory.object(std::move(kept));
        return true;
    }

    Outcome start(const ToolCall& call, Memory& memory, Value& result,
                  std::string& message) override {
        called.emplace_back(call.tool);
        append_json(called.back() += ' ', call.arguments);
        const auto argument = [&](std::string_view name) { return *call.arguments.find(name); };
        if (call.tool == "later" || call.tool == "fail_later") return Outcome::Waiting;
        if (call.tool == "fail") {
            message = argument("message").text();
            return Outcome::Failed;
        }
        if (call.tool == "add") {
            result = Value(argument("a").number() + argument("b").number());
        } else if (call.tool == "identity") {
            result = argument("value");
        } else if (call.tool == "parse") {
            json::Document document;
            json::ParseError error;
            if (!document.parse(argument("json").text(), error)) {
                message = error.message;
                return Outcome::Failed;
            }
            result = memory.from_json(document.root());
        } else {
            result = call.arguments;
        }
        return Outcome::Returned;
    }

private:
    struct Parameter {
        std::string name;
        std::string type;
        bool is_required = true;
    };
    using Schemas = std::map<std::string, std::vector<Parameter>, std::less<>>;

    static const Schemas& schemas() {
        static const Schemas all{
            {"identity", {{"value", "any"}}},
            {"later", {{"value", "any"}}},
            {"add", {{"a", "number"}, {"b", "number"}}},
            {"typed",
             {{"n", "number"}, {"s", "string", false}, {"o", "{k}", false}, {"l", "[]", false}}},
            {"fail", {{"message", "string"}}},
            {"fail_later", {{"message", "string"}}},
            {"parse", {{"json", "string"}}},
            {"any", {}},
        };
        return all;
    }

    static std::string given_type(const Value& value) {
        if (value.is_list()) return "array";
        if (value.is_null()) return "null";
        return type_name(value.type());
    }

    static void add_fault(std::string& faults, const std::string& path, const std::string& what,
                          const std::string& expected, const std::string& received) {
        if (!faults.empty()) faults += "; ";
        const std::string detail = "Expected " + expected + ", received " + received;
        faults +=
            "Parameter '" + path + "': " + (what.empty() ? detail : what) + " (" + detail + ")";
    }

    static void check_type(std::string& faults, const std::string& path, const std::string& type,
                           const Value& value) {
        if (type == "any") return;
        if (type == "{k}") {
            if (!value.is_object()) return add_fault(faults, path, "", "object", given_type(value));
            const Value* const k = value.find("k");
            if (k == nullptr)
                return add_fault(faults, path + ".k", "Required", "number", "undefined");
            return check_type(faults, path + ".k", "number", *k);
        }
        if (type == "[]") {
            if (!value.is_list()) return add_fault(faults, path, "", "array", given_type(value));
            size_t position = 0;
            for (const Value& element : value.elements()) {
                check_type(faults, path + "." + std::to_string(position++), "number", element);
            }
            return;
        }
        if (given_type(value) != type) add_fault(faults, path, "", type, given_type(value));
    }
};

}  // namespace narratoria::script::test
