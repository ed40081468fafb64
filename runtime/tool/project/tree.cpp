// SPDX-License-Identifier: Apache-2.0
#include "tool/project/tree.hpp"

#include <algorithm>
#include <utility>

namespace narratoria::tool::project {

const Node* Node::find(std::string_view key) const {
    for (const auto& [name, value] : members) {
        if (name.text == key) return &value;
    }
    return nullptr;
}

std::string_view describe(const Node& node) {
    switch (node.kind) {
        case Node::Kind::Null: return "nothing";
        case Node::Kind::Boolean: return "true or false";
        case Node::Kind::Integer: return "a whole number";
        case Node::Kind::Text: return "a string";
        case Node::Kind::Other: return "a number or a date";
        case Node::Kind::List: return "a list";
        case Node::Kind::Map: break;
    }
    return "a table";
}

Fault File::place_of(size_t byte, std::string pointer) const {
    byte = std::min(byte, text_.size());
    if (byte < at_) {
        at_ = 0;
        position_ = {1, 1};
    }
    const json::Position onward = json::position_of(text_.substr(at_), byte - at_);
    position_ = {position_.line + onward.line - 1,
                 onward.line == 1 ? position_.column + onward.column - 1 : onward.column};
    at_ = byte;
    Fault fault{"", std::move(pointer), byte, "", name_};
    fault.line = position_.line;
    fault.column = position_.column;
    if (fault.line == 1 && fault.column > 1 && mark_size() > 0) --fault.column;
    return fault;
}

void File::add(size_t byte, const char* rule, std::string pointer, std::string message,
               bool is_warning) {
    constexpr size_t kMost = 100;
    if (!is_warning) ++errors_;
    if (++count_ > kMost + 1) return;
    if (count_ == kMost + 1) message = "more faults follow and are not listed";
    faults_.push_back(place_of(byte, std::move(pointer)));
    faults_.back().rule = rule;
    faults_.back().message = std::move(message);
    faults_.back().is_warning = is_warning;
}

void File::fault(size_t byte, const char* rule, std::string pointer, std::string message) {
    add(byte, rule, std::move(pointer), std::move(message), false);
}

void File::warn(size_t byte, const char* rule, std::string pointer, std::string message) {
    add(byte, rule, std::move(pointer), std::move(message), true);
}

}  // namespace narratoria::tool::project
