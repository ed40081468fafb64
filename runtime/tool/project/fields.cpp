// SPDX-License-Identifier: Apache-2.0
#include "tool/project/fields.hpp"

#include <algorithm>
#include <charconv>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "http/url.hpp"

namespace narratoria::tool::project {
namespace {

std::string joined(std::span<const std::string_view> names) {
    std::string out;
    for (const std::string_view name : names) (out += out.empty() ? "" : ", ") += name;
    return out;
}

}  // namespace

std::string Fields::pointer_of(std::string_view key) const {
    std::string pointer = pointer_;
    json::append_pointer(pointer, key);
    return pointer;
}

void Fields::allow(KnownKeys known) {
    for (const auto& [key, value] : table_.members) {
        if (known.has(key.text)) continue;
        file_.fault(key.byte, "project-key", pointer_of(key.text),
                    subject_ + " has no field " + json::quoted(key.text) +
                        known.suggestion_or_list(key.text));
    }
}

void Fields::refuse_misspelled(KnownKeys known) {
    for (const auto& [key, value] : table_.members) {
        if (known.has(key.text)) continue;
        const std::string_view meant = known.near(key.text);
        if (meant.empty() || meant.starts_with(key.text + "_")) continue;
        file_.fault(key.byte, "project-key", pointer_of(key.text),
                    subject_ + " has " + json::quoted(key.text) + did_you_mean(meant));
    }
}

void Fields::fault(std::string_view key, const char* rule, std::string message) {
    const Node* node = find(key);
    file_.fault(node != nullptr ? node->byte : table_.byte, rule, pointer_of(key),
                subject_ + ": " + std::move(message));
}

void Fields::warn_of_no_effect(std::string_view key, std::string message) {
    const Node* node = find(key);
    file_.warn(node != nullptr ? node->byte : table_.byte, kNoEffect, pointer_of(key),
               subject_ + ": " + json::quoted(key) + " has no effect: " + std::move(message));
}

Fault Fields::place_of(std::string_view key) const {
    const Node* node = find(key);
    return file_.place_of(node != nullptr ? node->byte : table_.byte, pointer_of(key));
}

void Fields::wrong(std::string_view key, const Node& node, std::string_view wanted) {
    fault(key, "project-type",
          json::quoted(key) + " must be " + std::string(wanted) + ", not " +
              std::string(describe(node)));
}

const Node* Fields::of_kind(std::string_view key, Node::Kind kind, std::string_view wanted) {
    const Node* node = find(key);
    if (node == nullptr || node->kind == kind) return node;
    wrong(key, *node, wanted);
    return nullptr;
}

std::optional<std::string> Fields::text(std::string_view key, bool is_any_scalar) {
    const Node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const bool is_number = node->kind == Node::Kind::Integer || node->kind == Node::Kind::Other;
    if (node->kind != Node::Kind::Text && !(is_any_scalar && is_number && !node->text.empty())) {
        wrong(key, *node, "a string");
        return std::nullopt;
    }
    if (node->text.empty() || node->text.find('\0') != std::string::npos) {
        fault(key, "project-value",
              json::quoted(key) + (node->text.empty() ? " must not be empty"
                                                      : " must not contain a NUL character"));
        return std::nullopt;
    }
    return node->text;
}

std::optional<std::string> Fields::choice(std::string_view key,
                                          std::initializer_list<std::string_view> choices) {
    const Node* node = find(key);
    if (node == nullptr) return std::nullopt;
    if (node->kind == Node::Kind::Text &&
        std::find(choices.begin(), choices.end(), node->text) != choices.end()) {
        return node->text;
    }
    const std::string is =
        node->kind == Node::Kind::Text ? json::quoted(node->text) : std::string(describe(*node));
    fault(key, "project-value",
          json::quoted(key) + " must be one of " +
              joined(std::span(choices.begin(), choices.size())) + ", not " + is);
    return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view key) {
    const Node* node = of_kind(key, Node::Kind::Boolean, "true or false");
    if (node == nullptr) return std::nullopt;
    return node->text.front() == 't' || node->text.front() == 'T';
}

std::optional<uint32_t> Fields::positive(std::string_view key, uint32_t most) {
    const std::string wanted = "a whole number from 1 to " + std::to_string(most);
    const Node* node = of_kind(key, Node::Kind::Integer, wanted);
    if (node == nullptr) return std::nullopt;
    std::string_view digits = node->text;
    if (digits.front() == '+') digits.remove_prefix(1);
    uint32_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size() && value >= 1 &&
        value <= most) {
        return value;
    }
    fault(key, "project-value", json::quoted(key) + " must be " + wanted + ", not " + node->text);
    return std::nullopt;
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view key) {
    const Node* node = of_kind(key, Node::Kind::List, "a list of strings");
    if (node == nullptr) return std::nullopt;
    std::vector<std::string> out;
    for (const Node& each : node->items) {
        if (each.kind == Node::Kind::Text && !each.text.empty() &&
            each.text.find('\0') == std::string::npos) {
            out.push_back(each.text);
            continue;
        }
        std::string pointer = pointer_of(key);
        json::append_pointer(pointer, static_cast<size_t>(&each - node->items.data()));
        file_.fault(
            each.byte, "project-type", std::move(pointer),
            subject_ + ": each item of " + json::quoted(key) + " must be a string" +
                (each.kind == Node::Kind::Text ? " that is not empty and has no NUL character"
                                               : ", not " + std::string(describe(each))));
    }
    return out;
}

std::optional<std::map<std::string, std::string>> Fields::variables(std::string_view key) {
    const Node* node = of_kind(key, Node::Kind::Map, "a table of strings");
    if (node == nullptr) return std::nullopt;
    std::map<std::string, std::string> out;
    for (const auto& [name, value] : node->members) {
        std::string pointer = pointer_of(key);
        json::append_pointer(pointer, name.text);
        const auto is_bad = [](const std::string& text) {
            return text.find('\0') != std::string::npos;
        };
        if (name.text.empty() || name.text.find('=') != std::string::npos || is_bad(name.text)) {
            file_.fault(name.byte, "project-value", std::move(pointer),
                        subject_ + ": the name of a variable in " + json::quoted(key) +
                            " must not be empty or contain \"=\" or a NUL character");
        } else if (value.kind != Node::Kind::Text || is_bad(value.text)) {
            file_.fault(
                value.byte, "project-type", std::move(pointer),
                subject_ + ": " + json::quoted(name.text) + " in " + json::quoted(key) +
                    " must be a string" +
                    (value.kind == Node::Kind::Text
                         ? " without a NUL character"
                         : ", not " + std::string(describe(value)) + "; write it in quotes"));
        } else {
            out.emplace(name.text, value.text);
        }
    }
    return out;
}

std::optional<std::string> Fields::url(std::string_view key) {
    std::optional<std::string> given = text(key);
    std::string reason;
    if (!given || http::Url::parse(*given, reason)) return given;
    fault(key, "project-value", json::quoted(key) + " cannot be used: " + reason);
    return std::nullopt;
}

const Node* Fields::table(std::string_view key) { return of_kind(key, Node::Kind::Map, "a table"); }

std::string Fields::required_text(std::string_view key, std::string_view example,
                                  bool is_any_scalar) {
    if (find(key) == nullptr) {
        fault(key, "project-missing",
              json::quoted(key) + " is missing; write " + std::string(key) + ": " +
                  std::string(example));
        return {};
    }
    return text(key, is_any_scalar).value_or("");
}

}  // namespace narratoria::tool::project
