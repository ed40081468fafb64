# SPDX-License-Identifier: Apache-2.0
"""narratoria doctor: what this machine can enforce."""

import ctypes.util
import json
import os
import subprocess

import pytest

from harness import BUILD, NARRATORIA, environment

GUARANTEES = ["no_filesystem_write", "no_filesystem_read", "no_network", "no_subprocess",
              "no_env_read", "no_env_write", "secrets_allowed"]
OPTIONAL = ["cgroups", "curl", "getent", "python3", "docker", "podman"]
NAMES = ["programs", *GUARANTEES, "temporary_folder", *OPTIONAL]
PYTHON = "/usr/bin/python3"


def doctor(*arguments, before=(), **env):
    return subprocess.run([*before, NARRATORIA, "doctor", *arguments], capture_output=True, text=True,
                          env=environment(**env), timeout=300, stdin=subprocess.DEVNULL)


def checks(*arguments, **options):
    """The report's checks by name, and the exit status."""
    ended = doctor("--json", *arguments, **options)
    return {check["name"]: check for check in json.loads(ended.stdout)["checks"]}, ended.returncode


def test_doctor_lists_every_guarantee_with_its_mechanism():
    ended = doctor("--json", NARRATORIA_CONTAINER_RUNTIME="")
    report = json.loads(ended.stdout)
    assert [check["name"] for check in report["checks"]] == NAMES
    assert ended.returncode == (0 if report["ok"] else 1)
    for check in report["checks"]:
        assert check["ok"] == ("mechanism" in check) and check["ok"] == ("problem" not in check)
        assert check["optional"] == (check["name"] in OPTIONAL)


def test_text_output_lists_the_same_checks():
    ended = doctor(NARRATORIA_CONTAINER_RUNTIME="")
    assert [line.split()[1] for line in ended.stdout.splitlines()] == NAMES
    assert ended.stderr == ""


def test_doctor_reports_missing_landlock():
    ended = doctor(before=[BUILD / "tests" / "escape" / "escape_masked"])
    assert ended.returncode == 1
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("ok   programs")
    for name, line in zip(GUARANTEES, lines[1:]):
        assert line.startswith(f"NO   {name}")
        assert "the kernel has no Landlock; it needs Linux 5.13" in line


def test_empty_sandbox_list_is_refused(command):
    command("run", command.plan(command.tool("nothing")), "--sandbox", "").exits(2, "--sandbox")


def test_doctor_checks_the_temporary_folder(tmp_path):
    found, _ = checks(TMPDIR=str(tmp_path))
    assert found["temporary_folder"]["ok"] and str(tmp_path) in found["temporary_folder"]["mechanism"]
    found, status = checks(TMPDIR=str(tmp_path / "none"))
    assert status == 1 and "set TMPDIR" in found["temporary_folder"]["problem"]
    assert list(tmp_path.iterdir()) == []


def test_doctor_finds_libcurl():
    if ctypes.util.find_library("curl") is None and ctypes.util.find_library("curl-gnutls") is None:
        pytest.skip("libcurl is not here: apt-get install libcurl4")
    found, _ = checks()
    assert found["curl"]["ok"] and "libcurl" in found["curl"]["version"], found["curl"]


def program(folder, name, text):
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_optional_programs_may_be_missing(tmp_path):
    program(tmp_path, "sh", 'exec /bin/sh "$@"')
    found, status = checks(PATH=str(tmp_path))
    for name in ("getent", "python3", "docker", "podman"):
        assert not found[name]["ok"] and "not in PATH" in found[name]["problem"]
    assert status == (0 if all(check["ok"] or check["optional"] for check in found.values()) else 1)


def test_doctor_reports_container_runtime_version_and_rights(tmp_path):
    client = """case $1 in
version) echo 7.8.9 ;;
info) echo "$ANSWER" ;;
esac
"""
    program(tmp_path, "podman", client)
    broken = program(tmp_path, "mine", "echo 'no daemon answers' >&2; exit 1")
    found, _ = checks(PATH=f"{tmp_path}:/usr/bin:/bin", ANSWER="rootless=true crun",
                      NARRATORIA_CONTAINER_RUNTIME=str(broken))
    assert found["podman"]["version"] == "7.8.9"
    assert found["podman"]["mechanism"] == f"{tmp_path}/podman, rootless, crun"
    assert "no daemon answers" in found["NARRATORIA_CONTAINER_RUNTIME"]["problem"]
    found, _ = checks(PATH=f"{tmp_path}:/usr/bin:/bin", ANSWER="rootless=false runc")
    assert found["podman"]["mechanism"] == f"{tmp_path}/podman, as root, runc"


def test_crashing_container_runtime_is_not_ok(tmp_path):
    for number in ("SEGV", "TERM"):
        program(tmp_path, "podman", f"kill -{number} $$")
        found, _ = checks(PATH=f"{tmp_path}:/usr/bin:/bin")
        assert not found["podman"]["ok"] and "killed by signal" in found["podman"]["problem"], found["podman"]


@pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason=f"needs {PYTHON}")
def test_doctor_runs_python3_and_detects_wrapper_scripts(tmp_path):
    program(tmp_path, "python3", f'exec {PYTHON} "$@"')
    found, _ = checks(PATH=f"{tmp_path}:/usr/bin:/bin")
    assert found["python3"]["version"].startswith("3.") and "a script" in found["python3"]["mechanism"]
    program(tmp_path, "python3", "echo 'it is broken' >&2; exit 1")
    found, _ = checks(PATH=f"{tmp_path}:/usr/bin:/bin")
    assert "it is broken" in found["python3"]["problem"]
