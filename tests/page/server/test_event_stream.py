# SPDX-License-Identifier: Apache-2.0
"""GET /api/events: the session as server-sent events (plugins/web/README.md)."""

import json
import os
import resource
import sys

import jsonschema
import pytest

from serving import (BUILD, TORCH, Command, Page, done, environment, event, has_page, log, patch, plan, said, sanitizers,
                     tool_that_waits)

SCHEMA = json.loads((TORCH.parents[2] / "abi/schemas/event-record-1.schema.json").read_text())


def many(tmp_path, count, size=100):
    """Returns a tool that logs `count` lines at once, and then `done`."""
    lines = tmp_path / "lines"
    with open(lines, "w") as file:
        for number in range(count):
            file.write(log(f"{number} " + "x" * size) + "\n")
        file.write(done() + "\n")
    return f"#!/bin/sh\ncat >/dev/null\nexec cat {lines}\n"


def test_first_message_has_session_and_initial_state(serve):
    page = serve(story=TORCH)
    session = page.stream().begin().session
    # Differs between games, and is the same in all streams of a game.
    game = session.pop("game")
    assert game == page.stream().begin().session["game"] and len(game) == 16
    opening = session.pop("opening")
    assert opening["text"].startswith("The stair ends in the dark")
    assert opening["choices"][0] == "I light the torch"
    assert session == {"sessionId": None, "title": "The Torch and the Door", "after": 0, "last": 0,
                       "turns": [], "state": {}}
    assert page.prompt("I light the torch").status == 202
    records = page.stream().until_turn_ended()
    session = page.stream().begin().session
    assert session["sessionId"] == records[0]["sessionId"]
    assert session["last"] >= records[-1]["seq"]
    assert session["state"] == {}


def test_first_message_has_the_language_of_the_story(serve):
    page = serve(toml='title = "Der Brunnen"\nlanguage = "de"\n')
    assert page.stream().begin().session["language"] == "de"


def test_saved_file_of_the_story_reaches_open_and_later_pages(page, tmp_path):
    stream = page.stream().begin()
    (tmp_path / "story/story.toml").write_text('title = "A road"\n[opening]\ntext = "Dust."\n')
    [record] = stream.batch()
    jsonschema.validate(record, SCHEMA)
    opening = {"text": "Dust.", "choices": []}
    assert record["kind"] == "story_reloaded"
    assert record["event"] == {"title": "A road", "opening": opening, "faults": []}
    session = page.stream().begin().session
    assert (session["title"], session["opening"]) == ("A road", opening)
    (tmp_path / "story/story.toml").write_text("title = \n")
    [record] = stream.batch()
    jsonschema.validate(record, SCHEMA)
    [fault] = record["event"]["faults"]
    assert (fault["file"], fault["line"]) == ("story.toml", 1)
    assert record["event"]["title"] == "A road"


def test_only_a_stream_from_the_beginning_has_the_state(serve):
    page = serve({"go": [plan("set")]}, {"set": said(patch(lit=True), done())})
    page.play()
    assert "state" not in page.stream(after=1).begin().session
    assert page.stream(after=0).begin().session["state"] == {}


def test_turn_is_sent_as_event_records(serve):
    page = serve(story=TORCH)
    stream = page.stream().begin()
    assert stream.response.headers["Content-Type"] == "text/event-stream"
    assert stream.response.headers["Cache-Control"] == "no-store"
    page.prompt("I light the torch and examine the door")
    records = stream.until_turn_ended()
    for record in records:
        jsonschema.validate(record, SCHEMA)
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert records[0]["kind"] == "prompt"
    assert records[0]["event"]["text"] == "I light the torch and examine the door"
    choices = [record["event"] for record in records if record["event"].get("event") == "narrative_choice"]
    assert len(choices) == 1
    assert "ui_placeholder" not in {record["kind"] for record in records}
    assert "asset_placeholder" not in {record["kind"] for record in records}


def test_every_offered_choice_is_accepted_as_a_prompt(serve):
    # Six bytes of a request for each byte of the longest choice: its characters are escaped.
    longest = "\u0001" * (64 * 1024 - 1) + "!"
    texts = ["\u200b", "x" * 1024 * 1024, longest]
    page = serve({"go": [plan("ask")]},
                 {"ask": said(event("ui_event", event="narrative_choice", payload={"choices": texts}), done())})
    records = page.play()
    [choice] = records[-1]["event"]["choices"]
    assert choice == longest
    [warning] = [record["event"]["message"] for record in records if record["kind"] == "warning"]
    assert warning == "some choices of a narrative_choice are not offered: 1 empty, 1 longer than 64 KiB"
    assert page.prompt(choice).status == 202


@pytest.mark.parametrize("payload", [{"choices": [1]}, {"choices": "Open"}, {}, {"other": []}])
def test_invalid_choices_become_a_placeholder(serve, payload):
    page = serve({"go": [plan("ask")]},
                 {"ask": said(event("ui_event", event="narrative_choice", payload=payload), done())})
    records = page.play()
    [placeholder] = [record for record in records if record["kind"] == "ui_placeholder"]
    assert placeholder["event"] == {"event": "narrative_choice", "payload": payload}


def test_unsupported_ui_event_becomes_a_placeholder(serve):
    page = serve({"go": [plan("ask")]},
                 {"ask": said(event("ui_event", event="shake_screen", payload={"n": 3}), done())})
    page.prompt("go")
    kinds = [record["kind"] for record in page.stream().until_turn_ended()]
    assert kinds.count("ui_placeholder") == 1


def test_late_stream_starts_at_any_record(serve):
    page = serve(story=TORCH)
    all_of_it = page.play("I light the torch")
    assert page.stream(after=0).until_turn_ended() == all_of_it
    assert page.stream(after=3).until_turn_ended() == all_of_it[3:]


def test_last_event_id_takes_precedence_over_after(serve):
    page = serve(story=TORCH)
    all_of_it = page.play("I light the torch")
    stream = page.stream(after=0, last_event_id=5)
    assert stream.until_turn_ended() == all_of_it[5:]
    assert stream.session["after"] == 5 and "state" not in stream.session


@pytest.mark.parametrize("after", ["", "-1", "x", "1x", "99999999999999999999", "1%002"])
def test_invalid_number_is_refused(page, after):
    assert page.get(f"/api/events?after={after}").code == "BAD_NUMBER"


def test_five_reconnects_lose_and_repeat_no_record(serve, tmp_path):
    page = serve({"go": [plan("many")]}, {"many": many(tmp_path, 20000)})
    reader = page.stream().begin()
    page.prompt("go")
    records = reader.batch()
    for _ in range(5):
        # Disconnects inside a batch. A partial batch has no id yet, so it does not count.
        reader.response.read1(1000)
        last = records[-1]["seq"]
        reader.close()
        reader = page.stream(last_event_id=last)
        records += reader.batch()
    records += reader.until_turn_ended()
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    said_by_tool = [record for record in records if record["kind"] == "tool_event"]
    assert len(said_by_tool) == 20001


def test_two_readers_get_the_same_records(serve, tmp_path):
    page = serve({"go": [plan("many")]}, {"many": many(tmp_path, 2000)})
    one, other = page.stream().begin(), page.stream().begin()
    page.prompt("go")
    assert one.until_turn_ended() == other.until_turn_ended()


def test_batch_has_at_most_64_kib_or_one_record(serve, tmp_path):
    large = "y" * 200_000
    page = serve({"go": [plan("many")]},
                 {"many": f"#!/bin/sh\ncat >/dev/null\ncat {tmp_path}/large {tmp_path}/lines\n"})
    (tmp_path / "large").write_text(log(large) + "\n")
    many(tmp_path, 3000)
    page.play()
    late = page.stream()
    late.until_turn_ended()
    alone = [message for message in late.messages if message.size > 65536 + 64]
    assert len(alone) == 1 and len(alone[0].data) == 1
    assert alone[0].data[0]["event"]["message"] == large
    assert max(message.size for message in late.messages if message not in alone) > 60_000


def test_late_reader_gets_100000_events_mostly_from_disk(serve, tmp_path):
    page = serve({"go": [plan("many")]}, {"many": many(tmp_path, 100_000, size=200)})

    def resident():
        with open(f"/proc/{page.process.pid}/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    before = resident()
    page.prompt("go")
    early = page.stream()
    early.until_turn_ended()
    late = page.stream()
    records = late.until_turn_ended()
    assert sum(record["kind"] == "tool_event" for record in records) == 100_001
    # The records have 45 MB; the limit includes the engine's own data of the plan. A sanitizer's
    # bookkeeping would exceed it.
    assert resident() - before < 40_000_000 or sanitizers()


def test_spool_is_an_unlinked_file_in_tmpdir(serve, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    page = serve({"go": [plan("many")]}, {"many": many(tmp_path, 20_000)},
                 env=environment(TMPDIR=str(folder)))
    page.play()
    links = [os.readlink(f"/proc/{page.process.pid}/fd/{name}")
             for name in os.listdir(f"/proc/{page.process.pid}/fd")]
    assert any(link.startswith(str(folder)) and "deleted" in link for link in links)
    # The only named entry is the session's folder for files of tools.
    assert [name for name in os.listdir(folder) if (folder / name).is_file()] == []


def test_without_a_spool_file_records_stay_in_memory(serve, tmp_path):
    page = serve({"go": [plan("many")]}, {"many": many(tmp_path, 20_000)},
                 env=environment(TMPDIR="/proc/nowhere"))
    page.play()
    page.stream().until_turn_ended()
    assert page.said().count("stay in memory") == 1


def test_stalled_reader_blocks_neither_readers_nor_engine(serve, tmp_path):
    page = serve({"go": [plan("many")]}, {"many": many(tmp_path, 50_000)})
    stalled = [page.stream(receive_buffer=4096) for _ in range(20)]
    page.play()
    # The stalled reader continues at its position.
    stalled[0].until_turn_ended()


def test_stream_of_a_closed_connection_is_freed(serve):
    page = serve({"go": [plan("wait")]}, {"wait": tool_that_waits()})
    for _ in range(50):
        page.stream().begin().close()
    page.prompt("go")
    stream = page.stream()
    stream.until_log()
    page.post("/api/cancel")
    stream.until_turn_ended()


@pytest.fixture
def host(tmp_path):
    """host(first, then): a host's page of a game with one turn. The host runs these lines: at once, and when "go" exists."""
    if not has_page():
        pytest.skip("built without libmicrohttpd")
    pages = []

    def begun(first, then):
        saved = ["--store", tmp_path / "saves.db", "--session", "s"]
        Command(tmp_path)("play", "--story", TORCH, *saved, "I light the torch").exits(0)
        (tmp_path / "host.py").write_text(f"""
import asyncio, json, os, sys
sys.path.insert(0, {str(BUILD / "python")!r})
from narratoria import aio

async def main():
    async with aio.Session(story=sys.argv[1], store="saves.db", id="s", plugins=["narratoria.web"]) as session:
        {first}
        while (url := session.published("narratoria.web", "url")) is None:
            await asyncio.sleep(0.01)
        print(json.dumps({{"url": url, "port": int(url.split(":")[2].split("/")[0])}}), flush=True)
        while not os.path.exists("go"):
            await asyncio.sleep(0.01)
        {then}
        await asyncio.Event().wait()

asyncio.run(main())
""")
        pages.append(Page(tmp_path, TORCH, program=(sys.executable, "host.py")))
        return pages[0]

    yield begun
    for page in pages:
        page.end()


def test_move_of_the_host_as_the_first_record_has_its_state(host, tmp_path):
    """The state of the session message is older: it was read when the page opened."""
    stream = host("pass", "session.go_to(None)").stream().begin()
    assert stream.session["state"] != {}
    assert [turn["id"] for turn in stream.session["turns"]] == [1]
    (tmp_path / "go").touch()
    [moved] = stream.batch()
    assert (moved["event"]["turn"], moved["state"]) == (0, {})


def test_turn_that_the_host_goes_to_before_the_page_opens_is_not_repeated(host):
    stream = host("session.go_to(1)", "pass").stream().begin()
    [moved] = stream.batch()
    assert (stream.session["turns"], moved["event"]["turn"]) == ([], 1)
