# SPDX-License-Identifier: Apache-2.0
"""Output files of the commands.

No output replaces an input or a file of a project. A trace has every call, however the command ends.
"""

import json
import os
import signal
import time

import pytest

from harness import DEADLINE, done, environment

TOOLS = '''
def greet(payload):
    return {"message": "Hello " + payload.get("name", "you")}

def waits(payload):
    import time
    open("waiting", "w").close()
    time.sleep(600)
'''
BINDINGS = "tools:\n  greet:\n    entry: tools.sample:greet\n  waits:\n    entry: tools.sample:waits\n"


class Project:
    def __init__(self, command):
        self.command = command
        self.folder = command.folder / "project"
        for name, text in {".namel3ss/tools.yaml": BINDINGS, "tools/sample.py": TOOLS, "data.json": '{"a": 1}',
                           "packs/capability/README": "packs", "notes": "mine"}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def content(self):
        return {str(path.relative_to(self.folder)): path.read_bytes()
                for path in self.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}

    def commands(self, target):
        """Each command with each option that writes to `target`."""
        plan = self.command.file("plan.json", {"requestId": "p", "tools": [
            {"toolId": "one", "toolPath": "greet", "input": {}}]})
        script = self.command.file("flow.nuwa", "PRINT(CALL greet { name: \"Ada\" })")
        yield ["tool", "run", "greet", "--project", self.folder, "--trace", target]
        yield ["script", script, "--project", self.folder, "--trace", target]
        for option in ("--result", "--events", "--trace"):
            yield ["run", plan, "--project", self.folder, option, target]

    def trace(self, name="trace.ndjson"):
        return [json.loads(line) for line in (self.command.folder / name).read_text().splitlines()]


@pytest.fixture
def project(command):
    return Project(command)


@pytest.mark.parametrize("name", [
    ".namel3ss/tools.yaml", ".namel3ss/new.yaml", "namel3ss.toml", "tools/sample.py", "tools/new.py", "data.json",
    "notes", "packs/capability/README", "requirements.txt"])
def test_no_output_replaces_a_file_of_the_project(command, project, name):
    before = project.content()
    for arguments in project.commands(project.folder / name):
        ran = command(*arguments)
        assert ran.status == 2, (arguments, ran)
        assert "would overwrite" in ran.err or "are the same file" in ran.err, ran
        assert project.content() == before, arguments


def test_no_output_replaces_a_file_of_a_pack_for_all_projects(command, project):
    pack = command.folder / "builtin" / "one" / "pack.yaml"
    pack.parent.mkdir(parents=True)
    pack.write_text("id: one\n")
    for arguments in project.commands(pack):
        ran = command(*arguments, env=environment(NARRATORIA_PACK_PATH=str(command.folder / "builtin")))
        assert ran.status == 2 and "would overwrite" in ran.err, (arguments, ran)
        assert pack.read_text() == "id: one\n"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_no_output_replaces_a_project_file_through_a_link(command, project, link):
    before = project.content()
    link(project.folder / ".namel3ss" / "tools.yaml", command.folder / "link")
    for arguments in project.commands(command.folder / "link"):
        assert command(*arguments).status == 2, arguments
        assert project.content() == before, arguments


def test_output_may_be_created_and_replaced_in_the_project(command, project):
    for number, arguments in enumerate(project.commands(project.folder / "output")):
        (project.folder / "output").unlink(missing_ok=True)
        for _ in range(2):
            ran = command(*arguments)
            assert ran.status == 0, (number, ran)
        assert (project.folder / "output").read_text().startswith("{")


def test_no_trace_replaces_an_input_of_the_command(command, project):
    given = command.file("input.json", "{}")
    script = command.file("flow.nuwa", "PRINT(1)")
    for arguments, names in [
            (["tool", "run", "greet", "--project", project.folder, "--input", "@input.json", "--trace", given],
             "--input and --trace"),
            (["script", "flow.nuwa", "--project", project.folder, "--trace", script], "FILE and --trace"),
            (["script", "flow.nuwa", "--project", project.folder, "--scope", "@input.json", "--trace", given],
             "--scope and --trace")]:
        command(*arguments).exits(2, f"{names} are the same file")
    assert given.read_text() == "{}" and script.read_text() == "PRINT(1)"


@pytest.mark.parametrize("option", ["--state", "--result", "--events", "--trace"])
def test_no_output_replaces_a_tool_of_the_plan(command, option):
    tool = command.tool("light", done())
    before = tool.read_bytes()
    command("run", command.plan("light", name="plan.json"), option, tool).exits(2, "are the same file")
    assert tool.read_bytes() == before


@pytest.mark.parametrize("name", ["/dev/stderr", "/dev/fd/2", "/proc/self/fd/2", "link"])
def test_output_to_a_descriptor_is_appended_to_its_file(command, project, name):
    os.symlink("/dev/stderr", command.folder / "link")
    log = command.file("log", "before\n")
    identity = log.stat().st_ino
    for arguments in project.commands(name):
        log.write_text("before\n")
        with open(log, "ab") as err:
            ran = command(*arguments, stderr=err)
        text = log.read_text()
        assert ran.status == 0 and text.startswith("before\n") and "\n{" in text, (arguments, text, ran)
        assert log.stat().st_ino == identity


@pytest.mark.parametrize("link", [False, True])
def test_state_on_a_descriptor_is_refused(command, link):
    state = command.file("state.json", '{"light": "a long value that is there before"}')
    before = state.read_text()
    with open(state, "r+b") as file:
        name = f"/dev/fd/{file.fileno()}"
        if link:
            os.symlink(name, command.folder / "link")
            name = "link"
        ran = command("run", command.plan(command.tool("light", done())), "--state", name,
                      pass_fds=(file.fileno(),))
    assert ran.status == 2 and "give the file's path" in ran.err, ran
    assert state.read_text() == before


def test_pipe_in_the_project_may_take_an_output(command, project):
    pipe = project.folder / "pipe"
    os.mkfifo(pipe)
    for arguments in project.commands(pipe):
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        ran = command(*arguments)
        text = os.read(reader, 65536)
        os.close(reader)
        assert ran.status == 0 and text.startswith(b"{"), (arguments, text, ran)


def test_output_to_the_file_of_standard_output_is_refused(command, project):
    for arguments in project.commands("/dev/stdout"):
        if "--result" in arguments:  # standard output is its default
            continue
        out = command.file("out", "before\n")
        with open(out, "ab") as file:
            ran = command(*arguments, stdout=file)
        assert ran.status == 2 and "standard output are the same file" in ran.err, (arguments, ran)
        assert out.read_text() == "before\n"


def test_descriptor_that_was_not_inherited_is_refused(command, project):
    for arguments in project.commands("/dev/fd/9"):
        command(*arguments).exits(2, "/dev/fd/9")
    # Descriptors that the command opened for itself are refused, too.
    for number in range(3, 9):
        for arguments in project.commands(f"/dev/fd/{number}"):
            assert command(*arguments).status == 2, arguments


def test_trace_may_go_to_a_pipe_and_to_a_device(command, project):
    arguments = ["tool", "run", "greet", "--project", project.folder, "--trace"]
    assert command(*arguments, "/dev/null").status == 0
    reader, writer = os.pipe()
    ran = command(*arguments, f"/dev/fd/{writer}", pass_fds=(writer,))
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        assert [json.loads(line)["type"] for line in pipe] == ["tool_call"], ran


def interrupted(command, *arguments):
    """Sends SIGINT to a command once its tool waits; returns the exit status."""
    process = command.popen(*arguments)
    limit = time.monotonic() + DEADLINE
    while not (command.folder / "project" / "waiting").exists():
        assert process.poll() is None and time.monotonic() < limit, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=DEADLINE)
    return process.returncode


def test_trace_has_the_call_that_ctrl_c_cancelled(command, project):
    assert interrupted(command, "tool", "run", "waits", "--project", project.folder,
                       "--trace", "trace.ndjson") == 130
    [call] = project.trace()
    assert call["type"] == "tool_call" and call["tool"] == "waits" and call["status"] == "error"
    assert call["error_type"] == "CancelledError" and "cancelled" in call["error_message"]


def test_script_trace_has_every_call_up_to_ctrl_c(command, project):
    command.file("flow.nuwa", 'PRINT(CALL greet { name: "Ada" })\nCALL waits {}\nCALL greet {}')
    assert interrupted(command, "script", "flow.nuwa", "--project", project.folder,
                       "--trace", "trace.ndjson") == 130
    assert [(call["tool"], call["status"]) for call in project.trace()] == [("greet", "ok"), ("waits", "error")]


def test_trace_of_a_script_needs_a_project(command):
    command("script", command.file("flow.nuwa", "PRINT(1)"), "--trace", "trace.ndjson").exits(2, "--project")
    assert not (command.folder / "trace.ndjson").exists()


@pytest.mark.parametrize("option", ["--check", "--ast"])
def test_option_that_only_parses_a_script_refuses_a_trace(command, project, option):
    command("script", command.file("flow.nuwa", "PRINT(1)"), "--project", project.folder,
            "--trace", "trace.ndjson", option).exits(2, f"{option} does not run the script")
    assert not (command.folder / "trace.ndjson").exists()
