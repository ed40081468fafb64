# SPDX-License-Identifier: Apache-2.0
"""Guarantees come from the pack, the tool, the user and the policy; no call starts unless they are enforced."""

import http.server
import json
import threading

import pytest

from project_folders import SIX, bound, events, pack, surroundings


def test_guarantees_come_from_pack_then_tool_user_and_policy(project):
    pack(project)
    binding = bound(project, "pick")["binding"]
    assert binding["sources"] == {"no_filesystem_write": "pack", "no_env_write": "pack",
                                  "secrets_allowed": "pack"}
    assert binding["guarantees"]["secrets_allowed"] == ["KEY", "OTHER"]
    project.write("namel3ss.toml", "[capability_overrides]\n"
                  'pick = { no_network = true, no_env_write = true, no_subprocess = false, '
                  'secrets_allowed = ["OTHER", "NEW"] }\n')
    binding = bound(project, "pick")["binding"]
    assert binding["sources"] == {"no_filesystem_write": "pack", "no_network": "user",
                                  "no_env_write": "user", "secrets_allowed": "user"}
    assert binding["guarantees"]["secrets_allowed"] == ["OTHER"]
    assert binding["guarantees"]["no_subprocess"] is False
    project.write(".namel3ss/trust/policy.toml",
                  'allowed_capabilities = { filesystem = "none", subprocess = "none" }\n')
    binding = bound(project, "pick")["binding"]
    assert binding["sources"] == {
        "no_filesystem_write": "policy", "no_filesystem_read": "policy", "no_network": "user",
        "no_subprocess": "policy", "no_env_write": "policy", "secrets_allowed": "user"}


def test_pack_without_capabilities_and_pure_tool_may_do_nothing(project):
    pack(project, capabilities=None)
    project.write(".namel3ss/tools.yaml",
                  "tools:\n  still:\n    entry: tools.sample_tool:greet\n    purity: pure\n"
                  "    sandbox: true\n")
    for name, source in (("pick", "pack"), ("still", "tool")):
        binding = bound(project, name)["binding"]
        assert binding["guarantees"] == {**dict.fromkeys(SIX, True), "secrets_allowed": []}
        assert binding["sources"] == dict.fromkeys([*SIX, "secrets_allowed"], source)


def test_unenforceable_guarantee_stops_the_call_before_it_starts(project):
    project.tool("greet", "purity: pure")
    ran, trace = project.run("greet", {"name": "Ada"}).exits(1, "COVERAGE_MISSING", "sandbox: true")
    assert [each["type"] for each in trace] == ["capability_check"] * 7 + ["tool_call"]
    assert [each["capability"] for each in trace[:-1]] == [
        "filesystem_read", "filesystem_write", "network", "subprocess", "env_read", "env_write",
        "secrets"]
    for check in trace[:-1]:
        assert list(check) == ["type", "tool_name", "runner", "resolved_source", "capability",
                               "allowed", "guarantee_source", "reason", "protocol_version"]
        assert (check["allowed"], check["guarantee_source"], check["reason"]) == (
            False, "tool", "coverage_missing")
    call = trace[-1]
    assert (call["status"], call["error_type"], call["decision"], call["result"]) == (
        "error", "CapabilityViolation", "allowed", "error")


# covers: 001-trace-unsafe-override
def test_allow_unsafe_execution_waives_coverage_and_is_traced(project):
    project.tool("greet", "purity: pure")
    project.write("namel3ss.toml", "[capability_overrides]\ngreet = { allow_unsafe_execution = true }\n")
    ran, trace = project.run("greet", {"name": "Ada"}).exits(0)
    (call,) = trace
    assert call["unsafe_override"] is True
    assert bound(project, "greet")["binding"]["guarantees"]["no_network"] is True


def test_runner_blocks_acts_even_without_the_kernel(project):
    project.code("sets", "import os\ndef run(payload):\n    os.environ['A'] = 'b'\n")
    project.write("namel3ss.toml", "[capability_overrides]\n"
                  "sets = { no_env_write = true, allow_unsafe_execution = true }\n")
    ran, (check, call) = project.run("sets").exits(1, 'Tool "sets" cannot write environment variables.')
    assert (check["capability"], check["reason"]) == ("env_write", "guarantee_blocked")
    assert (call["error_type"], call["unsafe_override"]) == ("CapabilityViolation", True)


def test_sandbox_option_is_enforced_and_traced(project):
    ran, trace = project.run("greeter", {"name": "Ada"}, "--sandbox", "no_network").exits(0)
    (call,) = trace
    assert call["sandbox"] is True
    # The kernel enforces it, and the message is that of the specification.
    project.write("tools/sample_tool.py", "import socket\ndef greet(payload):\n    socket.socket()\n")
    ran, trace = project.run("greeter", {}, "--sandbox", "no_network")
    assert ran.status == 1 and 'Tool "greeter" cannot use the network.' in ran.err, ran
    check, call = trace
    assert (check["capability"], check["allowed"], check["guarantee_source"], check["reason"]) == (
        "network", False, "policy", "guarantee_blocked")
    assert (call["error_type"], call["decision"]) == ("CapabilityViolation", "allowed")


def test_sandbox_option_also_covers_project_guarantees(project):
    project.write("namel3ss.toml", "[capability_overrides]\ngreeter = { no_subprocess = true }\n")
    project.run("greeter", {"name": "Ada"}).exits(1, "COVERAGE_MISSING")
    ran, trace = project.run("greeter", {"name": "Ada"}, "--sandbox", "no_network").exits(0)
    assert len(trace) == 1 and trace[0]["sandbox"] is True


ALL_ALLOWED = """capabilities:
  "{tool}":
    filesystem: "write"
    network: "none"
    env: "read"
    subprocess: "allow"
    secrets: []
"""


class Service:
    """Claims to enforce everything, or only `supported`. `paths` are the paths of its requests."""

    def __init__(self):
        service = self
        self.paths = []
        self.supported = None
        self.enforcement = "enforced"

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                service.paths.append(self.path)
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                claims = dict(asked.get("required_guarantees", {}))
                if service.supported is not None:
                    claims = dict.fromkeys(service.supported, True)
                body = json.dumps({"ok": True, "enforcement": service.enforcement, "result": {"served": True},
                                   "supported_guarantees": claims}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/tools"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def service():
    service = Service()
    yield service
    service.server.shutdown()
    service.server.server_close()


def a_client(project):
    """A fake container client that replies for each container."""
    client = project.write("client", "#!/bin/sh\n[ \"$1\" = run ] || exit 0\ncat > /dev/null\n"
                           "echo '{\"ok\": true, \"result\": {\"contained\": true}}'\n")
    client.chmod(0o755)
    return surroundings(NARRATORIA_CONTAINER_RUNTIME=str(client))


def test_empty_command_of_a_container_is_the_default_command(project):
    project.tool("greet", "runner: container", "image: i", "command: []")
    ran, (call,) = project.run("greet", env=a_client(project)).exits(0, '"command" has no effect')
    assert call["command"] == "python -m namel3ss_tools.runner"


@pytest.mark.parametrize("where", ["entrypoints", "tools.yaml"])
@pytest.mark.parametrize("claim", [
    'enforcement: "verified"', 'enforcement: "declared"', "sandbox: true", 'purity: "pure"', "warm: false"])
def test_pack_cannot_vouch_for_its_own_image(project, where, claim):
    tool = f'  pick:\n    entry: "a:run"\n    runner: container\n    image: "i:1"\n    {claim}\n'
    place = pack(project, capabilities=ALL_ALLOWED,
                 more="entrypoints:\n" + tool if where == "entrypoints" else "")
    if where == "tools.yaml":
        project.write(f"{place}/tools.yaml", "tools:\n" + tool)
    env = a_client(project)
    ran, trace = project.run("pick", env=env).exits(1, "COVERAGE_MISSING")
    assert trace[0]["reason"] == "coverage_missing" and "container_enforcement" not in trace[-1]
    if "pure" in claim:  # it requires no_subprocess, which no container covers
        return
    assert "cannot vouch for itself" in ran.err, ran
    project.write("namel3ss.toml", '[capability_overrides]\npick = { enforcement = "verified" }\n')
    ran, trace = project.run("pick", env=env)
    assert ran.status == 0 and events(ran)[-1]["result"] == {"contained": True}, ran
    assert trace[-1]["container_enforcement"] == "verified"


@pytest.mark.parametrize("where", ["service_url", "url", "a local pack"])
def test_pack_cannot_vouch_for_its_own_service(project, service, where):
    tool = 'entrypoints:\n  "{tool}":\n    entry: "a:run"\n    runner: service\n'
    address = f'"{service.url}"\n'
    pack(project, capabilities=ALL_ALLOWED,
         folder="packs/capability" if where == "a local pack" else ".namel3ss/packs",
         more=tool + (f"    url: {address}" if where != "service_url" else f"service_url: {address}"))
    ran, trace = project.run("pick").exits(1, "COVERAGE_MISSING", "cannot vouch")
    assert service.paths == [] and trace[0]["reason"] == "coverage_missing"
    # When the user trusts the service, it is asked, and its answer is accepted.
    project.write("namel3ss.toml", '[capability_overrides]\npick = { enforcement = "declared" }\n')
    ran, _ = project.run("pick")
    assert ran.status == 0 and service.paths == ["/capabilities/handshake", "/tools"], ran
    # When the user waives enforcement, the trace records it.
    project.write("namel3ss.toml", "[capability_overrides]\npick = { allow_unsafe_execution = true }\n")
    ran, trace = project.run("pick")
    assert ran.status == 0 and trace[-1]["unsafe_override"] is True, ran


def test_only_guarantees_without_coverage_are_traced_as_missing(project, service):
    project.tool("greet", "runner: container", "image: i", "enforcement: declared")
    project.write("namel3ss.toml", "[capability_overrides]\n"
                  "greet = { no_network = true, no_subprocess = true }\n")
    ran, trace = project.run("greet", env=a_client(project))
    assert ran.status == 1 and [each["capability"] for each in trace[:-1]] == ["subprocess"], ran
    service.supported = ["no_network"]
    project.tool("greet", "runner: service", f"url: {service.url}")
    ran, trace = project.run("greet")
    assert ran.status == 1 and [each["capability"] for each in trace[:-1]] == ["subprocess"], ran
    assert (trace[0]["guarantee_source"], trace[0]["reason"]) == ("user", "coverage_missing")


def test_service_does_not_get_a_secret_that_it_may_not_have(project, service):
    project.tool("greet", "runner: service", f"url: {service.url}")
    surrounded = surroundings(OPENAI_API_KEY="tok/é\"n", N3_DATABASE_URL="abc")
    for payload in ({"a": [1, {"b": "the key is tok/é\"n!"}]}, {"tok/é\"n": 1}):
        project.write("namel3ss.toml", '[capability_overrides]\ngreet = { secrets_allowed = ["OTHER"] }\n')
        ran, (check, call) = project.run("greet", payload, env=surrounded)
        assert ran.status == 1 and 'Tool "greet" cannot access secrets. Its input has the value of ' \
            "OPENAI_API_KEY." in ran.err and service.paths == [], ran
        assert (check["capability"], check["allowed"], check["reason"]) == ("secrets", False, "secrets_blocked")
        assert (call["error_type"], call["result"]) == ("CapabilityViolation", "error")
    # It may have this one, and the value of the other is too short to tell.
    project.write("namel3ss.toml", '[capability_overrides]\ngreet = { secrets_allowed = ["OPENAI_API_KEY"] }\n')
    project.run("greet", {"a": "tok/é\"n", "b": "abc"}, env=surrounded).exits(0)
    project.write(".env", "N3_EDGE_KV_URL=https://kv\n")
    project.run("greet", {"a": "https://kv/x"}, env=surrounded).exits(1, "the value of N3_EDGE_KV_URL")
    project.write("namel3ss.toml", "")
    project.run("greet", payload, env=surrounded).exits(0)


def test_tool_without_guarantees_needs_no_enforcement_of_its_service(project, service):
    project.tool("greet", "runner: service", f"url: {service.url}")
    handshake = "[python_tools]\nservice_handshake_required = true\n"
    for level in ("none", "partial"):
        service.enforcement = level
        project.write("namel3ss.toml", handshake)
        ran, trace = project.run("greet")
        assert ran.status == 0 and service.paths[-2:] == ["/capabilities/handshake", "/tools"], ran
        assert (trace[-1]["service_handshake"], trace[-1]["enforcement_level"]) == (True, level)
        project.write("namel3ss.toml", handshake + "[capability_overrides]\ngreet = { no_network = true }\n")
        project.run("greet").exits(1, "COVERAGE_MISSING")


def test_user_service_is_asked_what_it_enforces_for_a_pack(project, service):
    pack(project, capabilities=ALL_ALLOWED,
         more='entrypoints:\n  "{tool}":\n    entry: "a:run"\n    runner: service\n')
    project.write("namel3ss.toml", f'[python_tools]\nservice_url = "{service.url}"\n')
    ran, trace = project.run("pick")
    assert ran.status == 0 and service.paths == ["/capabilities/handshake", "/tools"], ran
    assert "unsafe_override" not in trace[-1]


def test_pack_cannot_waive_a_guarantee_or_its_sandbox(project):
    place = pack(project, capabilities=ALL_ALLOWED)
    project.write(f"{place}/tools.yaml",
                  'tools:\n  pick:\n    entry: "one_tools:run"\n    sandbox: false\n')
    ran, trace = project.run("pick")
    assert ran.status == 0 and trace[-1]["sandbox"] is True, ran
    assert '"sandbox: false" has no effect' in ran.err, ran
    for field in ("allow_unsafe_execution: true", "no_network: false"):
        project.write(f"{place}/tools.yaml", f'tools:\n  pick:\n    entry: "one_tools:run"\n    {field}\n')
        assert f'has no field "{field.split(":")[0]}"' in project.faults()
