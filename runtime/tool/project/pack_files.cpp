// SPDX-License-Identifier: Apache-2.0
#include "tool/project/pack_files.hpp"

#include <algorithm>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/sha256.hpp"
#include "tool/project/fields.hpp"

namespace narratoria::tool::project {

namespace {

constexpr std::string_view kSpace = " \t\v\f\x1c\x1d\x1e\x1f";

bool is_about_signing(std::string_view line) {
    if (line.empty() || kSpace.find(line.front()) != std::string_view::npos) return false;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    std::string_view key = line.substr(0, colon);
    key = key.substr(0, key.find_last_not_of(kSpace) + 1);
    return key == "signer_id" || key == "signed_at" || key == "digest";
}

// Removes trailing spaces from each line, and empty lines from both ends of the text.
std::string normalized(std::string_view text, bool without_signing) {
    std::string out;
    while (!text.empty()) {
        const size_t end = std::min(text.find_first_of("\r\n"), text.size());
        const std::string_view line = text.substr(0, end);
        if (!without_signing || !is_about_signing(line)) {
            out += line.substr(0, line.find_last_not_of(kSpace) + 1);
            out += '\n';
        }
        text.remove_prefix(end);
        if (!text.empty()) text.remove_prefix(text.starts_with("\r\n") ? 2 : 1);
    }
    const std::string space = std::string(kSpace) + '\n';
    out.erase(out.find_last_not_of(space) + 1);
    out.erase(0, std::min(out.find_first_not_of(space), out.size()));
    return out;
}

}  // namespace

std::string digest_of(std::string_view manifest, const std::optional<std::string>& tools) {
    std::string text = normalized(manifest, true);
    if (tools) text += '\n' + normalized(*tools, false);
    return "sha256:" + sha256(text);
}

std::optional<Manifest> read_manifest(File& file) {
    const std::optional<Node> root = parse_yaml(file);
    if (!root) return std::nullopt;
    if (root->kind != Node::Kind::Map) {
        file.fault(0, "project-type", "",
                   "the file must be a table with \"id\", \"name\", \"version\" and \"tools\"");
        return std::nullopt;
    }
    Manifest manifest;
    manifest.place = file.place_of(0, "");
    Fields fields(file, *root, "the pack", "");
    fields.allow({"id", "name", "version", "description", "author", "license", "tools", "runners",
                  "service_url", "container", "entrypoints", "signer_id", "signed_at", "digest"});
    manifest.pack.id = fields.required_text("id", "\"my.pack\"", true);
    manifest.pack.name = fields.required_text("name", "\"My pack\"", true);
    manifest.pack.version = fields.required_text("version", "\"0.1.0\"", true);
    fields.required_text("description", "\"what it is for\"", true);
    fields.required_text("author", "\"who\"", true);
    fields.required_text("license", "\"MIT\"", true);
    manifest.signer = fields.text("signer_id", true).value_or("");
    fields.text("signed_at", true);
    manifest.digest = fields.text("digest", true).value_or("");
    if (!manifest.digest.empty()) manifest.digest_place = fields.place_of("digest");
    manifest.url = fields.url("service_url").value_or("");
    if (!manifest.url.empty()) manifest.url_place = fields.place_of("service_url");
    if (const Node* tools = fields.find("tools"); tools == nullptr) {
        fields.fault("tools", "project-missing",
                     "\"tools\" is missing; list the names of the pack's tools");
    } else if (tools->kind == Node::Kind::Null) {
        // An empty list: the tools that the pack binds are reported one by one.
    } else if (tools->kind != Node::Kind::List) {
        fields.texts("tools");  // reports the fault
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

void require_levels(File& file, const Node& levels, const std::string& subject,
                    const std::string& pointer, bool all_are_required, GuaranteeSource source,
                    Guarantees& guarantees) {
    Fields fields(file, levels, subject, pointer);
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
    // No level allows a tool to set environment variables.
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
                   "\"capabilities\" is missing; begin the file with the line capabilities: and "
                   "list the tools below it");
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
        const std::string subject = "the tool " + json::quoted(name.text);
        if (value.kind != Node::Kind::Map) {
            file.fault(
                value.byte, "project-type", pointer,
                subject + " must be a table of capabilities, not " + std::string(describe(value)));
            continue;
        }
        Fields fields(file, value, subject, pointer);
        fields.allow({"filesystem", "network", "env", "subprocess", "secrets"});
        Declared& declared = out[name.text];
        declared.place = file.place_of(name.byte, pointer);
        Guarantees& guarantees = declared.guarantees;
        require_levels(file, value, subject, pointer, true, GuaranteeSource::Pack, guarantees);
        guarantees.allow_secrets(fields.texts("secrets").value_or(std::vector<std::string>()),
                                 GuaranteeSource::Pack);
        if (guarantees.requires_one(Guarantee::NoEnvRead) && !guarantees.secrets()->empty()) {
            fields.warn_of_no_effect("secrets",
                                     "a secret is a variable, and the tool may read none; "
                                     "write \"env: read\"");
        }
    }
    return out;
}

}  // namespace narratoria::tool::project
