# SPDX-License-Identifier: Apache-2.0
"""The variables that a tool gets, the redaction of secrets in its output, and refused programs."""

import json
import os
import stat
import subprocess

import pytest

from escape import DEADLINE, NARRATORIA, run

TOOL = """#!/bin/sh
cat >/dev/null
printf '{"version":"0","type":"log","level":"info","message":"the key is %s"}\\n' "$KEY"
printf 'the key %s on standard error' "$KEY" >&2
printf '{"version":"0","type":"state_patch","patch":{"key":"%s"}}\\n' "$KEY"
printf '{"version":"0","type":"done","ok":true,"result":"%s|%s|%s|%s"}\\n' "$KEY" "$OTHER" "$HOME" "$TMPDIR"
"""


PYTHON = "/usr/bin/python3"
needs_python = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason=f"needs {PYTHON}")


@pytest.fixture
def tool(tmp_path):
    path = tmp_path / "tool"
    path.write_text(TOOL)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def told(places, tool, guarantees):
    place = places("environment")
    return run(place, guarantees, ["read_file"], tool=tool,
               environment={"KEY": "hunter2-secret", "OTHER": "another", "TMPDIR": str(place.folder)})


def test_allowed_secret_is_passed_and_redacted(places, tool):
    how, result = told(places, tool, "secrets_allowed=KEY")
    assert how["read_file"].startswith("***||/home-of-the-host|")
    text = json.dumps(result)
    assert "hunter2" not in text
    assert "the key is ***" in text and "the key *** on standard error" in text


def test_secret_that_is_not_allowed_is_not_passed(places, tool):
    how, _ = told(places, tool, "secrets_allowed=OTHER")
    assert how["read_file"].startswith("|***|")


def test_host_variables_are_not_passed_without_guarantees(places, tool):
    how, _ = told(places, tool, "")
    assert how["read_file"].startswith("||/home-of-the-host|")


@pytest.mark.parametrize("guarantee", ["no_env_read", "secrets_allowed=KEY", "no_network"])
def test_output_folder_variable_is_passed_to_the_tool(places, tmp_path, guarantee):
    place = places("output")
    program = tmp_path / "told"
    program.write_text('#!/bin/sh\nprintf \'{"version":"0","type":"done","ok":true,"result":"%s"}\\n\' '
                       '"$NARRATORIA_OUTPUT_DIR"\n')
    program.chmod(0o755)
    how, _ = run(place, guarantee, ["told"], tool=program)
    assert how["told"].startswith("/"), how


def test_no_env_read_hides_all_variables_of_the_host(places, tool):
    how, _ = told(places, tool, "no_env_read")
    assert how["read_file"] == "|||"


def test_tmpdir_is_the_scratch_folder(places, tool):
    how, _ = told(places, tool, "no_filesystem_write")
    assert "/narratoria-scratch-" in how["read_file"]


def test_relative_tmpdir_is_made_absolute(places, tool):
    how, _ = run(places("relative"), "no_filesystem_write", ["read_file"], tool=tool,
                 environment={"TMPDIR": "."})
    assert how["read_file"].split("|")[-1].startswith("/")


def failing(place, program):
    path = place.folder / "failing"
    path.write_text(program)
    path.chmod(0o755)
    return path


def test_failure_after_a_refused_program_names_the_guarantee(places):
    place = places("wrapper")
    how, _ = run(place, "no_subprocess", ["failing"], tool=failing(place, "#!/bin/sh\nexec /bin/true\n"))
    assert how["failing"].startswith('GUARANTEE_BLOCKED: Tool "failing" cannot spawn subprocesses.')
    assert "exited with status" in how["failing"]


@needs_python
def test_refused_program_by_descriptor_names_the_guarantee(places):
    place = places("wrapper")
    code = "import os\nos.execve(os.open('/bin/true', os.O_RDONLY), ['true'], {})\n"
    how, _ = run(place, "no_subprocess", ["failing"], tool=failing(place, f"#!{PYTHON}\n{code}"))
    assert how["failing"].startswith('GUARANTEE_BLOCKED: Tool "failing" cannot spawn subprocesses.')


@needs_python
def test_failure_after_a_refused_socket_names_the_guarantee(places):
    place = places("wrapper")
    code = "import socket\nsocket.create_connection(('127.0.0.1', 9))\n"
    how, _ = run(place, "no_network", ["failing"], tool=failing(place, f"#!{PYTHON}\n{code}"))
    assert how["failing"].startswith('GUARANTEE_BLOCKED: Tool "failing" cannot use the network.')


def test_ordinary_failure_does_not_mention_guarantees(places):
    place = places("wrapper")
    how, _ = run(place, "all", ["failing"], tool=failing(place, "#!/bin/sh\nexit 3\n"))
    assert how["failing"].startswith("EXIT_STATUS: ") and "cannot" not in how["failing"]


@pytest.mark.parametrize("value", ["done", "2026", "true", "type", "state_patch", "version"])
def test_secret_that_is_a_protocol_word_breaks_no_event(places, value):
    place = places("words")
    tool = failing(place, "#!/bin/sh\n"
                   'printf \'{"version":"0","type":"state_patch","patch":{"said":"a %s"}}\\n\' "$KEY"\n'
                   'printf \'{"version":"0","type":"done","ok":true,"result":"%s"}\\n\' "$KEY"\n')
    how, result = run(place, "secrets_allowed=KEY", ["failing"], tool=tool, environment={"KEY": value})
    assert how["failing"] == "***"
    assert result["toolResults"][0]["output"] == {"said": "a ***"}


def test_secret_that_is_too_short_to_redact_is_reported_once(places, tool):
    place = places("short")
    plan = place.plan(["read_file", "list_folder"], tool)
    ended = subprocess.run([NARRATORIA, "run", plan, "--sandbox", "secrets_allowed=KEY"], text=True,
                           capture_output=True, timeout=DEADLINE, env={**os.environ, "KEY": "abc"})
    assert ended.stderr.count("the value of the secret KEY has fewer than 4 bytes") == 1, ended.stderr
    assert "the key is abc" in ended.stdout


def test_interpreter_found_by_env_runs_under_no_subprocess(places, tmp_path):
    path = tmp_path / "script"
    path.write_text("#!/usr/bin/env sh\n"
                    'printf \'{"version":"0","type":"done","ok":true,"result":"ran"}\\n\'\n')
    path.chmod(0o755)
    how, _ = run(places("env"), "all", ["read_file"], tool=path)
    assert how["read_file"] == "ran"


def test_link_next_to_an_interpreter_grants_no_access(places):
    place = places("link")
    secret = place.folder / "secret"
    secret.write_text("kept")
    programs = place.folder / "code" / "venv" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "lib64").symlink_to(place.folder)
    (programs / "python3").symlink_to(PYTHON)
    tool = place.folder / "code" / "peek"
    tool.write_text(f"#!{programs}/python3\nimport json\ntry:\n    how = open({str(secret)!r}).read()\n"
                    "except OSError:\n    how = 'refused: '\n"
                    "print(json.dumps({'version': '0', 'type': 'done', 'ok': True, 'result': how}))\n")
    tool.chmod(0o755)
    told, _ = run(place, "no_filesystem_read", ["peek"], tool=tool)
    assert told["peek"] == "refused: "
