# SPDX-License-Identifier: Apache-2.0
"""POST /api/prompt, /api/cancel and the moves (plugins/web/README.md)."""

import json
import signal

import pytest

from serving import TORCH, done, patch, plan, said, tool_that_waits


def send(page, body, content_type="application/json"):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content_Type": content_type} if content_type else {}
    return page.post("/api/prompt", body, **headers)


def test_prompt_begins_a_turn(serve):
    page = serve(story=TORCH)
    stream = page.stream()
    page.prompt("I light the torch").has(202)
    records = stream.until_turn_ended()
    assert records[0]["event"]["text"] == "I light the torch"
    assert records[-1]["event"]["outcome"] == "completed"


def test_one_prompt_may_wait_and_a_third_is_busy(serve):
    page = serve({"go": [plan("wait")]}, {"wait": tool_that_waits()})
    stream = page.stream()
    assert page.prompt("go").status == 202
    stream.until_log()
    assert page.prompt("look").status == 202
    page.prompt("more").has(409, "BUSY")


def test_cancel_ends_the_turn_and_drops_the_waiting_prompt(serve):
    page = serve({"go": [plan("wait")]}, {"wait": tool_that_waits()})
    stream = page.stream()
    page.prompt("go")
    stream.until_log()
    page.prompt("look")
    assert page.post("/api/cancel").status == 202
    assert stream.until_turn_ended()[-1]["event"]["outcome"] == "cancelled"
    assert page.prompt("and now").status == 202
    after = stream.until(lambda record: record["kind"] == "prompt")
    assert prompts_of(after) == ["and now"]


def test_cancel_without_a_turn_is_not_an_error(serve):
    assert serve().post("/api/cancel").status == 202


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b'"go"', {}, {"text": 1}, {"text": ""}, {"text": " \n"},
    b'{"text":"\xff"}', b'{"text":"\\ud800"}', b"[" * 100_000,
], ids=lambda body: str(body)[:20])
def test_invalid_prompt_is_refused(serve, body):
    answer = send(serve(), body)
    assert (answer.status, answer.code) == (400, "BAD_PROMPT")


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded",
                                          "multipart/form-data", "application/jsonx"])
def test_content_types_of_forms_are_refused(serve, content_type):
    answer = send(serve(), {"text": "go"}, content_type)
    assert (answer.status, answer.code) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON",
                                          "application/json ;charset=utf-8"])
def test_json_content_type_may_have_any_case_and_a_charset(serve, content_type):
    assert send(serve(), {"text": "go"}, content_type).status == 202


def test_prompt_sent_in_pieces_is_reassembled(page):
    text = "word " * 100_000
    stream = page.stream()
    assert page.prompt(text).status == 202
    assert stream.batch()[0]["event"]["text"] == text


def move(page, name, turn, query="", **more):
    body = json.dumps({"turn": turn, **more}).encode()
    return page.post(f"/api/{name}{query}", body, Content_Type="application/json")


def test_moves_of_a_saved_game(serve, tmp_path):
    """Undo, another answer and a new start, with the state that the page cannot know."""
    prompts = {"go": [plan("set")], "on": [plan("set-two")]}
    tools = {"set": said(patch(n=1), done()), "set-two": said(patch(n=2), done())}
    page = serve(prompts, tools, arguments=("--store", str(tmp_path / "saves.db")))
    move(page, "undo", 0).has(404, "NO_TURN")
    stream = page.stream()
    for text in ("go", "on"):
        page.prompt(text)
        stream.until_turn_ended()

    def moved(name, seen, last, **more):
        move(page, name, seen, **more).has(202)
        records = stream.until(lambda record: record["kind"] == last)
        record = next(record for record in records if record["kind"] == "session_moved")
        return record["event"]["turn"], record["state"], records

    assert moved("undo", 2, "session_moved")[:2] == (1, {"n": 1})
    # A second window that has not seen it undoes nothing more.
    move(page, "undo", 2).has(409, "OTHER_TURN")
    turn, state, records = moved("again", 1, "turn_ended")
    assert (turn, state) == (0, {})
    assert prompts_of(records) == ["go"]
    assert records[-1]["event"]["turn"] == 3
    assert moved("restart", 3, "session_moved")[:2] == (0, {})
    assert moved("go", 0, "session_moved", to=2)[:2] == (2, {"n": 2})
    assert moved("go", 2, "session_moved", to=0)[:2] == (0, {})
    move(page, "go", 0, to=9).has(404, "NO_TURN")
    move(page, "go", 0).has(400, "BAD_TURN")
    assert "cannot" not in page.said()


def test_moves_are_refused_while_a_turn_runs_and_in_a_game_that_is_not_saved(serve, tmp_path):
    page = serve({"go": [plan("wait")]}, {"wait": tool_that_waits()}, arguments=("--store", str(tmp_path / "saves.db")))
    stream = page.stream()
    page.prompt("go")
    stream.until_log()
    move(page, "undo", 0).has(409, "BUSY")
    move(page, "undo", 0, "?game=another").has(409, "ANOTHER_SESSION")
    page.ask("GET", "/api/undo").has(405)
    page.post("/api/undo").has(415)
    page.post("/api/undo", b'{"turn":"x"}', Content_Type="application/json").has(400, "BAD_TURN")
    page.post("/api/cancel")
    move(serve(), "again", 0).has(501, "UNSUPPORTED")


@pytest.fixture
def interrupted(serve, tmp_path):
    """A saved game that was killed while the tool of its second prompt ran."""
    manifest = json.dumps({"name": "pay", "repeatable": False})

    def start(pay):
        return serve({"go": [{"narrative": "Gone."}], "pay": [plan("pay")]}, {"pay": pay, "pay.tool.json": manifest},
                     arguments=("--store", str(tmp_path / "saves.db")))

    page = start(tool_that_waits())
    page.play("go")
    stream = page.stream()
    page.prompt("pay")
    stream.until_log()
    page.end(signal.SIGKILL)
    return start(said(done()))


def prompts_of(records):
    return [record["event"]["text"] for record in records if record["kind"] == "prompt"]


def test_interrupted_prompt_is_resumed_and_a_tool_runs_twice_only_if_wanted(interrupted):
    stream = interrupted.stream().begin()
    prompt = stream.session["interrupted"]
    assert (prompt["id"], prompt["prompt"]) == (2, "pay")
    move(interrupted, "resume", 1).has(400, "BAD_TURN")
    move(interrupted, "resume", 1, to=1).has(409, "NOT_POSSIBLE")
    move(interrupted, "resume", 1, to=9).has(404, "NO_TURN")
    move(interrupted, "resume", 1, to=2).has(409, "NOT_REPEATABLE")
    move(interrupted, "resume", 1, to=2, repeats=True).has(202)
    records = stream.until_turn_ended()
    assert prompts_of(records) == ["pay"]
    assert records[-1]["event"]["outcome"] == "completed"


def test_interrupted_prompt_is_not_the_one_that_is_played_again(interrupted):
    """The player has not seen it in this window."""
    stream = interrupted.stream()
    move(interrupted, "again", 1).has(202)
    assert prompts_of(stream.until_turn_ended()) == ["go"]


def test_game_without_an_interrupted_prompt_names_none(page):
    assert "interrupted" not in page.stream().begin().session
