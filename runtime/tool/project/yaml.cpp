// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_set>

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

// Builds the tree from the parser's events.
class Builder : public YAML::EventHandler {
public:
    explicit Builder(File& file) : file_(file), start_(file.mark_size()) {}

    // The parser does not count a byte order mark.
    size_t byte_of(const YAML::Mark& mark) const {
        return start_ + (mark.pos < 0 ? 0 : static_cast<size_t>(mark.pos));
    }

    // An empty file has no document.
    std::optional<Node> take() {
        if (has_twice_) return std::nullopt;
        return root_ ? std::move(root_) : Node();
    }

private:
    void OnDocumentStart(const YAML::Mark& mark) override {
        if (root_) {
            throw Refusal{byte_of(mark), "project-yaml",
                          "the file has a second document; remove it"};
        }
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        add(made(mark, "?", anchor, Node::Kind::Null));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        throw Refusal{byte_of(mark), "project-yaml-alias",
                      "aliases (*name) are not supported; write the value itself"};
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        // The parser turns these two escapes into single bytes.
        if (!utf8::is_valid(value)) {
            throw Refusal{byte_of(mark), "project-yaml",
                          "the escapes \\N and \\_ are not supported; write \\u0085 or \\u00A0"};
        }
        // The parser's tag is "!" for a quoted scalar.
        Node node = made(mark, tag, anchor, tag == "!" ? Node::Kind::Text : kind_of(value));
        node.text = value;
        add(std::move(node));
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(made(mark, tag, anchor, Node::Kind::List));
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(made(mark, tag, anchor, Node::Kind::Map));
    }
    void OnMapEnd() override { close(); }

    Node made(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
              Node::Kind kind) const {
        if (anchor != YAML::NullAnchor) {
            throw Refusal{byte_of(mark), "project-yaml-alias",
                          "anchors (&name) are not supported; remove it"};
        }
        if (!tag.empty() && tag != "?" && tag != "!") {
            throw Refusal{byte_of(mark), "project-yaml",
                          "tags (" + tag + ") are not supported; remove it"};
        }
        Node node;
        node.kind = kind;
        node.byte = byte_of(mark);
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
    const size_t start_;
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
    try {
        std::istringstream stream{std::string(file.text())};
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const Refusal& refusal) {
        file.fault(refusal.byte, refusal.rule, "", refusal.message);
        return std::nullopt;
    } catch (const YAML::DeepRecursion&) {
        file.fault(0, "project-yaml", "",
                   "values are nested deeper than " + std::to_string(kMaxDepth) + " levels");
        return std::nullopt;
    } catch (const YAML::Exception& exception) {
        file.fault(builder.byte_of(exception.mark), "project-yaml", "",
                   "the file is not valid YAML: " + utf8::repaired(exception.msg));
        return std::nullopt;
    }
    return builder.take();
}

}  // namespace narratoria::tool::project
