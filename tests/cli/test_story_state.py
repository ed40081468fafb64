# SPDX-License-Identifier: Apache-2.0
"""Stories that look at their state and tell what their tools did, played in the terminal."""

import json

import pytest

from harness import done

TOML = """
title = "The Door"
[state]
torch = {lit = false, oil = 2}
player = {name = "Ada"}
[tools]
allow_paths = ["tools"]
[fallback]
templates = ["Not now, {/player/name}."]
"""

PROMPTS = {
    "prompts": [
        {"patterns": ["I light the torch"], "answers": [
            {"when": {"/torch/lit": True}, "narrative": "It burns already."},
            {"narrative": "It catches.", "set": {"/torch/lit": True, "/torch/oil": {"+": -1}},
             "choices": ["I open the door", {"text": "I wait", "when": {"/torch/oil": {">": 1}}}]}]},
        {"patterns": ["I open the door"], "when": {"/torch/lit": True},
         "answers": [{"narrative": "It opens, {/player/name}."}]},
        {"patterns": ["I open the door"], "answers": [{"narrative": "Too dark."}]},
        {"patterns": ["I roll"], "answers": [
            {"plan": {"tools": [{"toolId": "roll", "toolPath": "tools/die"}]},
             "narrative": "You throw.", "success": "{roll.result.total}, with {roll.result.oil} oil.",
             "set": {"/rolled": "{roll.result.total}"}, "choices": ["I roll"]}]},
        {"patterns": ["I throw"], "answers": [
            {"plan": {"tools": [{"toolId": "roll", "toolPath": "tools/die"}]}, "choices": ["I roll"]}]},
        {"patterns": ["I force it"], "answers": [
            {"plan": {"tools": [{"toolId": "push", "toolPath": "tools/push",
                                 "retryPolicy": {"maxRetries": 0}}]},
             "failure": "It does not move: {push.error}"}]},
        {"patterns": ["I leave"], "answers": [{"narrative": "You go.", "ending": "Away"}]},
        {"patterns": ["call me {name}"], "answers": [
            {"narrative": "Well, {/player/name}.", "set": {"/player/name": "{name}"}}]},
    ],
    "always": ["I open the door"],
}

DIE = """#!/usr/bin/env python3
import json, sys
request = json.load(sys.stdin)
assert list(request["state"]) == ["torch"], request["state"]
print(json.dumps({"version": "0", "type": "done", "ok": True, "summary": "The die shows four.",
                  "result": {"total": 4, "oil": request["state"]["torch"]["oil"]}}))
"""


@pytest.fixture
def door(command):
    folder = command.folder / "door"
    (folder / "tools").mkdir(parents=True)
    (folder / "story.toml").write_text(TOML)
    (folder / "prompts.json").write_text(json.dumps(PROMPTS))
    programs = {"die": DIE, "push": f"#!/bin/sh\necho '{done(ok=False, summary='jammed')}'\n"}
    for name, text in programs.items():
        (folder / "tools" / name).write_text(text)
        (folder / "tools" / name).chmod(0o755)
    (folder / "tools" / "die.tool.json").write_text(json.dumps({"state": ["/torch"]}))
    return folder


def told(ran):
    """What a player reads after the title, without empty lines and margins."""
    assert ran.status == 0, ran
    return [line.strip() for line in ran.lines if line.strip()][2:]


def test_the_door_opens_only_if_the_torch_is_lit(command, door):
    ran = command("play", "--story", door, "I open the door", "I light the torch", "I open the door")
    assert told(ran) == [
        "Too dark.", "1. I open the door",
        "It catches.", "1. I open the door",
        "It opens, Ada.", "1. I open the door"]


def test_an_answer_depends_on_what_an_earlier_one_has_set(command, door):
    ran = command("play", "--story", door, "I light the torch", "I light the torch", "call me Bo")
    assert "It burns already." in told(ran)
    assert "Well, Bo." in told(ran)


def test_the_outcome_of_a_tool_is_told_in_place_of_its_summary(command, door):
    ran = command("play", "--story", door, "I roll")
    assert told(ran) == ["You throw.", "4, with 2 oil.", "1. I roll", "2. I open the door"]


def test_a_summary_is_told_if_the_answer_tells_nothing_after_it(command, door):
    ran = command("play", "--story", door, "I throw")
    assert told(ran) == ["✓ The die shows four.", "1. I roll", "2. I open the door"]


def test_an_ending_is_shown_and_nothing_is_offered(command, door):
    assert told(command("play", "--story", door, "I leave")) == ["You go.", "— Away —"]


def test_a_failure_has_a_text_of_its_own(command, door):
    assert "It does not move: jammed" in told(command("play", "--story", door, "I force it"))


def saved(command, door, name):
    store = ["--store", command.folder / "saves.db", "--session", name]
    play = lambda *prompts: command("play", "--story", door, *store, *prompts)
    session = lambda verb, *arguments: command("session", verb, *store, *arguments)
    return play, session


def test_a_saved_game_begins_with_the_state_of_its_story(command, door):
    play, session = saved(command, door, "one")
    play("I light the torch")
    assert session("state").result["torch"] == {"lit": True, "oil": 1}
    assert "It opens, Ada." in told(play("I open the door"))
    assert "Too dark." in told(saved(command, door, "two")[0]("I open the door"))
    session("go", "0")
    assert session("state").result["torch"] == {"lit": False, "oil": 2}


def test_a_replayed_turn_has_the_same_state(command, door):
    play, _ = saved(command, door, "s")
    play("I light the torch", "I roll", "call me Bo")
    command("replay", "--store", command.folder / "saves.db", "--session", "s").exits(0)


def test_a_tool_that_runs_again_is_told_anew(command, door):
    play, session = saved(command, door, "s")
    play("I roll")
    (door / "tools" / "die").write_text(DIE.replace('"total": 4', '"total": 6'))
    session("again", "1", "--tools", "roll").shows("6, with 2 oil.")
    assert session("state").result["rolled"] == 6, "the recorded change is not applied as well"


def test_a_fallback_shows_the_state(command, door):
    (door / "prompts.json").unlink()
    (door / "n.nuwa").write_text('IF HAS(state, "torch.lit") THEN CALL no_tool {} END')
    command("play", "--story", door, "--narrator", "n.nuwa", "I open").shows("Not now, Ada.")


def test_an_answer_whose_change_is_refused_is_not_told(command, door):
    prompts = json.loads((door / "prompts.json").read_text())
    prompts["prompts"] += [
        {"patterns": ["I write"], "answers": [{"narrative": "Written.", "set": {"/book": "x" * 500}}]},
        {"patterns": ["I list"], "answers": [{"narrative": "Listed.", "set": {"/bag": ["rope"]}}]},
        {"patterns": ["I swap"], "answers": [{"narrative": "Swapped.", "set": {"/bag/0": "lamp"}}]}]
    (door / "prompts.json").write_text(json.dumps(prompts))
    (door / "story.toml").write_text(TOML + "[limits]\nstate_bytes = 300\n")
    ran = command("play", "--story", door, "--verbose", "I write", "I list", "I swap")
    assert "Written." not in ran.out and "Listed." in ran.out and "Swapped." not in ran.out
    ran.shows("the state refuses what the answer sets", '/answers/0/set: "/bag/0" is within a list')
