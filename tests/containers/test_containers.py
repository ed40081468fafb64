# SPDX-License-Identifier: Apache-2.0
"""Project tools that run in a container (spec 001): replies, timeouts and cleanup."""

import json
import os
import signal
import subprocess
import time

import pytest

from container_runtime import IMAGE
from harness import DEADLINE, NARRATORIA, default_signals, environment


class Project:
    def __init__(self, command, runtime):
        self.command = command
        self.runtime = runtime
        self.folder = command.folder / "project"
        (self.folder / ".namel3ss").mkdir(parents=True)
        self.env = environment(NARRATORIA_CONTAINER_RUNTIME=runtime.program, **runtime.environment)
        self.trace = command.folder / "trace.ndjson"

    def bind(self, function, *fields, image=IMAGE):
        lines = ["kind: python", f"entry: tools.sample:{function}", "runner: container",
                 f"image: {image}", *fields]
        (self.folder / ".namel3ss" / "tools.yaml").write_text(
            "tools:\n  tool:\n" + "".join(f"    {line}\n" for line in lines))

    def arguments(self, payload):
        return ["tool", "run", "tool", "--project", self.folder, "--trace", self.trace,
                "--input", json.dumps(payload)]

    def run(self, payload=None, **env):
        self.trace.unlink(missing_ok=True)
        ran = self.command(*self.arguments(payload or {}), env={**self.env, **env})
        lines = self.trace.read_text().splitlines() if self.trace.exists() else []
        return ran, [json.loads(line) for line in lines]

    def guarantee(self, *names):
        (self.folder / "namel3ss.toml").write_text(
            "[capability_overrides]\n\"tool\" = { " + ", ".join(f"{name} = true" for name in names) + " }\n")

    def start_waiting(self):
        """Starts a call and returns its process once the function waits."""
        self.bind("wait")
        process = subprocess.Popen([NARRATORIA, *self.arguments({})], env=self.env, cwd=self.command.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=default_signals)
        for line in process.stdout:
            if b"waiting" in line:
                return process
        raise AssertionError(process.communicate())

    def are_gone(self):
        limit = time.monotonic() + DEADLINE
        while self.runtime.names():
            assert time.monotonic() < limit, self.runtime.names()
            time.sleep(0.05)


@pytest.fixture
def project(command, runtime):
    one = Project(command, runtime)
    yield one
    for name in runtime.names():
        runtime("rm", "-f", name)


def result_of(ran):
    return next(event["result"] for event in map(json.loads, ran.lines) if event["type"] == "done")


# covers: 001-trace-container
def test_container_replies_and_its_prints_are_logged(project):
    project.bind("greet")
    ran, trace = project.run({"name": "Ada"})
    assert ran.status == 0, ran
    assert result_of(ran) == {"message": "Hello Ada"}
    assert any(event.get("message") == "greeting" for event in map(json.loads, ran.lines))
    call = trace[-1]
    assert call["type"] == "tool_call" and call["status"] == "ok", trace
    assert call["runner"] == "container" and call["image"] == IMAGE
    assert call["command"] == "python -m namel3ss_tools.runner"
    assert call["container_runtime"] == os.path.basename(project.runtime.program)
    assert call["protocol_version"] == 1
    assert not project.runtime.names()


def test_only_the_variables_of_the_binding_are_in_the_container(project):
    project.bind("mood", "env:", "  MOOD: \"bright = warm\"")
    ran, _ = project.run(OTHER="secret")
    assert result_of(ran) == ["bright = warm", None], ran


def test_container_that_times_out_is_removed(project):
    project.bind("wait", "timeout_ms: 3000")
    ran, trace = project.run()
    assert ran.status == 1, ran
    assert "3000 ms" in ran.err
    assert trace[-1]["status"] == "error"
    project.are_gone()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ended_host_leaves_no_container(project, number):
    process = project.start_waiting()
    assert project.runtime.names()
    process.send_signal(number)
    process.communicate(timeout=DEADLINE)
    # The next host removes the container that a killed host has left.
    project.bind("greet")
    ran, _ = project.run({"name": "Ada"})
    assert ran.status == 0, ran
    project.are_gone()


def test_containers_of_a_running_host_are_kept(project):
    process = project.start_waiting()
    names = project.runtime.names()
    project.bind("greet")
    ran, _ = project.run({"name": "Ada"})
    assert ran.status == 0, ran
    assert project.runtime.names() == names
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=DEADLINE)


# covers: 001-trace-container-enforcement
def test_runtime_enforces_no_network_and_no_write(project):
    project.guarantee("no_network")
    project.bind("interfaces", "enforcement: verified")
    ran, trace = project.run()
    assert result_of(ran) == ["lo"], ran
    assert trace[-1]["container_enforcement"] == "verified"
    assert len(trace) == 1
    project.guarantee("no_filesystem_write")
    project.bind("write", "enforcement: declared")
    ran, _ = project.run()
    assert ran.status == 1 and "Read-only file system" in ran.err, ran


def test_without_enforcement_nothing_starts(project):
    project.guarantee("no_network")
    project.bind("greet")
    ran, trace = project.run({"name": "Ada"})
    assert ran.status == 1, ran
    assert "enforcement" in ran.err
    assert trace[0]["reason"] == "coverage_missing" and not trace[0]["allowed"]
    project.guarantee("no_subprocess")
    project.bind("greet", "enforcement: verified")
    ran, trace = project.run({"name": "Ada"})
    assert ran.status == 1 and "no_subprocess" in ran.err, ran


def test_container_without_a_reply_is_reported_with_its_status(project):
    project.bind("leave")
    ran, _ = project.run()
    assert ran.status == 1
    assert "exited with status 3 and did not reply" in ran.err, ran


def test_missing_image_is_reported_with_the_runtime_message(project):
    project.bind("greet", image="localhost/narratoria-none")
    ran, trace = project.run()
    assert ran.status == 1
    assert "could not start" in ran.err and "narratoria-none" in ran.err, ran
    assert trace[-1]["status"] == "error"


def test_missing_container_runtime_is_reported(project):
    project.bind("greet")
    ran, _ = project.run(NARRATORIA_CONTAINER_RUNTIME="/nonexistent/docker")
    assert ran.status == 1
    assert "NARRATORIA_CONTAINER_RUNTIME=/nonexistent/docker is not a program" in ran.err, ran
