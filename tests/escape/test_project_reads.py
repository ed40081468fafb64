# SPDX-License-Identifier: Apache-2.0
"""A Python tool of a project under no_filesystem_read can read only its own code of the project."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from escape import DEADLINE, NARRATORIA

# A python3 that is a program. The python3 of pyenv is a script, which needs a subprocess.
PATH = f"{Path(sys.executable).resolve().parent}:{os.environ['PATH']}"
# Calls libc directly, which bypasses the checks of the runner in Python.
TOOL = """import ctypes, os
from {package}{helper} import VALUE
libc = ctypes.CDLL(None)
def peek(payload):
    return {{"value": VALUE, "read": [name for name in payload["files"]
                                     if libc.open(name.encode(), os.O_RDONLY) >= 0]}}
"""
OTHERS = {".namel3ss/tools.yaml", ".namel3ss/trust/policy.toml", "namel3ss.toml", ".env", "story.toml",
          "saves/one.json", ".namel3ss/packs/other/data.txt", "others/data.txt", "other.py", "."}


@pytest.fixture
def project(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    for name in OTHERS - {"."}:
        write(name, "" if name.endswith((".toml", ".json")) else "VALUE = 1\n")
    write("tools/__init__.py", "")
    write("tools/helper.py", "VALUE = 'package'\n")
    write("tools/data.txt", "kept")
    write("tools/peek.py", TOOL.format(package="tools.", helper="helper"))
    write("alone.py", TOOL.replace("from {package}{helper} import VALUE", "VALUE = 'alone'").format())
    write("strays.py", "import other\n" + TOOL.format(package="", helper="other"))
    bound = "".join(f'  {name}:\n    entry: "{entry}:peek"\n    purity: "pure"\n    sandbox: true\n'
                    for name, entry in (("package", "tools.peek"), ("alone", "alone"), ("strays", "strays")))
    write(".namel3ss/tools.yaml", "tools:\n" + bound)
    for pack in ("one", "other"):
        place = f".namel3ss/packs/{pack}"
        write(f"{place}/src/{pack}/peek.py", TOOL.format(package=f"{pack}.", helper="helper"))
        write(f"{place}/src/{pack}/helper.py", "VALUE = 'pack'\n")
        write(f"{place}/data.txt", "kept")
        write(f"{place}/pack.yaml", f'id: "pack.{pack}"\nname: "A pack"\nversion: "0.2.0"\n'
              f'description: "It peeks."\nauthor: "x"\nlicense: "MIT"\ntools:\n  - "{pack}"\n')
        write(f"{place}/tools.yaml",
              f'tools:\n  {pack}:\n    entry: "{pack}.peek:peek"\n    purity: "pure"\n')

    def run(tool, files, *more):
        ran = subprocess.run([NARRATORIA, "tool", "run", tool, "--project", tmp_path, "--input",
                              json.dumps({"files": [str(tmp_path / name) for name in files]}), *more],
                             capture_output=True, text=True, timeout=DEADLINE,
                             env={**os.environ, "PATH": PATH})
        return ran, [json.loads(line) for line in ran.stdout.splitlines()]

    return run


@pytest.mark.parametrize("tool,own,value", [
    ("package", "tools/data.txt", "package"), ("alone", "alone.py", "alone"),
    ("one", ".namel3ss/packs/one/data.txt", "pack")])
def test_tool_reads_only_its_own_code_of_the_project(project, tool, own, value):
    ran, lines = project(tool, [own, *sorted(OTHERS)])
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    result = lines[-1]["result"]
    assert result["value"] == value
    assert [name.endswith(own) for name in result["read"]] == [True], result


def test_refused_module_of_the_project_is_named(project):
    ran, _ = project("strays", [])
    assert ran.returncode == 1
    assert 'Tool "strays" cannot read from the filesystem. It tried to use' in ran.stderr
    assert "other.py" in ran.stderr


def test_exit_after_a_kernel_refusal_names_the_guarantee(project, tmp_path):
    (tmp_path / "alone.py").write_text("import ctypes, os\ndef peek(payload):\n"
                                       "    ctypes.CDLL(None).socket(2, 1, 0)\n    os._exit(3)\n")
    trace = tmp_path / "trace"
    ran, _ = project("alone", [], "--trace", trace)
    assert ran.returncode == 1
    assert "GUARANTEE_BLOCKED" in ran.stderr and 'Tool "alone" cannot use the network.' in ran.stderr
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert lines[-2]["capability"] == "network" and lines[-2]["allowed"] is False
    assert (lines[-1]["decision"], lines[-1]["result"]) == ("allowed", "error")
