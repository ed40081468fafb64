// SPDX-License-Identifier: Apache-2.0
#include "tool/project/binding.hpp"

#include "base/json/writer.hpp"
#include "http/url.hpp"

namespace narratoria::tool::project {

void Binding::append_json(std::string& out) const {
    json::ObjectWriter writer(out);
    writer.string("source", resolved_source)
        .string("kind", kind)
        .string("entry", entry)
        .string("purity", purity);
    if (pack) {
        writer.key("pack");
        json::ObjectWriter(out)
            .string("id", pack->id)
            .string("name", pack->name)
            .string("version", pack->version)
            .end();
    }
    switch (runner) {
        case RunnerKind::Local:
            writer.string("pythonEnv", python.kind)
                .string("pythonPath", python.interpreter)
                .boolean("sandbox", sandbox);
            break;
        case RunnerKind::Service:
            writer.string("url", http::shown(url)).boolean("handshakeRequired", handshake_required);
            break;
        case RunnerKind::Container:
            writer.string("image", image);
            if (!command.empty()) {
                writer.key("command");
                out += '[';
                for (const std::string& word : command) {
                    if (out.back() != '[') out += ',';
                    json::append_string(out, word);
                }
                out += ']';
            }
            if (!enforcement.empty()) writer.string("enforcement", enforcement);
            break;
    }
    writer.key("guarantees");
    guarantees.append_json(out);
    writer.key("sources");
    guarantees.append_sources(out);
    if (allow_unsafe) writer.boolean("allowUnsafeExecution", true);
    writer.end();
}

std::vector<std::string> Binding::container_command() const {
    if (!command.empty()) return command;
    return {"python", "-m", "namel3ss_tools.runner"};
}

namespace {

std::string unvouched_problem(const Binding& binding) {
    const bool is_service = binding.runner == RunnerKind::Service;
    return "the pack " + json::quoted(binding.pack->id) + " provides its own " +
           (is_service ? "service" : "image") +
           ", and a pack cannot vouch for itself; if you trust it, write enforcement = "
           "\"declared\" for this tool under [capability_overrides] in namel3ss.toml";
}

}  // namespace

std::string coverage_problem(const Binding& binding, const Guarantees& guarantees,
                             bool is_sandboxed) {
    if (!guarantees.any()) return {};
    switch (binding.runner) {
        case RunnerKind::Local:
            if (is_sandboxed) return {};
            return "set \"sandbox: true\" in its binding";
        // The handshake before the call checks the service's enforcement.
        case RunnerKind::Service: return binding.is_unvouched ? unvouched_problem(binding) : "";
        case RunnerKind::Container: break;
    }
    if (guarantees.requires_one(Guarantee::NoSubprocess)) {
        return "a container cannot be prevented from starting processes (no_subprocess); set "
               "\"runner: local\" and \"sandbox: true\" in its binding, or do not require "
               "no_subprocess";
    }
    if (binding.is_unvouched) return unvouched_problem(binding);
    return binding.enforcement.empty()
               ? "if its container enforces them, set \"enforcement: declared\" or \"verified\" in "
                 "its binding"
               : std::string();
}

std::string Binding::start_problem() const {
    if (!problem.empty()) return problem;
    if (runner == RunnerKind::Local && !python.problem.empty()) {
        return python.problem;
    }
    if (allow_unsafe) return {};
    const std::string how = coverage_problem(*this);
    return how.empty() ? how : "its guarantees would not be enforced: " + how;
}

}  // namespace narratoria::tool::project
