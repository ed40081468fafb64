# SPDX-License-Identifier: Apache-2.0
"""narratoria serve: the command that serves the page."""

import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time

import pytest

from serving import (BUILD, DEADLINE, NARRATORIA, TORCH, Command, default_signals, done, environment,
                     event, has_page, plan, said, tool_that_waits, sanitizers)

pytestmark = pytest.mark.skipif(not has_page(), reason="built without libmicrohttpd")


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path)


def first_lines(arguments, count, **options):
    """The first lines that serve prints; then it is terminated."""
    process = subprocess.Popen([NARRATORIA, "serve", *arguments], stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0,
                               preexec_fn=default_signals, env=environment(), **options)
    lines = []
    try:
        while len(lines) < count:
            assert select.select([process.stdout], [], [], DEADLINE)[0]
            lines.append(process.stdout.readline().decode())
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)
    return lines


def test_prints_the_address_for_people():
    address, how_to_end = first_lines(["--story", TORCH], 2)
    assert re.fullmatch(r"The story is at http://127\.\d+\.\d+\.\d+:\d+/#token=[0-9a-f]{32}\n", address)
    assert how_to_end == "Ctrl-C ends it.\n"


def test_prints_the_address_as_json():
    [line] = first_lines(["--story", TORCH, "--json"], 1)
    told = json.loads(line)
    assert set(told) == {"url", "port"}
    assert re.match(rf"http://127\.\d+\.\d+\.\d+:{told['port']}/#token=", told["url"])


def test_default_address_is_random(serve):
    hosts = {serve().host for _ in range(3)}
    assert len(hosts) == 3
    assert all(re.fullmatch(r"127\.\d+\.\d+\.\d+", host) for host in hosts)


def test_listens_on_the_given_address(serve):
    assert serve(arguments=("--address", "127.0.0.1")).host == "127.0.0.1"
    assert serve(toml='title = "T"\n[plugins."narratoria.web"]\naddress = "127.4.5.6"\n').host == "127.4.5.6"


def saved(tmp_path, *options):
    return {"story": TORCH, "arguments": ("--store", str(tmp_path / "saves.db"), *options)}


def test_saved_game_continues_even_after_a_kill(serve, tmp_path):
    page = serve(**saved(tmp_path))
    last = page.play("I light the torch")[-1]
    page.end(signal.SIGKILL)
    page = serve(**saved(tmp_path))
    stream = page.stream().begin()
    [turn] = stream.session["turns"]
    assert (turn["id"], turn["prompt"], turn["choices"]) == (1, "I light the torch", last["event"]["choices"])
    assert turn["narrative"].startswith("You reach for the torch")
    page.prompt("I wait")
    assert stream.until_turn_ended()[-1]["event"]["turn"] == 2
    assert [each["id"] for each in page.stream().begin().session["turns"]] == [1], "what the records do not have"


def test_saved_game_keeps_its_pictures_when_it_ends(serve, tmp_path):
    page = serve(**saved(tmp_path))
    page.play("I light the torch")
    page.end()
    page = serve(**saved(tmp_path))
    [turn] = page.stream().begin().session["turns"]
    page.get(f"/api/assets/{turn['assets'][0]['seq']}").has(200)


def test_new_game_is_saved_beside_the_old_one(serve, tmp_path):
    serve(**saved(tmp_path)).play("I light the torch")
    serve(**saved(tmp_path, "--new")).play("I wait")
    listed = Command(tmp_path)("session", "list", "--store", str(tmp_path / "saves.db"), "--json")
    assert {each["id"]: each["turns"] for each in json.loads(listed.out)} == {"torch": 1, "torch-2": 1}


def test_game_without_a_turn_is_not_continued(serve, tmp_path):
    page = serve(**saved(tmp_path))
    page.play("I wait")
    page.end()
    serve(**saved(tmp_path, "--new")).end(signal.SIGKILL)
    assert [turn["id"] for turn in serve(**saved(tmp_path)).stream().begin().session["turns"]] == [1]


def test_game_that_ends_without_a_turn_is_removed(serve, tmp_path):
    serve(**saved(tmp_path)).end()
    assert json.loads(Command(tmp_path)("session", "list", "--store", str(tmp_path / "saves.db"), "--json").out) == []


def test_says_where_the_game_is_saved(tmp_path):
    file = str(tmp_path / "saves.db")
    lines = first_lines(["--story", TORCH, "--store", file], 3)
    assert lines[1] == f"torch, a new game, saved in {file}\n"


def test_game_that_is_being_played_is_refused(serve, tmp_path, command):
    serve(**saved(tmp_path)).play("I wait")
    arguments = saved(tmp_path)["arguments"]
    command("serve", "--story", TORCH, *arguments, "--session", "torch").exits(2, "is already being played")
    assert first_lines(["--story", TORCH, *arguments], 2)[1].startswith(
        "torch is being played elsewhere; torch-2, a new game, saved in ")


def test_on_a_terminal_the_game_is_saved_with_those_of_the_console(command, tmp_path):
    env = environment(XDG_DATA_HOME=str(tmp_path))
    (tmp_path / "narratoria").mkdir()
    command("play", "--story", TORCH, "--store", tmp_path / "narratoria/games.db", "I wait", env=env)
    for options, line in [([], "torch, turn 1, saved in "), (["--new"], "torch-2, a new game, saved in ")]:
        terminal = command.on_terminal("serve", "--story", TORCH, *options, env=env, columns=400)
        terminal.read_until(re.escape(line))
        terminal.end()
    command("session", "go", "0", "--session", "torch", env=env).exits(0)
    terminal = command.on_terminal("serve", "--story", TORCH, "--session", "torch", env=env, columns=400)
    terminal.read_until("torch, the beginning, saved in ")
    terminal.end()
    terminal = command.on_terminal("serve", "--story", TORCH, "--no-store", env=env)
    assert "saved in" not in terminal.read_until("Ctrl-C ends it.")
    terminal.end()


def test_turns_that_are_not_stored_are_counted_at_the_end(serve, tmp_path):
    page = serve(**saved(tmp_path))
    stream = page.stream()
    for number in range(3):
        page.prompt("I wait")
        stream.until_turn_ended()
        if number == 0:
            resource.prlimit(page.process.pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
    page.end(signal.SIGINT)
    assert "the last 2 turns are not stored; the game continues from the turn before" in page.said()


def test_options_of_a_saved_game_that_contradict_are_refused(command):
    command("serve", "--story", TORCH, "--new", "--session", "evening").exits(2, "--new contradicts --session")


def test_default_story_is_in_the_working_folder(command):
    story = command.story({"go": [{"narrative": "Gone."}]})
    assert "The story is at" in first_lines([], 1, cwd=story)[0]


def test_port_option_takes_precedence_over_the_story(serve):
    free = serve()
    port = free.port
    free.end()
    page = serve(arguments=("--port", str(port)),
                 toml='title = "T"\n[plugins."narratoria.web"]\nport = 1\n')
    assert page.port == port
    assert page.get("/nothing").status == 404


def test_port_in_use_is_reported_once(serve, command):
    taken = serve(arguments=("--address", "127.0.0.1")).port
    ran = command("serve", "--story", TORCH, "--port", str(taken), "--address", "127.0.0.1").exits(2, out="")
    assert ran.err.count(f"port {taken}") == 1
    assert "in use by another program; choose a different port" in ran.err


@pytest.mark.parametrize("arguments, said_", [
    (["--story", "missing"], "missing"),
    (["--story", "story/story.toml"], "give the story's folder"),
    ([], "narratoria serve --story FOLDER"),
    (["--story", "story", "--port", "65536"], '--port: invalid value "65536"; give a whole number from 0 to 65535'),
    (["--story", "story", "--port", "x"], "--port"),
    (["--story", "story", "--address", "localhost"], "--address localhost: not a loopback address"),
    (["--story", "story", "--address", "192.168.0.1"], "--address 192.168.0.1: not a loopback address"),
    (["--story", "story", "--address", "0.0.0.0"], "--address 0.0.0.0: not a loopback address"),
    (["--story", "story", "--narrator", "oracle"], 'the narrator "oracle"'),
    (["--story", "story", "--plugin", "./none.so"], "none.so"),
    (["--story", "story", "--cgroup", "."], '"." is not a cgroup2 folder'),
])
def test_invalid_arguments_are_refused_with_advice(command, arguments, said_):
    command.story({"go": [{"narrative": "Gone."}]})
    command("serve", *arguments).exits(2, said_, out="")


@pytest.mark.parametrize("setting", ['port = "x"', "port = -1", "port = 65536", "port = [1]"])
def test_invalid_setting_is_refused_with_an_example(command, setting):
    story = command.story({}, toml=f'title = "T"\n[plugins."narratoria.web"]\n{setting}\n')
    command("serve", "--story", story).exits(2, 'the setting "port" must be a whole number from 0 to 65535')


def test_missing_plugin_is_reported(command, tmp_path):
    for name in ("bin", "lib"):
        (tmp_path / "installed" / name).mkdir(parents=True)
    shutil.copy(NARRATORIA, tmp_path / "installed/bin/narratoria")
    for library in (BUILD / "lib").glob("libnarratoria.so*"):
        shutil.copy(library, tmp_path / "installed/lib")
    ran = subprocess.run([tmp_path / "installed/bin/narratoria", "serve", "--story", TORCH],
                         capture_output=True, timeout=DEADLINE, env=environment(HOME=str(tmp_path)))
    assert ran.returncode == 2, ran
    assert b"narratoria.web" in ran.stderr and ran.stdout == b""


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143),
                                            (signal.SIGHUP, 129)])
def test_signal_ends_it_with_open_streams_and_a_running_tool(serve, number, status):
    page = serve({"go": [plan("wait")]}, {"wait": tool_that_waits()})
    streams = [page.stream().begin() for _ in range(3)]
    page.prompt("go")
    streams[0].until_log()
    page.open.clear()
    assert page.end(number) == status
    for stream in streams:
        try:
            while stream.connection.recv(65536):
                pass
        except ConnectionError:
            pass
        stream.close()


def test_idle_server_sends_only_that_it_is_alive(page):
    stream = page.stream().begin()
    idle = page.connect()

    def ticks():
        with open(f"/proc/{page.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    # After 15 seconds.
    assert stream.response.readline() == b"event: alive\n"
    assert ticks() - before <= 5
    idle.close()


def test_plugin_log_goes_to_standard_error(serve):
    page = serve({"go": [{"narrative": "Gone."}]},
                 toml='title = "T"\n[plugins."narratoria.web"]\ncolour = "red"\n')
    assert '[plugins."narratoria.web"]: "colour" is unknown' in page.said()


def test_plugin_passes_plugin_check(command):
    command("plugin", "check", BUILD / "lib/narratoria/plugins/web.so").exits(0)


def test_further_plugin_is_loaded(serve, tmp_path):
    page = serve({"go": [plan("say")]}, {"say": said(event("log", level="info", message="hm"), done())},
                 arguments=("--plugin", "narratoria.event_log"))
    records = page.play()
    page.end()
    lines = (tmp_path / "story/events.ndjson").read_text().splitlines()
    assert [json.loads(line) for line in lines][:len(records)] == records


# ---------------------------------------------------------------- failures


def test_unwritable_standard_output_is_reported(command):
    with open("/dev/full", "wb") as full:
        ran = command("serve", "--story", TORCH, stdout=full)
    assert ran.status == 1, ran
    assert "to standard output" in ran.err and "No space left" in ran.err


def broken(tmp_path, source):
    """An environment that replaces a function of libmicrohttpd."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("without a C compiler")
    (tmp_path / "broken.c").write_text(source)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "broken.so", tmp_path / "broken.c"],
                   check=True)
    # A sanitizer's library must be loaded first.
    return environment(LD_PRELOAD=":".join([*sanitizers(), str(tmp_path / "broken.so")]))


@pytest.mark.parametrize("function, said_", [
    ("void *MHD_start_daemon(unsigned flags, ...) { (void)flags; return 0; }", "did not start"),
    ("void *MHD_get_daemon_info(void *a, int b, ...) { (void)a; (void)b; return 0; }",
     "narratoria.web started but reported no address")], ids=["refused", "fails later"])
def test_failure_to_serve_ends_it_with_a_message(command, tmp_path, function, said_):
    ran = command("serve", "--story", TORCH, env=broken(tmp_path, function)).exits(2)
    assert ran.out == "" and said_ in ran.err and "cannot serve the page" in ran.err


# ---------------------------------------------------------------- --open


@pytest.fixture
def opened(command, tmp_path):
    """opened(script) runs serve --open with this script as xdg-open. It returns the process, the
    address, and the text that the script has written to PIPE."""
    processes = []

    def start(script):
        opener = command.script("bin/xdg-open", "#!/bin/sh\n" + script.replace("PIPE", f"{tmp_path}/told"))
        os.mkfifo(tmp_path / "told")
        (tmp_path / "runtime").mkdir(mode=0o700)
        errors = open(tmp_path / "errors", "wb")
        process = subprocess.Popen(
            [NARRATORIA, "serve", "--story", TORCH, "--open", "--json"], stdout=subprocess.PIPE,
            stderr=errors, preexec_fn=default_signals,
            env=environment(PATH=f"{opener.parent}:/usr/bin:/bin", XDG_RUNTIME_DIR=str(tmp_path / "runtime")))
        processes.append(process)
        with open(tmp_path / "told") as told:
            said_ = told.read()
        return process, json.loads(process.stdout.readline())["url"], said_

    yield start
    for process in processes:
        process.terminate()
        process.communicate(timeout=DEADLINE)


def test_open_passes_a_private_file_that_redirects(opened, tmp_path):
    process, address, file = opened('echo "$1" > PIPE\n')
    file = file.strip()
    assert file.startswith(str(tmp_path / "runtime")) and file.endswith(".html")
    assert os.stat(file).st_mode & 0o777 == 0o600
    with open(file) as content:
        assert f'http-equiv="refresh" content="0;url={address}"' in content.read()
    process.terminate()
    process.wait(DEADLINE)
    assert os.listdir(tmp_path / "runtime") == []


def test_token_is_not_in_process_arguments(opened):
    _, address, arguments = opened("tr '\\0' ' ' < /proc/$$/cmdline > PIPE\n")
    assert "xdg-open" in arguments
    assert address.partition("token=")[2] not in arguments


def test_browser_gets_its_own_session_and_default_signals(opened):
    process, _, status = opened("(echo $$; cat /proc/$$/stat; grep SigIgn /proc/$$/status) > PIPE\n")
    number, stat, ignored = status.splitlines()
    group, session = stat.rpartition(")")[2].split()[2:4]
    assert group == session == number != str(process.pid)
    assert int(ignored.split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def children(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        return file.read().split()


def until(condition):
    limit = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < limit
        select.select([], [], [], 0.02)


def test_opener_is_reaped(opened):
    process, _, _ = opened("echo > PIPE\n")
    until(lambda: children(process) == [])


def test_failed_opener_is_reported(opened, tmp_path):
    opened("echo > PIPE\nexit 3\n")
    until(lambda: "xdg-open exited with 3; open the address yourself" in (tmp_path / "errors").read_text())
