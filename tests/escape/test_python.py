# SPDX-License-Identifier: Apache-2.0
"""Forbidden acts from Python, also by ctypes, which bypasses every check in the interpreter."""

import sys

import pytest

from escape import listed, run

ACTS = {
    "io_open": ("no_filesystem_write", "import io; io.open(new, 'w').close()"),
    "mkdir": ("no_filesystem_write", "import os; os.mkdir(new)"),
    "pathlib": ("no_filesystem_write", "import pathlib; pathlib.Path(file).write_text('x')"),
    "sqlite": ("no_filesystem_write", "import sqlite3; sqlite3.connect(new).execute('create table a(b)')"),
    "ctypes_open": ("no_filesystem_write", "check(libc.open(new.encode(), 0o101, 0o600))"),
    "ctypes_chmod": ("no_filesystem_write", "check(libc.chmod(file.encode(), 0o777))"),
    "read": ("no_filesystem_read", "open(file).read()"),
    "listdir": ("no_filesystem_read", "import os; os.listdir('/')"),
    "ctypes_read": ("no_filesystem_read", "check(libc.open(file.encode(), 0))"),
    "socket": ("no_network", "import socket; socket.socket()"),
    "ctypes_socket": ("no_network", "check(libc.socket(1, 1, 0))"),
    "getaddrinfo": ("no_network", "import socket; socket.create_connection(('127.0.0.1', 9), 1)"),
    "subprocess": ("no_subprocess", "import subprocess; subprocess.run(['/bin/true'], check=True)"),
    "fork": ("no_subprocess", "import os; os.fork() or os._exit(0)"),
    "multiprocessing": ("no_subprocess", "import multiprocessing; p = multiprocessing.Process(); p.start(); p.join()"),
    "ctypes_system": ("no_subprocess", "check(-(libc.system(b'true') != 0))"),
    "exec": ("no_subprocess", "import os; os.execv('/bin/true', ['true'])"),
}

GUARANTEES = sorted({guarantee for guarantee, _ in ACTS.values()})

TOOL = """#!{python} -B
import ctypes, json, sys
request = json.load(sys.stdin)
place, act = request["input"]["place"], request["input"]["act"]
file, new = f"{{place}}/read_file.file", f"{{place}}/python-{{act}}"
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno() or 1, "refused")
try:
    exec({acts!r}[act][1])
    how = "succeeded"
except ConnectionRefusedError:
    how = "succeeded"
except Exception as error:
    how = f"refused: {{type(error).__name__}} {{error}}"
print(json.dumps({{"version": "0", "type": "done", "ok": True, "result": how}}))
"""


@pytest.fixture(scope="module")
def how(places, tmp_path_factory):
    folder = tmp_path_factory.mktemp("python")
    tool = folder / "tool.py"
    tool.write_text(TOOL.format(python=sys.executable, acts=ACTS))
    tool.chmod(0o755)
    told = {}
    for guarantees in ("", "all", *GUARANTEES):
        acts = [act for act, (guarantee, _) in ACTS.items() if guarantees in ("", "all", guarantee)]
        told[guarantees] = run(places(f"python-{guarantees}"), guarantees, acts, tool=tool)[0]
    return told


@pytest.mark.parametrize("guarantees", [*GUARANTEES, "all"])
def test_python_is_refused(how, guarantees):
    acts = [act for act, (guarantee, _) in ACTS.items() if guarantees in ("all", guarantee)]
    wrong = {act: how[guarantees][act] for act in acts
             if not how[guarantees][act].startswith("refused: ")}
    assert not wrong, listed(wrong)


def test_python_acts_succeed_without_guarantees(how):
    wrong = {act: how[""][act] for act in sorted({*ACTS} - {"exec", "fork"})
             if how[""][act] != "succeeded"}
    assert not wrong, listed(wrong)
