# SPDX-License-Identifier: Apache-2.0
"""Stories that a model on a test's server narrates, and what it says."""

import json

import pytest

from chat_server import ChatServer
from harness import done

TOLD = "The door creaks and opens on a dark stair."
GOOD = {"narrative": TOLD, "tools": [], "choices": ["I go down", "I wait"]}
SMILE = {**GOOD, "narrative": "Über dir lächelt 😀 der Mond — ganz leise."}
FALLBACK = "Nothing comes of it."
KEY = "sk-test-1234567890"


def use(tool, **given):
    return {"tool": tool, "input": given}


@pytest.fixture
def story(command):
    """Makes a story that a server at this URL narrates, with the tool "lamp"."""
    def make(url, *settings, times="narrator_ms = 20000", tools=None):
        tools = tools or {"lamp": lamp()}
        toml = (f'title = "T"\n[fallback]\ntemplates = ["{FALLBACK}"]\n[times]\n{times}\n'
                '[narrator]\nname = "narratoria.narrator_llm"\n'
                '[plugins."narratoria.event_log"]\nfile = "events.ndjson"\nflush = "line"\n'
                '[plugins."narratoria.narrator_llm"]\n'
                + "".join(f"{line}\n" for line in (f'base_url = "{url}"', 'model = "small"', *settings)))
        folder = command.story({}, tools, toml)
        for tool in tools:
            (folder / "tools" / f"{tool}.tool.json").write_text(json.dumps(MANIFEST))
        return folder
    return make


MANIFEST = {"description": "Lights the lamp.",
            "input": {"type": "object", "properties": {"oil": {"type": "integer", "maximum": 9}},
                      "required": ["oil"], "additionalProperties": False}}


def lamp(before="", **members):
    """A shell tool that tells how the lamp burns, after some commands."""
    told = done(**{"summary": "The lamp burns.", "result": {"hours": 7}, **members})
    return f"#!/bin/sh\ncat >/dev/null\n{before}\ncat <<'EVENT'\n{told}\nEVENT\n"


@pytest.fixture
def play(command, story):
    """Plays prompts against a server, its URL, or a new server with a list of replies; returns the finished
    command, which has the records and what the server was asked."""
    def ran(server, *prompts, settings=(), env=None, options=(), **more):
        if isinstance(server, list):
            with ChatServer(*server) as new:
                return ran(new, *prompts, settings=settings, env=env, options=options, **more)
        folder = story(getattr(server, "url", server), *settings, **more)
        finished = command("play", "--verbose", "--story", folder, *options, *(prompts or ("go",)), env=env)
        lines = (folder / "events.ndjson").read_text().split("\n")[:-1]
        finished.records = [json.loads(line) for line in lines]
        finished.server = server
        finished.requests = getattr(server, "requests", [])
        return finished
    return ran


def of(ran, kind):
    return [record["event"] for record in ran.records if record["kind"] == kind]


def shown(ran):
    return " ".join(ran.out.split())
