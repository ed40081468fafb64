// SPDX-License-Identifier: Apache-2.0
#include "tool/definition.hpp"

#include "base/json/writer.hpp"

namespace narratoria::tool {

namespace {

const char* kind_name(Origin::Kind kind) {
    switch (kind) {
        case Origin::Kind::File: return "file";
        case Origin::Kind::Plugin: return "plugin";
        case Origin::Kind::Host: return "host";
        case Origin::Kind::Project: return "project";
        case Origin::Kind::Plan: break;
    }
    return "plan";
}

}  // namespace

std::string describe(const Origin& origin) {
    const std::string_view kind = kind_name(origin.kind);
    std::string out = "the " + std::string(kind);
    // Without an owner, the place of a host's tool is "host".
    if (origin.place != kind) out += " " + origin.place;
    return out;
}

void append_json(std::string& out, const Definition& definition, std::string_view script_name,
                 const Guarantees& required, std::string_view problem) {
    json::ObjectWriter writer(out);
    writer.string("name", definition.name).string("scriptName", script_name);
    writer.string("description", definition.description);
    if (definition.input) writer.raw("inputSchema", definition.input->text());
    if (definition.result) writer.raw("resultSchema", definition.result->text());
    writer.string("runner", definition.runner).key("origin");
    json::ObjectWriter(out)
        .string("kind", kind_name(definition.origin.kind))
        .string("place", definition.origin.place)
        .end();
    if (definition.binding) {
        writer.key("binding");
        definition.binding->append_json(out);
    }
    if (required.any()) {
        writer.key("guarantees");
        required.append_json(out);
    }
    if (!definition.path.empty()) writer.string("target", definition.path);
    if (!definition.repeatable) writer.boolean("repeatable", false);
    if (definition.try_ms) {
        writer.key("times");
        json::ObjectWriter(out).number("try_ms", *definition.try_ms).end();
    }
    std::string limits;
    json::ObjectWriter limit_writer(limits);
    auto append = [&](const char* name, const std::optional<uint64_t>& value) {
        if (!value) return;
        if (*value > uint64_t{INT64_MAX}) limit_writer.raw(name, "null");
        else limit_writer.number(name, static_cast<int64_t>(*value));
    };
#define NARRATORIA_LIMIT(name, type, least, text) append(#name, definition.limits.name);
    NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    limit_writer.end();
    if (limits != "{}") writer.raw("limits", limits);
    if (!problem.empty()) writer.string("problem", problem);
    writer.end();
}

std::shared_ptr<const Definition> file_definition(const std::string& path) {
    auto definition = std::make_shared<Definition>();
    definition->name = path.substr(path.rfind('/') + 1);
    definition->runner = kProcessRunner;
    definition->origin = {Origin::Kind::File, path};
    return definition;
}

}  // namespace narratoria::tool
