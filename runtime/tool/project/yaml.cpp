// SPDX-License-Identifier: Apache-2.0
#include <yaml.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <unordered_set>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::tool::project {
namespace {

// Thrown to stop the parser. parse_yaml() catches it.
struct Refusal {
    size_t byte;
    const char* rule;
    std::string message;
};

bool is_digits(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Determines the kind of an unquoted scalar by the core schema of YAML 1.2.
Node::Kind kind_of(std::string_view text) {
    for (const std::string_view each : {"", "~", "null", "Null", "NULL"}) {
        if (text == each) return Node::Kind::Null;
    }
    for (const std::string_view each : {"true", "True", "TRUE", "false", "False", "FALSE"}) {
        if (text == each) return Node::Kind::Boolean;
    }
    std::string_view number = text;
    if (!number.empty() && (number.front() == '-' || number.front() == '+'))
        number.remove_prefix(1);
    if (is_digits(number)) return Node::Kind::Integer;
    if (number.starts_with("0x") || number.starts_with("0o") || number == ".inf" ||
        number == ".nan") {
        return Node::Kind::Other;
    }
    // 1.5, .5 and 1e3 are numbers; 0.1.0 is a string.
    const size_t exponent = number.find_first_of("eE");
    if (exponent != std::string_view::npos) {
        std::string_view power = number.substr(exponent + 1);
        if (!power.empty() && (power.front() == '-' || power.front() == '+')) {
            power.remove_prefix(1);
        }
        if (!is_digits(power)) return Node::Kind::Text;
        number = number.substr(0, exponent);
    }
    const size_t dot = number.find('.');
    if (dot == std::string_view::npos) {
        return is_digits(number) ? Node::Kind::Other : Node::Kind::Text;
    }
    const std::string_view whole = number.substr(0, dot);
    const std::string_view rest = number.substr(dot + 1);
    const bool is_number = (whole.empty() || is_digits(whole)) &&
                           (rest.empty() || is_digits(rest)) && (!whole.empty() || !rest.empty());
    return is_number ? Node::Kind::Other : Node::Kind::Text;
}

std::string_view view(const yaml_char_t* text) {
    return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

// One event of the parser.
class Event {
public:
    Event() = default;
    ~Event() { yaml_event_delete(&event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    yaml_event_t* get() { return &event_; }
    const yaml_event_t* operator->() const { return &event_; }

private:
    yaml_event_t event_{};
};

class Parser {
public:
    explicit Parser(std::string_view text) {
        if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
        yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                     text.size());
    }
    ~Parser() { yaml_parser_delete(&parser_); }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    // False: the text is not valid; problem() has the reason.
    bool next(Event& event) {
        if (yaml_parser_parse(&parser_, event.get()) != 0) return true;
        if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
        return false;
    }
    std::string problem() const {
        std::string out = parser_.problem != nullptr ? parser_.problem : "unknown error";
        if (parser_.context != nullptr) out += std::string(" ") + parser_.context;
        return out;
    }
    const yaml_mark_t& problem_mark() const { return parser_.problem_mark; }

private:
    yaml_parser_t parser_;
};

// Builds the tree from the parser's events.
class Builder {
public:
    explicit Builder(File& file) : file_(file) {
        // The parser counts characters.
        const std::string_view text = file.text();
        for (size_t i = 0; i < text.size(); ++i) {
            if (!utf8::continues(text[i])) bytes_.push_back(static_cast<uint32_t>(i));
        }
    }

    size_t byte_of(const yaml_mark_t& mark) const {
        return mark.index < bytes_.size() ? bytes_[mark.index] : file_.text().size();
    }

    void take(const Event& event) {
        switch (event->type) {
            case YAML_DOCUMENT_START_EVENT:
                if (!root_) return;
                throw Refusal{byte_of(event->start_mark), "project-yaml",
                              "the file has a second document; remove it"};
            case YAML_ALIAS_EVENT:
                throw Refusal{byte_of(event->start_mark), "project-yaml-alias",
                              "aliases (*name) are not supported; write the value itself"};
            case YAML_SCALAR_EVENT: return add_scalar(event);
            case YAML_SEQUENCE_START_EVENT:
                return open(made(event, event->data.sequence_start.tag,
                                 event->data.sequence_start.anchor, Node::Kind::List));
            case YAML_MAPPING_START_EVENT:
                return open(made(event, event->data.mapping_start.tag,
                                 event->data.mapping_start.anchor, Node::Kind::Map));
            case YAML_SEQUENCE_END_EVENT:
            case YAML_MAPPING_END_EVENT: return close();
            default: return;
        }
    }

    // An empty file has no document.
    std::optional<Node> result() {
        if (has_twice_) return std::nullopt;
        return root_ ? std::move(root_) : Node();
    }

private:
    void add_scalar(const Event& event) {
        const auto& scalar = event->data.scalar;
        const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
        const bool is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
        Node node =
            made(event, scalar.tag, scalar.anchor, is_plain ? kind_of(text) : Node::Kind::Text);
        if (node.kind != Node::Kind::Null) node.text = text;
        add(std::move(node));
    }

    Node made(const Event& event, const yaml_char_t* tag, const yaml_char_t* anchor,
              Node::Kind kind) const {
        if (anchor != nullptr) {
            throw Refusal{byte_of(event->start_mark), "project-yaml-alias",
                          "anchors (&name) are not supported; remove it"};
        }
        if (tag != nullptr && view(tag) != "!") {
            throw Refusal{byte_of(event->start_mark), "project-yaml",
                          "tags (" + std::string(view(tag)) + ") are not supported; remove it"};
        }
        Node node;
        node.kind = kind;
        node.byte = byte_of(event->start_mark);
        return node;
    }

    struct Open {
        Node node;
        std::optional<Node> key;  // of a table: the key whose value comes next
        std::unordered_set<std::string> keys;
    };

    void open(Node node) {
        if (open_.size() == kMaxDepth) {
            throw Refusal{node.byte, "project-yaml",
                          "values are nested deeper than " + std::to_string(kMaxDepth) + " levels"};
        }
        if (!open_.empty() && open_.back().node.kind == Node::Kind::Map && !open_.back().key) {
            throw Refusal{node.byte, "project-yaml",
                          "a key must be a string, not a list or a table"};
        }
        open_.push_back({std::move(node), std::nullopt, {}});
    }

    void close() {
        Node node = std::move(open_.back().node);
        open_.pop_back();
        add(std::move(node));
    }

    void add(Node node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Open& outer = open_.back();
        if (outer.node.kind == Node::Kind::List) {
            outer.node.items.push_back(std::move(node));
            return;
        }
        if (outer.key) {
            // For a missing value the parser gives the position of the next token.
            if (node.kind == Node::Kind::Null) node.byte = outer.key->byte;
            outer.node.members.push_back({std::move(*outer.key), std::move(node)});
            outer.key.reset();
            return;
        }
        if (node.kind == Node::Kind::Null) {
            throw Refusal{node.byte, "project-yaml", "a key is missing before the colon"};
        }
        if (!outer.keys.insert(node.text).second) {
            has_twice_ = true;
            file_.fault(node.byte, "project-twice", "",
                        json::quoted(node.text) + " is set twice; remove one");
        }
        outer.key = std::move(node);
    }

    File& file_;
    std::vector<uint32_t> bytes_;  // where each character begins
    std::optional<Node> root_;
    std::vector<Open> open_;
    bool has_twice_ = false;
};

}  // namespace

std::optional<Node> parse_yaml(File& file) {
    const size_t valid = utf8::valid_prefix(file.text());
    if (valid != file.text().size()) {
        file.fault(valid, "project-yaml", "", "the file is not valid UTF-8");
        return std::nullopt;
    }
    if (const size_t nul = file.text().find('\0'); nul != std::string_view::npos) {
        file.fault(nul, "project-yaml", "", "the file must not contain a NUL character");
        return std::nullopt;
    }
    Builder builder(file);
    Parser parser(file.text());
    try {
        for (bool is_over = false; !is_over;) {
            Event event;
            if (!parser.next(event)) {
                file.fault(builder.byte_of(parser.problem_mark()), "project-yaml", "",
                           "the file is not valid YAML: " + parser.problem());
                return std::nullopt;
            }
            builder.take(event);
            is_over = event->type == YAML_STREAM_END_EVENT;
        }
    } catch (const Refusal& refusal) {
        file.fault(refusal.byte, refusal.rule, "", refusal.message);
        return std::nullopt;
    }
    return builder.result();
}

}  // namespace narratoria::tool::project
