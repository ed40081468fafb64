// SPDX-License-Identifier: Apache-2.0
#include "tool/project/pack_files.hpp"

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "tool/project/fields.hpp"

namespace narratoria::tool::project {

std::optional<Manifest> read_manifest(File& file) {
    const std::optional<Node> root = parse_yaml(file);
    if (!root) return std::nullopt;
    if (root->kind != Node::Kind::Map) {
        file.fault(0, "project-type", "",
                   "a pack is a table with \"id\", \"name\", \"version\" and \"tools\"");
        return std::nullopt;
    }
    Manifest manifest;
    manifest.place = file.place_of(0, "");
    Fields fields(file, *root, "the pack", "");
    fields.allow({"id", "name", "version", "description", "author", "license", "tools", "runners",
                  "service_url", "container", "entrypoints"});
    manifest.pack.id = fields.required_text("id", "\"my.pack\"", true);
    manifest.pack.name = fields.required_text("name", "\"My pack\"", true);
    manifest.pack.version = fields.required_text("version", "\"0.1.0\"", true);
    fields.required_text("description", "\"what it is for\"", true);
    fields.required_text("author", "\"who\"", true);
    fields.required_text("license", "\"MIT\"", true);
    manifest.url = fields.url("service_url").value_or("");
    if (!manifest.url.empty()) manifest.url_place = fields.place_of("service_url");
    if (const Node* tools = fields.find("tools"); tools == nullptr) {
        fields.fault("tools", "project-missing",
                     "\"tools\" is missing; list the names of the pack's tools");
    } else if (tools->kind != Node::Kind::List) {
        fields.texts("tools");  // says what is wrong
    } else {
        fields.texts("tools");
        for (const Node& each : tools->items) {
            std::string pointer = "/tools";
            json::append_pointer(pointer, static_cast<size_t>(&each - tools->items.data()));
            manifest.tools.emplace_back(each.text, file.place_of(each.byte, std::move(pointer)));
        }
    }
    if (const Node* runners = fields.table("runners")) {
        Fields given(file, *runners, "\"runners\" of the pack", "/runners");
        given.allow({"default"});
        if (const auto runner = given.choice("default", {"local", "service", "container"})) {
            manifest.runner = *runner == "local"     ? RunnerKind::Local
                              : *runner == "service" ? RunnerKind::Service
                                                     : RunnerKind::Container;
        }
    }
    if (const Node* container = fields.table("container")) {
        Fields given(file, *container, "\"container\" of the pack", "/container");
        given.allow({"image"});
        manifest.image = given.text("image", true).value_or("");
        if (!manifest.image.empty()) manifest.image_place = given.place_of("image");
    }
    if (const Node* entrypoints = fields.table("entrypoints")) {
        manifest.entrypoints = read_tools(file, *entrypoints, "/entrypoints");
        manifest.entrypoints_place = fields.place_of("entrypoints");
    }
    return manifest;
}

void require_levels(File& file, const Node& levels, const std::string& whose,
                    const std::string& pointer, bool all_are_required, GuaranteeSource source,
                    Guarantees& guarantees) {
    Fields fields(file, levels, whose, pointer);
    const auto level = [&](std::string_view name,
                           std::initializer_list<std::string_view> choices) -> std::string {
        if (all_are_required && fields.find(name) == nullptr) {
            fields.fault(name, "project-missing",
                         json::quoted(name) + " is missing; write " + std::string(name) + ": none");
        }
        return fields.choice(name, choices).value_or(std::string(*(choices.end() - 1)));
    };
    const std::string filesystem = level("filesystem", {"none", "read", "write"});
    if (filesystem != "write") guarantees.require(Guarantee::NoFilesystemWrite, source);
    if (filesystem == "none") guarantees.require(Guarantee::NoFilesystemRead, source);
    if (level("network", {"none", "outbound"}) == "none") {
        guarantees.require(Guarantee::NoNetwork, source);
    }
    if (level("env", {"none", "read"}) == "none") guarantees.require(Guarantee::NoEnvRead, source);
    // There is no level that allows it.
    guarantees.require(Guarantee::NoEnvWrite, source);
    if (level("subprocess", {"none", "allow"}) == "none") {
        guarantees.require(Guarantee::NoSubprocess, source);
    }
}

std::map<std::string, Declared> read_capabilities(File& file) {
    std::map<std::string, Declared> out;
    const std::optional<Node> root = parse_yaml(file);
    if (!root) return out;
    const Node* all = root->find("capabilities");
    if (root->kind != Node::Kind::Map || all == nullptr) {
        file.fault(0, "project-missing", "/capabilities",
                   "\"capabilities\" is missing; this file begins with the line capabilities: and "
                   "names each tool below it");
        return out;
    }
    Fields(file, *root, "the file", "").allow({"capabilities"});
    if (all->kind == Node::Kind::Null) return out;
    if (all->kind != Node::Kind::Map) {
        file.fault(all->byte, "project-type", "/capabilities",
                   "\"capabilities\" must be a table of tools, not " + std::string(describe(*all)));
        return out;
    }
    for (const auto& [name, value] : all->members) {
        std::string pointer = "/capabilities";
        json::append_pointer(pointer, name.text);
        const std::string whose = "the tool " + json::quoted(name.text);
        if (value.kind != Node::Kind::Map) {
            file.fault(
                value.byte, "project-type", pointer,
                whose + " must be a table of capabilities, not " + std::string(describe(value)));
            continue;
        }
        Fields fields(file, value, whose, pointer);
        fields.allow({"filesystem", "network", "env", "subprocess", "secrets"});
        Declared& declared = out[name.text];
        declared.place = file.place_of(name.byte, pointer);
        Guarantees& guarantees = declared.guarantees;
        require_levels(file, value, whose, pointer, true, GuaranteeSource::Pack, guarantees);
        guarantees.allow_secrets(fields.texts("secrets").value_or(std::vector<std::string>()),
                                 GuaranteeSource::Pack);
    }
    return out;
}

}  // namespace narratoria::tool::project
