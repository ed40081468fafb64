// SPDX-License-Identifier: Apache-2.0
#include "tool/project/binding.hpp"

#include "base/json/writer.hpp"
#include "http/url.hpp"

namespace narratoria::tool::project {

void append_json(std::string& out, const Binding& binding) {
    json::ObjectWriter writer(out);
    writer.string("source", binding.resolved_source)
        .string("kind", binding.kind)
        .string("entry", binding.entry)
        .string("purity", binding.purity);
    if (binding.pack) {
        writer.key("pack");
        json::ObjectWriter(out)
            .string("id", binding.pack->id)
            .string("name", binding.pack->name)
            .string("version", binding.pack->version)
            .end();
    }
    switch (binding.runner) {
        case RunnerKind::Local:
            writer.string("pythonEnv", binding.python.kind)
                .string("pythonPath", binding.python.interpreter)
                .boolean("sandbox", binding.sandbox);
            break;
        case RunnerKind::Service:
            writer.string("url", http::shown(binding.url))
                .boolean("handshakeRequired", binding.handshake_required);
            break;
        case RunnerKind::Container:
            writer.string("image", binding.image);
            if (!binding.command.empty()) {
                writer.key("command");
                out += '[';
                for (const std::string& word : binding.command) {
                    if (out.back() != '[') out += ',';
                    json::append_string(out, word);
                }
                out += ']';
            }
            if (!binding.enforcement.empty()) writer.string("enforcement", binding.enforcement);
            break;
    }
    writer.key("guarantees");
    binding.guarantees.append_json(out);
    writer.key("sources");
    binding.guarantees.append_sources(out);
    if (binding.allow_unsafe) writer.boolean("allowUnsafeExecution", true);
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

std::string problem_of(const Binding& binding) {
    if (!binding.problem.empty()) return binding.problem;
    if (binding.runner == RunnerKind::Local && !binding.python.problem.empty()) {
        return binding.python.problem;
    }
    if (binding.allow_unsafe) return {};
    const std::string how = coverage_problem(binding);
    return how.empty() ? how : "its guarantees would not be enforced: " + how;
}

}  // namespace narratoria::tool::project
