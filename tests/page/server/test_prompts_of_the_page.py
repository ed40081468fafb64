# SPDX-License-Identifier: Apache-2.0
"""POST /api/prompt and /api/cancel (plugins/web/README.md)."""

import json

import pytest

from serving import TORCH, plan, tool_that_waits


def send(page, body, content_type="application/json"):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content_Type": content_type} if content_type else {}
    return page.post("/api/prompt", body, **headers)


def test_the_players_words_begin_a_turn(serve):
    page = serve(story=TORCH)
    stream = page.stream()
    answer = page.prompt("I light the torch")
    assert answer.status == 202
    records = stream.until_turn_ended()
    assert records[0]["event"]["text"] == "I light the torch"
    assert records[-1]["event"]["outcome"] == "completed"


def test_one_prompt_may_wait_and_a_further_one_is_busy(serve):
    page = serve({"go": [plan("wait")]}, {"wait": tool_that_waits()})
    stream = page.stream()
    assert page.prompt("go").status == 202
    stream.until_log()
    assert page.prompt("look").status == 202
    busy = page.prompt("more")
    assert (busy.status, busy.code) == (409, "BUSY")


def test_cancel_ends_what_runs_and_drops_what_waits(serve):
    page = serve({"go": [plan("wait")]}, {"wait": tool_that_waits()})
    stream = page.stream()
    page.prompt("go")
    stream.until_log()
    page.prompt("look")
    assert page.post("/api/cancel").status == 202
    ended = stream.until_turn_ended()[-1]
    assert ended["event"]["outcome"] == "cancelled"
    assert page.prompt("and now").status == 202
    after = stream.until(lambda record: record["kind"] == "prompt")
    assert [record["event"]["text"] for record in after if record["kind"] == "prompt"] == ["and now"]


def test_cancel_when_nothing_runs_is_no_fault(serve):
    assert serve().post("/api/cancel").status == 202


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b'"go"', {}, {"text": 1}, {"text": ""}, {"text": " \n"},
    b'{"text":"\xff"}', b'{"text":"\\ud800"}', b"[" * 100_000,
], ids=lambda body: str(body)[:20])
def test_a_body_that_is_no_prompt_is_refused(serve, body):
    answer = send(serve(), body)
    assert (answer.status, answer.code) == (400, "BAD_PROMPT")


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded",
                                          "multipart/form-data", "application/jsonx"])
def test_what_a_form_can_send_is_refused(serve, content_type):
    answer = send(serve(), {"text": "go"}, content_type)
    assert (answer.status, answer.code) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_json_may_name_its_characters(serve):
    assert send(serve(), {"text": "go"}, "application/json; charset=utf-8").status == 202


def test_a_prompt_of_many_pieces_is_put_together(serve):
    page = serve()
    text = "word " * 100_000
    stream = page.stream()
    assert page.prompt(text).status == 202
    assert stream.batch()[0]["event"]["text"] == text
