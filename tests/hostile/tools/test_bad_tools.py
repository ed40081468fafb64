# SPDX-License-Identifier: Apache-2.0
"""Each bad tool misbehaves as its head comment says, also without the runtime.

A test of the runtime proves nothing if its tool does not misbehave. To run these tests alone:
    python3 -m pytest tests/hostile/tools
"""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCES = sorted(HERE.glob("*.c"))
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
COMPILERS = [name for name in ("gcc", "clang-14", "clang") if shutil.which(name)]


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    """The folder of the built tools: that of NARRATORIA_BUILD_DIR, or a temporary one."""
    build = os.environ.get("NARRATORIA_BUILD_DIR")
    built = Path(build) / "tests" / "hostile" if build else None
    if built and all((built / source.stem).exists() for source in SOURCES):
        return built
    folder = tmp_path_factory.mktemp("bad-tools")
    for source in SOURCES:
        subprocess.run([COMPILERS[0], *STRICT, "-O1", source, "-o", folder / source.stem], check=True)
    return folder


class Witnesses:
    """The socket to which the tools of a test connect."""

    def __init__(self):
        self.name = f"@narratoria-bad-tools-{os.getpid()}-{id(self)}"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind("\0" + self.name[1:])
        self.listener.listen(512)
        self.listener.settimeout(20)

    def accept(self):
        """Accepts the next connection; returns (role, pid, connection)."""
        connection, _ = self.listener.accept()
        connection.settimeout(20)
        hello = b""
        while not hello.endswith(b"\n"):
            hello += connection.recv(1)
        role, pid = hello.decode().split()
        return role, int(pid), connection


@pytest.fixture
def witnesses():
    made = Witnesses()
    yield made
    made.listener.close()


def lives(connection):
    connection.sendall(b".")
    return connection.recv(1) == b"."


def is_gone(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def start(path, parameters=None, **options):
    process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, **options)
    invocation = {"requestId": "r", "tool": "t", "operation": "run",
                  "input": parameters or {}, "dependencies": {}, "results": {}}
    try:
        process.stdin.write(json.dumps(invocation).encode())
        process.stdin.close()
    except BrokenPipeError:
        pass
    process.stdin = None
    return process


def finish(process):
    output, diagnostics = process.communicate(timeout=50)
    return process.returncode, output, diagnostics


def run(path, parameters=None, **options):
    return finish(start(path, parameters, **options))


def events(output):
    return [json.loads(line) for line in output.splitlines()]


def limited(number, most):
    return lambda: resource.setrlimit(number, (most, most))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_tools_compile_without_warnings(compiler):
    checked = subprocess.run([compiler, *STRICT, "-fsyntax-only", *SOURCES],
                             capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_every_tool_is_exercised_here():
    text = Path(__file__).read_text()
    assert [source.stem for source in SOURCES if f'"{source.stem}"' not in text] == []


def test_split_writer_output_does_not_depend_on_the_splits(tools):
    tool = tools / "split_writer"
    _, whole, _ = run(tool, {"chunk": 0})
    assert [event["type"] for event in events(whole)] == ["log"] * 4 + ["state_patch", "done"]
    for parameters in ({}, {"chunk": 7}):
        assert run(tool, parameters) == (0, whole, b"")
    assert run(tool, {"newline": False})[1] == whole[:-1]
    assert run(tool, {"crlf": True})[1] == whole.replace(b"\n", b"\r\n")


def test_long_line_has_the_requested_size(tools):
    for size in (100, 65536, 8388609):
        _, output, _ = run(tools / "long_line", {"size": size})
        assert len(output.split(b"\n")[0]) == size
        assert [event["type"] for event in events(output)] == ["log", "done"]
    assert len(run(tools / "long_line", {"size": 1000000, "newline": False})[1]) == 1000000
    assert run(tools / "long_line", {"size": 3})[0] == 98


def test_deep_line_has_the_requested_depth(tools):
    for kind, bracket in (("object", b"{"), ("array", b"[")):
        line = run(tools / "deep_line", {"levels": 10000, "kind": kind})[1].split(b"\n")[0]
        assert line.count(b"{") + line.count(b"[") == 10000
        assert line.count(bracket) >= 9998
        assert line.count(b"}") + line.count(b"]") == 10000
    assert b"}" not in run(tools / "deep_line", {"closed": False})[1].split(b"\n")[0]


def test_bad_line_writes_the_bytes(tools):
    _, output, _ = run(tools / "bad_line", {"hex": "efbbBF7b00ff", "before": 2})
    lines = output.split(b"\n")
    assert lines[2] == b"\xef\xbb\xbf{\0\xff"
    assert json.loads(lines[0])["type"] == "log"
    assert json.loads(lines[3]) == {"version": "0", "type": "done", "ok": True}
    assert run(tools / "bad_line", {"hex": "7b", "newline": False, "done": False})[1] == b"{"
    assert run(tools / "bad_line", {"hex": "7"})[0] == 98
    assert run(tools / "bad_line", {"hex": "zz"})[0] == 98


def test_after_done(tools, witnesses):
    status, output, _ = run(tools / "after_done")
    types = [json.loads(line)["type"] for line in output.splitlines()[:-1]]
    assert status == 0
    assert types == ["state_patch", "done"] + ["state_patch"] * 3 + ["log", "done"]
    process = start(tools / "after_done", {"split": True, "socket": witnesses.name})
    _, _, connection = witnesses.accept()
    assert os.read(process.stdout.fileno(), 65536).count(b"\n") == 2
    assert lives(connection)
    assert finish(process)[1].count(b"\n") == 6


@pytest.mark.parametrize("stubborn", [False, True])
def test_lingers_after_done(tools, witnesses, stubborn):
    process = start(tools / "lingers_after_done",
                    {"socket": witnesses.name, "stubborn": stubborn})
    _, pid, connection = witnesses.accept()
    assert pid == process.pid and lives(connection)
    process.terminate()
    if stubborn:
        assert lives(connection)
        process.kill()
    assert is_gone(connection)
    assert events(finish(process)[1])[-1]["ok"] is True


def test_closes_stdout(tools, witnesses):
    process = start(tools / "closes_stdout", {"socket": witnesses.name, "status": 4})
    _, _, connection = witnesses.accept()
    output = b""
    while part := os.read(process.stdout.fileno(), 65536):
        output += part
    assert [event["type"] for event in events(output)] == ["log", "done"]
    assert lives(connection)
    assert finish(process)[0] == 4


def test_exits(tools):
    status, output, _ = run(tools / "exits_without_done")
    assert (status, len(events(output))) == (0, 2)
    assert run(tools / "exits_without_done", {"silent": True, "status": 7}) == (7, b"", b"")
    status, output, _ = run(tools / "exits_after_done")
    assert (status, events(output)[-1]["ok"]) == (3, True)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_dies_mid_line(tools, number):
    status, output, _ = run(tools / "dies_mid_line", {"signal": number})
    assert status == -number and not output.endswith(b"\n")
    assert events(run(tools / "dies_mid_line", {"done": True})[1])[-1]["type"] == "done"


def test_never_reads_stdin(tools, witnesses):
    environment = {**os.environ, "BAD_SOCKET": witnesses.name}
    process = subprocess.Popen([tools / "never_reads_stdin"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=environment)
    _, _, connection = witnesses.accept()
    output = b""
    while len(output) < 1024 * 1024:
        output += os.read(process.stdout.fileno(), 65536)
    os.set_blocking(process.stdin.fileno(), False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(process.stdin.fileno(), b" " * 65536)
    assert lives(connection)
    assert events(output + process.stdout.read())[-1]["type"] == "done"
    process.stdin.close()
    assert process.wait(20) == 0


def test_closes_stdin(tools):
    process = subprocess.Popen([tools / "closes_stdin"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert events(process.stdout.read())[-1]["ok"] is True
    with pytest.raises(BrokenPipeError):
        os.write(process.stdin.fileno(), b"{}")
    assert process.wait(20) == 0


def test_floods_stderr(tools):
    status, output, diagnostics = run(tools / "floods_stderr", {"size": 100000})
    assert (status, events(output)[-1]["ok"]) == (0, True)
    assert diagnostics.startswith(b"diagnostics line 00000000000000\n")
    assert diagnostics.endswith(b"the last line of standard error\n")
    assert len(run(tools / "floods_stderr")[2]) > 10485760


def test_ignores_sigterm(tools, witnesses):
    process = start(tools / "ignores_sigterm", {"socket": witnesses.name})
    _, _, connection = witnesses.accept()
    process.terminate()
    assert connection.recv(1) == b"T" and lives(connection)
    process.kill()
    assert is_gone(connection)
    finish(process)
    process = start(tools / "ignores_sigterm", {"socket": witnesses.name, "on_term": "done"})
    _, _, connection = witnesses.accept()
    process.terminate()
    assert connection.recv(1) == b"T" and is_gone(connection)
    status, output, _ = finish(process)
    assert (status, events(output)[-1]["ok"]) == (0, False)


def test_stops_itself(tools, witnesses):
    process = start(tools / "stops_itself", {"socket": witnesses.name})
    _, pid, connection = witnesses.accept()
    _, status = os.waitpid(pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    assert lives(connection)
    process.kill()
    finish(process)


def test_traces(tools):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as traced:
        process = subprocess.Popen([tools / "traces", str(traced.pid)])
        while "(tracing stop)" not in Path(f"/proc/{traced.pid}/status").read_text():
            if process.poll() is not None:
                pytest.skip("this machine does not permit tracing")
        process.kill()
        process.wait(20)
        assert traced.communicate(b"it goes on", timeout=20)[0] == b"it goes on"
    assert subprocess.run([tools / "traces", "1"], check=False).returncode == 1


def test_leaves_child(tools, witnesses):
    process = start(tools / "leaves_child", {"socket": witnesses.name, "stubborn": True})
    connections = {}
    for _ in range(2):
        role, pid, connection = witnesses.accept()
        connections[role] = (pid, connection)
    assert process.wait(20) == 0
    assert is_gone(connections["tool"][1])
    pid, connection = connections["child"]
    os.kill(pid, signal.SIGTERM)
    connection.sendall(b"w")
    assert connection.recv(1) == b"w"
    os.kill(pid, signal.SIGKILL)
    assert is_gone(connection)
    assert events(process.stdout.read())[-1]["message"] == "child was told to write"
    finish(process)


def test_gives_stdout_away(tools, witnesses):
    process = start(tools / "gives_stdout_away", {"socket": witnesses.name})
    _, _, connection = witnesses.accept()
    _, given, _, _ = socket.recv_fds(connection, 1, 2)
    connection.sendall(b"d")
    assert process.wait(20) == 0
    os.write(given[0], b"another process wrote this")
    for descriptor in given:
        os.close(descriptor)
    assert process.stdout.read().endswith(b"another process wrote this")
    finish(process)


def test_fork_chain(tools):
    # The last process of the chain holds standard output open until it exits.
    status, output, _ = run(tools / "fork_chain", {"generations": 20, "own_session": True})
    assert status == 0
    assert [event["type"] for event in events(output)] == ["log", "done"]


def test_hides_behind_thread(tools, witnesses):
    process = start(tools / "hides_behind_thread", {"socket": witnesses.name})
    connections = {}
    for _ in range(2):
        role, pid, connection = witnesses.accept()
        connections[role] = (pid, connection)
    assert process.wait(20) == 0
    pid, connection = connections["hidden"]
    os.kill(pid, signal.SIGKILL)
    assert is_gone(connection)
    assert events(process.stdout.read())[-1]["type"] == "done"
    finish(process)


def test_daemonizes(tools, witnesses):
    process = start(tools / "daemonizes", {"socket": witnesses.name})
    connections = {}
    for _ in range(2):
        role, pid, connection = witnesses.accept()
        connections[role] = (pid, connection)
    assert finish(process)[0] == 0
    pid, connection = connections["daemon"]
    assert lives(connection)
    assert os.getsid(pid) != os.getsid(0) and os.readlink(f"/proc/{pid}/cwd") == "/"
    connection.sendall(b"x")
    assert connection.recv(1) == b"x" and is_gone(connection)


def test_many_children(tools, witnesses):
    process = start(tools / "many_children", {"socket": witnesses.name, "stay": True})
    connections = [witnesses.accept() for _ in range(201)]
    assert sorted({role for role, _, _ in connections}) == ["child", "tool"]
    assert all(lives(connection) for _, _, connection in connections)
    for _, _, connection in connections:
        connection.sendall(b"x")
    assert all(connection.recv(1) == b"x" for _, _, connection in connections)
    assert events(finish(process)[1])[0]["fields"] == {"started": 200, "error": ""}


def test_opens_files(tools):
    _, output, _ = run(tools / "opens_files",
                       preexec_fn=limited(resource.RLIMIT_NOFILE, 64))
    log, error, done = events(output)
    assert log["fields"]["error"] == "EMFILE" and 50 < log["fields"]["opened"] < 64
    assert (error["errorCode"], done["ok"]) == ("TOO_MANY_FILES", False)
    assert events(run(tools / "opens_files", {"count": 10})[1])[-1]["ok"] is True


def test_allocates(tools):
    _, output, _ = run(tools / "allocates",
                       preexec_fn=limited(resource.RLIMIT_AS, 64 * 1048576))
    assert [event["type"] for event in events(output)] == ["log", "log", "error", "done"]
    assert events(run(tools / "allocates", {"most": 1048576})[1])[-1]["ok"] is True


def test_computes(tools):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (1, 5))
    assert run(tools / "computes", preexec_fn=limit)[0] == -signal.SIGXCPU
    assert run(tools / "computes", {"seconds": 1})[0] == 0


def test_writes_file(tools, tmp_path):
    limit = limited(resource.RLIMIT_FSIZE, 1000000)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    assert run(tools / "writes_file", preexec_fn=limit, env=environment)[0] == -signal.SIGXFSZ
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "file"
    _, output, _ = run(tools / "writes_file", {"path": str(file), "stubborn": True},
                       preexec_fn=limit)
    assert events(output)[1]["fields"] == {"written": 1000000, "error": "EFBIG"}
    assert file.stat().st_size == 1000000


def test_million_logs(tools):
    _, output, _ = run(tools / "million_logs")
    lines = output.splitlines()
    assert len(lines) == 1000001
    assert json.loads(lines[999999])["fields"] == {"n": 1000000}
    assert len(events(run(tools / "million_logs", {"count": 5, "batch": False})[1])) == 6


def test_one_then_silence(tools, witnesses):
    process = start(tools / "one_then_silence", {"socket": witnesses.name})
    _, _, connection = witnesses.accept()
    assert len(events(os.read(process.stdout.fileno(), 65536))) == 1
    assert lives(connection)
    connection.sendall(b"wd")
    assert connection.recv(2) in (b"w", b"wd")
    status, output, _ = finish(process)
    assert (status, [event["type"] for event in events(output)]) == (0, ["log", "done"])


def test_tools_exit_when_the_test_disconnects(tools, witnesses):
    process = start(tools / "one_then_silence", {"socket": witnesses.name})
    _, _, connection = witnesses.accept()
    connection.close()
    assert process.wait(20) == 97
    finish(process)


def test_patcher(tools, witnesses, tmp_path):
    patch = {"a": {"b": [1, "}\""]}}
    process = start(tools / "patcher", {"patch": patch, "socket": witnesses.name})
    _, _, connection = witnesses.accept()
    connection.sendall(b"p")
    assert connection.recv(1) == b"p"
    assert events(os.read(process.stdout.fileno(), 65536))[0]["patch"] == patch
    connection.sendall(b"d")
    assert finish(process)[0] == 0
    assert events(run(tools / "patcher")[1])[0]["patch"] == {"shared": {"writer": "patcher"}}


def test_flaky(tools, tmp_path):
    for how, status in (("done", 0), ("exit", 1), ("signal", -9), ("line", 0), ("missing", 0)):
        parameters = {"counter": str(tmp_path / how), "failures": 2, "how": how}
        assert [run(tools / "flaky", parameters)[0] for _ in range(2)] == [status, status]
        assert events(run(tools / "flaky", parameters)[1])[-1]["ok"] is True


def test_reporter(tools, tmp_path):
    reading, writing = os.pipe()
    environment = {"NAME": "va\"l\n", "ODD": "\udcff"}
    _, output, _ = run(tools / "reporter", {"key": "value"}, env=environment, cwd=tmp_path,
                       pass_fds=[writing], start_new_session=True,
                       preexec_fn=limited(resource.RLIMIT_NOFILE, 100))
    os.close(reading)
    os.close(writing)
    fields = events(output)[0]["fields"]
    assert fields["environment"] == {"NAME": "va\"l\n", "ODD": "\u00ff"}
    assert fields["arguments"] == [str(tools / "reporter")]
    assert [entry["number"] for entry in fields["descriptors"]] == [0, 1, 2, writing]
    assert fields["folder"] == str(tmp_path)
    assert fields["pid"] == fields["group"] == fields["session"]
    assert fields["limits"]["files"] == 100
    assert len(fields["blocked"]) == len(fields["ignored"]) == 16
    assert fields["invocation"]["input"] == {"key": "value"}


@pytest.mark.parametrize("name, reason", [("broken-shebang", FileNotFoundError),
                                          ("no-shebang", OSError),
                                          ("not-executable", PermissionError)])
def test_files_that_cannot_be_started(name, reason):
    with pytest.raises(reason):
        subprocess.run([HERE / name], check=False)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
