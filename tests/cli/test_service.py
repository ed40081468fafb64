# SPDX-License-Identifier: Apache-2.0
"""Project tools that are HTTP services, tested with the service in examples/service."""

import json
import socket
import subprocess
import sys

import pytest

from harness import SOURCE, environment

SERVICE = SOURCE / "examples" / "service" / "service.py"


class Service:
    """A running service; `url` is the address of its tools."""

    def __init__(self, *options, **env):
        self.process = subprocess.Popen([sys.executable, SERVICE, "--port", "0", *options],
                                        stdout=subprocess.PIPE, text=True, env=environment(**env))
        self.port = json.loads(self.process.stdout.readline())["port"]
        self.url = f"http://127.0.0.1:{self.port}/tools"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def run(command):
    """Runs the tool "greeter", bound to a URL; returns the finished command and the trace."""
    project = command.folder / "project"
    (project / ".namel3ss").mkdir(parents=True)

    def run(url, payload, settings="", *options):
        (project / ".namel3ss" / "tools.yaml").write_text(
            "tools:\n  greeter:\n    entry: tools.sample_tool:greet\n    runner: service\n"
            f"    url: {url}\n")
        (project / "namel3ss.toml").write_text(settings)
        return command.run_tool("greeter", project, payload, *options)

    return run


NO_NETWORK = '[capability_overrides]\ngreeter = { no_network = true }\n'


# covers: 001-service-success, 001-trace-service
def test_tool_is_called_over_http(run):
    with Service() as service:
        ran, trace = run(service.url, {"name": "Ada"})
    assert ran.status == 0, ran
    assert json.loads(ran.lines[-1])["result"] == {"message": "Hello Ada", "ok": True}
    [call] = trace
    assert call["service_url"] == service.url
    assert call["service_handshake"] is False
    assert "enforcement_level" not in call


def test_service_error_is_reported_as_the_tool_error(run):
    with Service() as service:
        ran, trace = run(service.url, {})
    assert ran.status == 1, ran
    assert "Missing input" in ran.err
    assert trace[-1]["error_type"] == "ValueError"
    assert trace[-1]["error_message"] == "Missing input"


# covers: 001-handshake-request, 001-trace-handshake
def test_handshake_requests_the_guarantees(run):
    with Service("--enforced", "no_network,no_subprocess") as service:
        ran, trace = run(service.url, {"name": "Ada"}, NO_NETWORK)
    assert ran.status == 0, ran
    (call,) = trace
    assert call["service_handshake"] is True
    assert call["enforcement_level"] == "enforced"


def test_service_without_enforcement_is_not_called(run):
    with Service() as service:
        ran, trace = run(service.url, {"name": "Ada"}, NO_NETWORK).exits(1, "COVERAGE_MISSING")
        assert (f'the service at {service.url} does not enforce guarantees '
                '(its enforcement is "none")') in ran.err
        assert trace[0]["reason"] == "coverage_missing"
        ran, trace = run(service.url, {"name": "Ada"}, NO_NETWORK.replace(
            "true", "true, allow_unsafe_execution = true"))
    assert ran.status == 0, ran
    assert trace[-1]["unsafe_override"] is True


def test_unreachable_service_is_reported_with_its_url(run):
    with Service() as service:
        pass
    ran, trace = run(service.url, {"name": "Ada"}).exits(1)
    assert (f"SERVICE_UNREACHABLE: the tool \"greeter\" is a service, and its call failed: "
            f"{service.url}: no connection: Connection refused") in ran.err
    assert trace[-1]["status"] == "error"


def test_service_that_does_not_answer_is_reported_with_its_url(run):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/tools"
        ran, _ = run(url, {}, "[python_tools]\ntimeout_seconds = 1\n")
    ran.exits(1, f'did not end within 1000 ms; the service at {url} did not respond in time; "timeout_ms" in its binding')


def test_sandbox_option_applies_to_services(run):
    with Service("--enforced", "no_network") as service:
        ran, trace = run(service.url, {"name": "Ada"}, "", "--sandbox", "no_network")
    assert ran.status == 0, ran
    (call,) = trace
    assert call["enforcement_level"] == "enforced"


def test_project_cannot_waive_sandbox_option_for_a_service(run):
    unsafe = "[capability_overrides]\ngreeter = { allow_unsafe_execution = true }\n"
    with Service() as service:
        ran, trace = run(service.url, {"name": "Ada"}, unsafe, "--sandbox", "no_network")
    assert ran.status == 1 and "COVERAGE_MISSING" in ran.err, ran
    assert "reported in its handshake" in ran.err and "does not waive" in ran.err, ran
    assert trace[0]["reason"] == "coverage_missing" and "unsafe_override" not in trace[-1]


def secrets(*names):
    return f"[capability_overrides]\ngreeter = {{ secrets_allowed = {json.dumps(names)} }}\n"


def test_example_service_passes_only_the_allowed_secrets(run, tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "sample_tool.py").write_text(
        "import os\ndef greet(payload):\n    return [os.environ.get(name) for name in payload['names']]\n")
    with Service("--root", tmp_path, "--secrets", "KEY_A,KEY_B", KEY_A="a", KEY_B="b", KEY_C="c") as service:
        ran, _ = run(service.url, {"names": ["KEY_A", "KEY_C"]}, secrets("KEY_A")).exits(0)
        assert json.loads(ran.lines[-1])["result"] == ["a", None]
        run(service.url, {"names": []}, secrets("KEY_C")).exits(1, "does not enforce secrets_allowed")
    with Service() as service:
        run(service.url, {"name": "Ada"}, secrets("KEY_A")).exits(1, "COVERAGE_MISSING")
