// SPDX-License-Identifier: Apache-2.0
#include "unit/case_tables.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/toml.hpp"
#include "support/folders.hpp"

namespace narratoria::test {
namespace {

toml::table read_table(const std::string& path) {
    toml::parse_result read = toml::parse_file(path);
    if (!read) {
        throw std::runtime_error(path + ":" + std::to_string(read.error().source().begin.line) +
                                 ": " + std::string(read.error().description()));
    }
    return std::move(read).table();
}

template <class Type>
Type value_of(const toml::node& node) {
    if (const auto value = node.value_exact<Type>()) return *value;
    throw std::runtime_error("a value of the wrong type in line " +
                             std::to_string(node.source().begin.line));
}

template <class Type>
Type member(const toml::table& table, std::string_view key) {
    if (const toml::node* node = table.get(key)) return value_of<Type>(*node);
    throw std::runtime_error("there is no " + std::string(key) + " in line " +
                             std::to_string(table.source().begin.line));
}

std::string bytes_of(const std::string& hex) {
    std::string bytes;
    for (size_t at = 0; at < hex.size(); at += 2) {
        bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
    }
    return bytes;
}

// A string, or a list of parts: "text", { hex = "ff" }, { repeat = "text", times = 2 }.
std::string text_of(const toml::node& node) {
    if (!node.is_array()) return value_of<std::string>(node);
    std::string text;
    for (const toml::node& part : *node.as_array()) {
        const toml::table* table = part.as_table();
        if (table == nullptr) {
            text += value_of<std::string>(part);
        } else if (table->contains("hex")) {
            text += bytes_of(member<std::string>(*table, "hex"));
        } else {
            const auto piece = member<std::string>(*table, "repeat");
            for (auto left = member<int64_t>(*table, "times"); left > 0; --left) text += piece;
        }
    }
    return text;
}

// { base = "a valid document", old = "text", new = "text" }
std::string changed(const toml::table& change, const toml::table& table) {
    const auto base = member<std::string>(change, "base");
    const toml::table* valid = table["valid"].as_table();
    const toml::node* node = valid == nullptr ? nullptr : valid->get(base);
    if (node == nullptr) throw std::runtime_error("there is no valid document " + base);
    auto text = value_of<std::string>(*node);
    const auto old_text = member<std::string>(change, "old");
    const size_t at = text.find(old_text);
    if (at == std::string::npos || text.find(old_text, at + 1) != std::string::npos) {
        throw std::runtime_error("this is not once in " + base + ": " + old_text);
    }
    return text.replace(at, old_text.size(), member<std::string>(change, "new"));
}

std::vector<std::string> strings_of(const toml::node& node) {
    if (!node.is_array()) throw std::runtime_error("not a list of strings");
    std::vector<std::string> all;
    for (const toml::node& one : *node.as_array()) all.push_back(value_of<std::string>(one));
    return all;
}

ScriptCase script_case(std::string_view name, const toml::table& table) {
    ScriptCase one;
    one.name = name;
    for (const auto& [key, node] : table) {
        if (key == "script") {
            one.script = text_of(node);
        } else if (key == "given") {
            one.given = value_of<std::string>(node);
        } else if (key == "limits" && node.is_table()) {
            for (const auto& [limit, value] : *node.as_table()) {
                one.limits.emplace(limit.str(), static_cast<uint64_t>(value_of<int64_t>(value)));
            }
        } else if (key == "called") {
            one.has_called = true;
            one.called = strings_of(node);
        } else if (key == "output") {
            one.output = strings_of(node);
        } else if (key == "scope") {
            one.scope = text_of(node);
        } else if (key == "error") {
            one.error = value_of<std::string>(node);
        } else {
            throw std::runtime_error(one.name + ": unknown key " + std::string(key.str()));
        }
    }
    if (!table.contains("script")) throw std::runtime_error(one.name + ": there is no script");
    return one;
}

}  // namespace

std::vector<SampleDocument> sample_documents(const std::string& kind) {
    const toml::table table =
        read_table(test::in_source("tests/conformance/schemas/") + kind + ".toml");
    std::vector<SampleDocument> all;
    for (const auto& [verdict, cases] : table) {
        if (!cases.is_table()) throw std::runtime_error(kind + ": a document without a verdict");
        for (const auto& [reason, node] : *cases.as_table()) {
            std::string text = node.is_table() ? changed(*node.as_table(), table) : text_of(node);
            if (!node.is_array()) text += "\n";
            all.push_back({std::string(verdict.str()), std::string(reason.str()), std::move(text)});
        }
    }
    return all;
}

std::vector<ScriptCase> script_cases(const std::string& path) {
    std::vector<ScriptCase> all;
    const toml::table table = read_table(path);
    for (const auto& [name, node] : table) {
        if (!node.is_table()) throw std::runtime_error(path + ": a key outside of a case");
        all.push_back(script_case(name.str(), *node.as_table()));
    }
    return all;
}

}  // namespace narratoria::test
