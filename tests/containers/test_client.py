# SPDX-License-Identifier: Apache-2.0
"""What is asked of the client of a container runtime, here a script that notes it."""

import json

import pytest

from harness import environment

CLIENT = """#!/bin/sh
echo "$@" >> "{log}"
if [ "$1" = run ]; then env >> "{log}.env"; fi
case $1 in
run) {act} ;;
esac
"""


class Client:
    def __init__(self, command):
        self.command = command
        self.log = command.folder / "log"

    def run(self, act, *fields, options=(), settings=""):
        """A call whose client acts so; the command's end and the error of its trace."""
        program = self.command.folder / "client"
        program.write_text(CLIENT.format(log=self.log, act=act))
        program.chmod(0o755)
        folder = self.command.folder / "project"
        (folder / ".namel3ss").mkdir(parents=True)
        lines = ["entry: tools:run", "runner: container", "image: none", *fields]
        (folder / ".namel3ss" / "tools.yaml").write_text(
            "tools:\n  tool:\n" + "".join(f"    {line}\n" for line in lines))
        (folder / "namel3ss.toml").write_text(settings)
        trace = self.command.folder / "trace.ndjson"
        ran = self.command("tool", "run", "tool", "--project", folder, "--trace", trace, "--input", "{}", *options,
                           env=environment(NARRATORIA_CONTAINER_RUNTIME=str(program)))
        return ran, json.loads(trace.read_text().splitlines()[-1]).get("error_message")

    def asked(self):
        """What was asked, beside the search for what earlier hosts have left."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [line for line in lines if line[0] != "ps"]


@pytest.fixture
def client(command):
    return Client(command)


def test_a_container_whose_reply_is_too_long_is_removed(client):
    ran, said = client.run("head -c 70000000 /dev/zero")
    assert ran.status == 1 and "more than 67108864 bytes" in said, (ran, said)
    run, *rest = client.asked()
    name = run[run.index("--name") + 1]
    assert rest == [["kill", name], ["rm", "-f", name]]


def test_a_container_that_a_cancelled_client_still_makes_is_removed(client):
    # It is done once a removal has found nothing.
    made = f"until grep -q ^rm '{client.log}'; do sleep 0.01; done; echo made >> '{client.log}'; exit 1"
    ran, _ = client.run(f'trap "{made}" TERM; sleep 600 & wait', "timeout_ms: 300")
    assert ran.status == 1, ran
    run, *rest = client.asked()
    name = run[run.index("--name") + 1]
    assert ["rm", "-f", name] in rest[rest.index(["made"]):], rest


def test_a_container_that_ends_by_itself_is_left_to_its_client(client):
    ran, said = client.run("cat > /dev/null; exit 3")
    assert ran.status == 1 and "exited with status 3 and did not answer" in said, (ran, said)
    assert [line[0] for line in client.asked()] == ["run"]


def test_what_the_client_says_is_told_once(client):
    ran, said = client.run("echo 'no such image' >&2; exit 125")
    assert ran.status == 1 and "could not start" in said, (ran, said)
    assert said.count("no such image") == 1, said


ANSWER = """cat > /dev/null; echo '{"ok": true, "result": 1}'"""


def test_values_of_variables_are_no_arguments_but_for_those_that_the_client_reads(client):
    ran, _ = client.run(ANSWER, "env: {API_KEY: hidden, DOCKER_HOST: other, PATH: /app, https_proxy: it}")
    assert ran.status == 0, ran
    [asked] = client.asked()
    variables = [asked[at + 1] for at, word in enumerate(asked) if word == "-e"]
    assert variables == ["API_KEY", "DOCKER_HOST=other", "PATH=/app", "https_proxy=it"]
    lines = (client.command.folder / "log.env").read_text().splitlines()
    assert "API_KEY=hidden" in lines
    assert not any(line in ("DOCKER_HOST=other", "PATH=/app", "https_proxy=it") for line in lines)


def test_what_the_command_requires_of_all_tools_needs_the_enforcement_of_the_container(client):
    ran, said = client.run(ANSWER, options=["--sandbox", "no_network,no_filesystem_write"],
                           settings="[capability_overrides]\ntool = { allow_unsafe_execution = true }\n")
    assert ran.status == 1 and "COVERAGE_MISSING" in ran.err and '"enforcement: declared"' in said, ran
    assert not client.log.exists()


def test_what_the_command_requires_of_all_tools_is_asked_of_the_client(client):
    ran, _ = client.run(ANSWER, "enforcement: declared",
                        options=["--sandbox", "no_network,no_filesystem_write"])
    assert ran.status == 0, ran
    [asked] = client.asked()
    assert "--network=none" in asked and "--read-only" in asked, asked


def test_no_container_is_kept_from_starting_processes(client):
    ran, said = client.run(ANSWER, "enforcement: verified", options=["--sandbox", "no_subprocess"])
    assert ran.status == 1 and "COVERAGE_MISSING" in ran.err and "no_subprocess" in said, ran
    assert not client.log.exists()
