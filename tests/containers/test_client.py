# SPDX-License-Identifier: Apache-2.0
"""The commands that the container client gets. The client is a script that logs them."""

import json

import pytest

from harness import environment

CLIENT = """#!{interpreter}
echo "$@" >> "{log}"
{before}
if [ "$1" = run ]; then env >> "{log}.env"; fi
last=
for word; do
    if [ "$last" = --env-file ]; then cat "$word" >> "{log}.file"; stat -c %a "$word" >> "{log}.mode"; fi
    last=$word
done
case $1 in
run) {act} ;;
esac
"""


class Client:
    def __init__(self, command):
        self.command = command
        self.log = command.folder / "log"
        self.interpreter = "/bin/sh"

    def run(self, act, *fields, options=(), settings="", before="", **variables):
        """Calls a tool. The client runs `before` at every start, and `act` to run the container.

        Returns the finished command and the error message of its trace.
        """
        program = self.command.folder / "client"
        program.write_text(CLIENT.format(log=self.log, act=act, before=before, interpreter=self.interpreter))
        program.chmod(0o755)
        folder = self.command.folder / "project"
        (folder / ".namel3ss").mkdir(parents=True, exist_ok=True)
        lines = ["entry: tools:run", "runner: container", "image: none", *fields]
        (folder / ".namel3ss" / "tools.yaml").write_text(
            "tools:\n  tool:\n" + "".join(f"    {line}\n" for line in lines))
        (folder / "namel3ss.toml").write_text(settings)
        trace = self.command.folder / "trace.ndjson"
        ran = self.command("tool", "run", "tool", "--project", folder, "--trace", trace, "--input", "{}", *options,
                           env=environment(NARRATORIA_CONTAINER_RUNTIME=str(program), **variables))
        return ran, json.loads(trace.read_text().splitlines()[-1]).get("error_message")

    def asked(self):
        """The commands that the client got, without the searches (`ps`) for leftover containers."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [line for line in lines if line[0] != "ps"]


@pytest.fixture
def client(command):
    return Client(command)


def test_container_with_a_too_long_reply_is_removed(client):
    ran, said = client.run("head -c 70000000 /dev/zero")
    assert ran.status == 1 and "more than 67108864 bytes" in said, (ran, said)
    run, *rest = client.asked()
    name = run[run.index("--name") + 1]
    assert rest == [["kill", name], ["rm", "-f", name]]


def test_container_created_by_a_cancelled_client_is_removed(client):
    # The client makes the container only after a first removal has found nothing.
    made = f"until grep -q ^rm '{client.log}'; do sleep 0.01; done; echo made >> '{client.log}'; exit 1"
    ran, _ = client.run(f'trap "{made}" TERM; sleep 600 & wait', "timeout_ms: 300")
    assert ran.status == 1, ran
    run, *rest = client.asked()
    name = run[run.index("--name") + 1]
    assert ["rm", "-f", name] in rest[rest.index(["made"]):], rest


def test_container_that_exits_is_left_to_its_client(client):
    ran, said = client.run("cat > /dev/null; exit 3")
    assert ran.status == 1 and "exited with status 3 and did not reply" in said, (ran, said)
    assert [line[0] for line in client.asked()] == ["run"]


def test_hanging_client_does_not_block_the_call(client):
    ran, said = client.run(":", "timeout_ms: 300", before="trap '' TERM INT HUP; while :; do sleep 1; done")
    assert ran.status == 1 and "timed out" in ran.err, (ran, said)


def test_error_output_of_the_client_is_reported_once(client):
    ran, said = client.run("echo 'no such image' >&2; exit 125")
    assert ran.status == 1 and "could not start" in said, (ran, said)
    assert said.count("no such image") == 1, said


def test_failing_docker_names_the_installed_podman(client):
    client.run("exit 125")
    for name, act in (("docker", "exit 125"), ("podman", "exit 0")):
        program = client.command.folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho 'no daemon' >&2\n{act}\n")
        program.chmod(0o755)
    env = environment(PATH=f"{program.parent}:/usr/bin:/bin", NARRATORIA_CONTAINER_RUNTIME="")
    client.command("tool", "run", "tool", "--project", client.command.folder / "project", env=env).exits(
        1, "podman is installed, too: set NARRATORIA_CONTAINER_RUNTIME=podman to use it")


ANSWER = """cat > /dev/null; echo '{"ok": true, "result": 1}'"""


VARIABLES = {"API_KEY": "hid = 'den' #1", "BASH_ENV": "{folder}/code", "DOCKER_HOST": "other", "EMPTY": "",
             "LD_PRELOAD": "lib.so", "PATH": "/app", "anything": "it"}


def test_variables_of_the_tool_do_not_reach_the_client(client):
    folder = client.command.folder
    temporary = folder / "temporary"
    temporary.mkdir()
    (folder / "code").write_text(f"touch {folder}/ran\n")
    client.interpreter = "/bin/bash"
    variables = {name: value.format(folder=folder) for name, value in VARIABLES.items()}
    ran, said = client.run(ANSWER, f"env: {json.dumps(variables)}", TMPDIR=str(temporary))
    assert ran.status == 0, (ran, said)
    assert not (folder / "ran").exists()
    own = (folder / "log.env").read_text()
    [asked] = client.asked()
    for name, value in variables.items():
        assert f"{name}={value}\n" not in own, own
    assert "-e" not in asked
    assert (folder / "log.file").read_text() == "".join(f"{name}={value}\n" for name, value in variables.items())
    assert (folder / "log.mode").read_text() == "600\n"
    assert [path.name for path in temporary.iterdir() if path.name.endswith(".env")] == []


def test_variables_unfit_for_an_env_file_are_arguments(client):
    ran, _ = client.run(ANSWER, 'env: {LINES: "one\\ntwo", "with.dot": b, "#no": c, "A*": d}')
    assert ran.status == 0, ran
    text = client.log.read_text()
    for argument in ("-e #no=c", "-e A*=d", "-e LINES=one\ntwo", "-e with.dot=b"):
        assert argument in text, text
    assert "--env-file" not in text
    assert "LINES=one" not in (client.command.folder / "log.env").read_text()


def test_env_file_of_a_timed_out_call_is_removed(client):
    temporary = client.command.folder / "temporary"
    temporary.mkdir()
    ran, _ = client.run("exec sleep 600", "timeout_ms: 300", "env: {A: b}", TMPDIR=str(temporary))
    assert ran.status == 1, ran
    assert [path.name for path in temporary.iterdir() if path.name.endswith(".env")] == []


def test_env_file_of_a_killed_host_is_removed_by_the_next_one(client):
    temporary = client.command.folder / "temporary"
    temporary.mkdir()
    client.run(ANSWER, "env: {A: b}", TMPDIR=str(temporary))
    [asked] = client.asked()
    name = asked[asked.index("--name") + 1]
    left = temporary / f"{name}-x.env"
    left.write_text("A=b\n")
    kept = temporary / "narratoria-mine.env"
    kept.write_text("")
    ran, _ = client.run(ANSWER, TMPDIR=str(temporary))
    assert ran.status == 0, ran
    assert not left.exists() and kept.exists()


def test_sandbox_option_requires_enforcement_by_the_container(client):
    ran, said = client.run(ANSWER, options=["--sandbox", "no_network,no_filesystem_write"],
                           settings="[capability_overrides]\ntool = { allow_unsafe_execution = true }\n")
    assert ran.status == 1 and "COVERAGE_MISSING" in ran.err and '"enforcement: declared"' in said, ran
    assert not client.log.exists()


def test_sandbox_option_is_passed_to_the_client(client):
    ran, _ = client.run(ANSWER, "enforcement: declared",
                        options=["--sandbox", "no_network,no_filesystem_write"])
    assert ran.status == 0, ran
    [asked] = client.asked()
    assert "--network=none" in asked and "--read-only" in asked, asked


def test_container_does_not_cover_no_subprocess(client):
    ran, said = client.run(ANSWER, "enforcement: verified", options=["--sandbox", "no_subprocess"])
    assert ran.status == 1 and "COVERAGE_MISSING" in ran.err and "no_subprocess" in said, ran
    assert not client.log.exists()
