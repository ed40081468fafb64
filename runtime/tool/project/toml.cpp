// SPDX-License-Identifier: Apache-2.0
#include "base/toml.hpp"

#include "tool/project/tree.hpp"

namespace narratoria::tool::project {
namespace {

class Converter {
public:
    explicit Converter(std::string_view text) : places_(text) {}

    size_t byte_of(toml::source_position at) const { return places_.byte_of(at); }

    Node node_of(const toml::node& given) const {
        Node node;
        node.byte = byte_of(given.source().begin);
        if (const toml::table* table = given.as_table()) {
            node.kind = Node::Kind::Map;
            for (const auto& [key, value] : *table) {
                Node name;
                name.kind = Node::Kind::Text;
                name.text = key.str();
                name.byte = byte_of(TomlPlaces::begin_of(key, value));
                node.members.push_back({std::move(name), node_of(value)});
            }
        } else if (const toml::array* array = given.as_array()) {
            node.kind = Node::Kind::List;
            for (const toml::node& each : *array) node.items.push_back(node_of(each));
        } else if (const auto* text = given.as_string()) {
            node.kind = Node::Kind::Text;
            node.text = text->get();
        } else if (const auto* whole = given.as_integer()) {
            node.kind = Node::Kind::Integer;
            node.text = std::to_string(whole->get());
        } else if (const auto* flag = given.as_boolean()) {
            node.kind = Node::Kind::Boolean;
            node.text = flag->get() ? "true" : "false";
        } else {
            node.kind = Node::Kind::Other;
        }
        return node;
    }

private:
    const TomlPlaces places_;
};

}  // namespace

std::optional<Node> parse_toml(File& file) {
    if (const std::optional<size_t> byte = find_too_deep_toml(file.text())) {
        file.fault(*byte, "project-toml", "", "keys and values are nested deeper than 128 levels");
        return std::nullopt;
    }
    const Converter converter(file.text());
    const toml::parse_result parsed = toml::parse(file.text());
    if (!parsed) {
        file.fault(converter.byte_of(parsed.error().source().begin), "project-toml", "",
                   describe_toml_error(file.text(), parsed.error()));
        return std::nullopt;
    }
    return converter.node_of(parsed.table());
}

}  // namespace narratoria::tool::project
