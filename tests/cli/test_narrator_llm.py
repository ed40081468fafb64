# SPDX-License-Identifier: Apache-2.0
"""narratoria.narrator_llm: stories told by a server with chat completions, which misbehaves.

Each turn ends with what the server said, or with the story's fallback, within its times.
"""

import json
import signal
import socket
import subprocess
import threading
import time

import pytest

from chat_server import (DEADLINE, ChatServer, Peer, answer, begins, chunked, completion, delta, deltas, error, events,
                         head, repeats, says, trickles, waits, whole)
from harness import SOURCE, done, environment
from model_stories import (FALLBACK, GOOD, KEY, MANIFEST, SMILE, TOLD, lamp, of, play, shown,  # noqa: F401
                           story, use)

# ---------------------------------------------------------------- requests


def test_request_has_the_rules_the_prompt_and_the_schema_of_the_answer(play):
    ran = play([says(GOOD)], "I open the door", settings=("temperature = 0.5", "seed = 7", "max_tokens = 300"))
    assert ran.status == 0, ran
    (request,) = ran.requests
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert request.headers["content-type"].startswith("application/json")
    assert "authorization" not in request.headers
    body = request.body
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == ("small", 0.5, 7, 300)
    assert body["stream"] is True and body["stream_options"] == {"include_usage": True}
    assert body["messages"][0]["role"] == "system" and body["messages"][-1]["role"] == "user"
    assert "I open the door" in body["messages"][-1]["content"]
    assert "lamp" in request.text and "Lights the lamp." in request.text
    assert body["response_format"]["type"] == "json_schema"
    schema = body["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["narrative", "tools", "choices"]
    assert '"lamp"' in json.dumps(schema["properties"]["tools"])


def test_instructions_are_those_of_the_manual(play):
    lines = (SOURCE / "plugins/narrator_llm/README.md").read_text().splitlines()
    manual = " ".join(line[2:] for line in lines if line.startswith("> "))
    assert play([says(GOOD)]).exits(0).requests[0].messages[0]["content"].startswith(manual + "\n")


@pytest.mark.parametrize("form", ["json_object", "none"])
def test_format_of_the_answer_is_a_setting(play, form):
    ran = play([says(GOOD)], settings=(f'format = "{form}"',)).exits(0)
    (request,) = ran.requests
    assert request.body.get("response_format") == ({"type": form} if form != "none" else None)
    assert "narrative" in request.messages[0]["content"], "only the rules describe the answer"


def test_later_request_begins_like_the_first_and_has_its_turn(play):
    other = {**GOOD, "narrative": "The stair winds down."}
    ran = play([says(GOOD), says(other)], "I open the door", "1").exits(0)
    first, second = ran.requests
    assert second.messages[0] == first.messages[0]
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "user"]
    assert "I open the door" in second.messages[1]["content"] and TOLD in second.messages[2]["content"]
    assert "I go down" in second.messages[3]["content"], "1 is the first choice"


def test_game_that_is_continued_in_another_process_has_the_same_turns(command, story, tmp_path):
    with ChatServer(says(GOOD)) as server:
        folder = story(server.url)
        for prompts in (["I look", "I listen"], ["I go"]):
            ran = command("play", "--story", folder, "--store", tmp_path / "saves.db", "--session", "evening", *prompts)
            assert ran.status == 0, ran
    _, before, now = server.requests
    assert [message["role"] for message in now.messages] == ["system", *["user", "assistant"] * 2, "user"]
    # Servers find this beginning in their cache.
    assert now.messages[:3] == before.messages[:3]


def test_undone_turn_is_not_in_later_requests(command, story, tmp_path):
    with ChatServer(says(GOOD)) as server:
        ran = command("play", "--story", story(server.url), "--store", tmp_path / "saves.db",
                      stdin="I look\nI shout\n/undo\nI listen\n")
    assert ran.status == 0, ran
    look, _, listen = server.requests
    assert [message["role"] for message in listen.messages] == ["system", "user", "assistant", "user"]
    assert listen.messages[1]["content"] == "I look" and "I listen" in listen.messages[3]["content"]


def test_tool_that_fails_is_not_tried_again(play):
    failing = "#!/bin/sh\ncat >/dev/null\necho x >> \"$0.ran\"\n" + f"echo '{done(ok=False, summary='No oil.')}'\n"
    with ChatServer(says({**GOOD, "tools": [use("lamp", oil=3)]}), says({**GOOD, "narrative": "It stays dark."})) as server:
        ran = play(server, tools={"lamp": failing})
    assert ran.status == 0 and "It stays dark." in shown(ran), ran
    assert [event["attempt"] for event in of(ran, "attempt_started")] == [1], ran
    assert "No oil." in server.requests[1].text


def test_tools_run_and_the_server_is_asked_again_with_their_results(play):
    ran = play([says({"narrative": "You strike a match.", "tools": [use("lamp", oil=2)], "choices": []}), says(GOOD)],
               tools={"lamp": lamp()}).exits(0)
    assert ran.out.index("You strike a match.") < ran.out.index("✓ The lamp burns.") < ran.out.index(TOLD)
    first, second = ran.requests
    assert second.messages[:1] == first.messages[:1]
    new = "\n".join(message["content"] for message in second.messages[len(first.messages):])
    assert "You strike a match." in new and "The lamp burns." in new and "hours" in new, new


def test_server_is_told_that_a_tool_failed(play):
    ran = play([says({"narrative": "You strike a match.", "tools": [use("lamp", oil=2)], "choices": []}), says(GOOD)],
               tools={"lamp": lamp(ok=False, summary="The wick is wet.")}).exits(0)
    assert TOLD in ran.out and "The wick is wet." in ran.requests[1].text, ran.requests[1].messages
    assert "lamp" not in json.dumps(ran.requests[1].body["response_format"]), "it failed in this prompt"


def test_server_is_told_how_an_input_violates_the_schema_of_a_tool(play):
    ran = play([says({"narrative": "You pour.", "tools": [use("lamp", oil=99)], "choices": []}), says(GOOD)],
               tools={"lamp": lamp()}).exits(0)
    assert TOLD in ran.out and "99" in ran.requests[1].text and "at most 9" in ran.requests[1].text


def test_tool_may_be_used_twice(play):
    ran = play([says({"narrative": "You pour.", "tools": [use("lamp", oil=2), use("lamp", oil=3)]}), says(GOOD)])
    assert ran.status == 0 and ran.out.count("✓ The lamp burns.") == 2 and TOLD in ran.out, ran


def test_model_that_always_uses_tools_is_ended(play):
    ran = play([says({"narrative": "You pour.", "tools": [use("lamp", oil=oil)]}) for oil in range(1, 10)])
    assert ran.out.count("✓ The lamp burns.") == 4 and len(ran.requests) <= 10, ran
    assert all("lamp" not in json.dumps(request.body["response_format"]) for request in ran.requests[4:])


def test_model_that_repeats_its_answer_is_ended(play):
    ran = play([says({"narrative": "You pour.", "tools": [use("lamp", oil=2)]})])
    assert ran.status == 0 and ran.out.count("✓ The lamp burns.") == 1 and len(ran.requests) == 2, ran


@pytest.mark.parametrize("prompt", ['I say "no\\" {twice}', "I wave 😀 \u2028 \x01 \x7f", "x" * 100_000],
                         ids=["quotes", "control", "long"])
def test_prompt_may_be_any_text(play, prompt):
    ran = play([says(GOOD)], prompt, settings=("budget = 40000",)).exits(0)
    assert ran.requests[0].messages[-1]["content"].startswith(prompt)


# ---------------------------------------------------------------- answers that are used


def fenced(text):
    return f"```json\n{text}\n```"


def cut(text, at, finish="length"):
    """An answer that ends before `at`."""
    text = answer(text)
    return says(text[:text.index(at)], finish=finish)


def interleaved(between, *documents):
    return b"".join(between + events(each, is_done=False) for each in documents) + between + events()


def usage_of(value):
    return says(GOOD, usage=value)


STREAM = events(*deltas(GOOD))
SMILES = events(*deltas(SMILE))
NULLS = {"id": None, "error": None, "usage": None, "choices": [
    {"index": 0, "finish_reason": None, "logprobs": None,
     "delta": {"role": None, "content": None, "tool_calls": None, "reasoning_content": None}}]}
USABLE = {
    "is one piece": says(GOOD, piece=1 << 20),
    "is in pieces of one character": says(GOOD, piece=1),
    "has characters split between chunks of one byte": chunked(SMILES, piece=1),
    "has escaped surrogate pairs split between pieces": says(json.dumps(SMILE), piece=1),
    "has characters that are not escaped": says(json.dumps(SMILE, ensure_ascii=False), piece=3),
    "is fenced": says(fenced(answer(GOOD))),
    "is fenced in pieces of one character": says(fenced(answer(GOOD)), piece=1),
    "is fenced without a language": says(f"```\n{answer(GOOD)}\n```"),
    "has text before it": says(f"Here is my answer:\n\n{answer(GOOD)}", piece=1),
    "has text and a fence before it, and text after it": says(f"Sure!\n{fenced(answer(GOOD))}\nIs that fine?"),
    "has white space around it": says(f"\n\n  {answer(GOOD)}  \n"),
    "is followed by a second object": says(answer(GOOD) + answer({**GOOD, "narrative": "Another."})),
    "is in an array": says(f"[{answer(GOOD)}]"),
    "has two narratives": says(answer(GOOD)[:-1] + ', "narrative": "Another."}'),
    "has a narrative that is not the first member": says(dict(reversed(GOOD.items()))),
    "has a narrative and members that are unknown": says({"thoughts": {"narrative": "no"}, **GOOD, "mood": [1]}),
    "has only a narrative": says({"narrative": TOLD}),
    "has members that are null": says({"narrative": TOLD, "tools": None, "choices": None}),
    "has reasoning": says(GOOD, reasoning='First {"narrative": "Not this."} came to mind.'),
    "is in the reasoning": says("", reasoning=answer(GOOD)),
    "is prose": says(TOLD),
    "is prose in pieces of one character": says(TOLD, piece=1),
    "is long prose with braces": says(f"{TOLD} {{Closed}}, says a sign. " * 9),
    "is not streamed": whole(completion(GOOD)),
    "is not streamed, with a charset": whole(completion(GOOD), kind="application/json; charset=utf-8"),
    "is not streamed, in chunks of one byte": chunked(completion(SMILE), piece=1, kind="application/json"),
    "is prose that is not streamed": whole(completion(TOLD)),
    "ends without DONE": chunked(events(*deltas(GOOD), is_done=False)),
    "ends without an empty line": chunked(STREAM[:-2]),
    "ends without usage": usage_of(None),
    "has usage null in its pieces": chunked(events(*({**each, "usage": None} for each in deltas(GOOD, usage=None)))),
    "has usage in each piece": chunked(events(*({**each, "usage": {"prompt_tokens": 9}} for each in deltas(GOOD)))),
    "has usage that is text": usage_of("many"),
    "has usage with wrong numbers": usage_of({"prompt_tokens": -1, "completion_tokens": 1.5, "total_tokens": None}),
    "has usage with huge numbers": usage_of({"prompt_tokens": 1 << 64, "completion_tokens": (1 << 64) - 1}),
    "has members of events that are null": chunked(events(NULLS, *deltas(GOOD), NULLS)),
    "has events without choices": chunked(events({}, {"choices": None}, {"choices": []}, *deltas(GOOD))),
    "has lines that end with CR LF": chunked(events(*deltas(GOOD), end="\r\n")),
    "has lines that end with CR LF, in chunks of one byte": chunked(events(*deltas(GOOD), end="\r\n"), piece=1),
    "has lines that end with CR": chunked(events(*deltas(GOOD), end="\r")),
    "has no space after data": chunked(events(*deltas(GOOD), colon=":")),
    "has comments between events": chunked(interleaved(b": ping\n\n:\n", *deltas(GOOD))),
    "has other fields in its events": chunked(interleaved(b"event: message\nid: 7\nretry: 10\n", *deltas(GOOD))),
    "has data after DONE": chunked(STREAM + events(*deltas("More."))),
    "has no type": chunked(STREAM, kind=None),
    "is declared as plain text": chunked(STREAM, kind="text/plain"),
    "is of a server with HTTP/1.0": lambda peer: (peer.send(head(version="1.0") + STREAM), peer.close()),
    "ends with its connection": lambda peer: (peer.send(head() + STREAM), peer.close()),
    "has a length": whole(STREAM, kind="text/event-stream"),
    "has a header in another case": chunked(STREAM, kind="TEXT/Event-Stream; charset=UTF-8"),
    "comes after early hints": lambda peer: (peer.send(b"HTTP/1.1 100 Continue\r\n\r\n"), says(GOOD)(peer)),
    "is cut in a choice": cut(GOOD, "wait"),
    "is cut before the choices": cut(GOOD, '"choices"'),
    "is cut before the tools": cut(GOOD, ', "tools"'),
    "is cut after the tools": cut(GOOD, ', "choices"'),
}
WITHOUT_ESCAPE = "You see "
CUT = {
    "within the narrative": (cut(GOOD, " on a dark"), "The door creaks and opens"),
    "within the narrative, and reports a stop": (cut(GOOD, " on a dark", finish="stop"), "The door creaks and opens"),
    "after a backslash": (says('{"narrative": "You see \\', finish="length"), WITHOUT_ESCAPE),
    "within an escape": (says('{"narrative": "You see \\u20', finish="length"), WITHOUT_ESCAPE),
    "after the first half of a pair": (says('{"narrative": "You see \\ud83d', finish="length"), WITHOUT_ESCAPE),
    "within the second half of a pair": (says('{"narrative": "You see \\ud83d\\ude', finish="length"), WITHOUT_ESCAPE),
    "after an escaped backslash": (says('{"narrative": "You see \\\\', finish="length"), "You see \\"),
}


def assert_told(ran, told):
    """The narrative is what was told in pieces, once, and nothing else."""
    assert ran.status == 0, ran
    assert shown(ran).count(told) == 1 and "(taken back)" not in ran.out, ran
    assert [record["text"] for record in of(ran, "narrative")] == [told], ran
    pieces = "".join(record["text"] for record in of(ran, "narrative_delta"))
    # Short prose is not told in pieces: it could still be words before an object.
    assert pieces.strip() in (told, ""), (pieces, ran)
    (ended,) = of(ran, "turn_ended")
    assert (ended["outcome"], ended["generations"]) == ("completed", 1), ran


@pytest.mark.parametrize("how", USABLE, ids=lambda how: how.replace(" ", "-"))
def test_answer_is_told_if_it(play, how):
    ran = play([USABLE[how]])
    (told,) = (record["text"] for record in of(ran, "narrative"))
    assert told in (TOLD, SMILE["narrative"]) or ("long" in how and told.count(TOLD) == 9)
    assert_told(ran, told)
    assert len(ran.requests) == 1


@pytest.mark.parametrize("where", CUT, ids=lambda how: how.replace(" ", "-"))
def test_narrative_is_kept_if_the_answer_is_cut(play, where):
    reply, told = CUT[where]
    ran = play([reply])
    assert_told(ran, told.strip())
    assert len(ran.requests) == 1


def test_choices_of_an_answer_are_offered(play):
    with ChatServer(says(GOOD)) as server:
        assert "    1. I go down\n    2. I wait\n" in play(server).out


def test_choices_beyond_a_number_are_dropped(play):
    ran = play([says({**GOOD, "choices": [f"I try {number}" for number in range(60)]})])
    assert_told(ran, TOLD)
    assert "1. I try 0" in ran.out and "I try 20" not in ran.out


@pytest.mark.parametrize("narrative", ["One\u0000two", "One\u001b[2Jtwo", "One\u202etwo", "One\u0085two"])
def test_control_characters_of_an_answer_do_not_reach_the_terminal(play, narrative):
    ran = play([says({**GOOD, "narrative": narrative})]).exits(0).shows("One", "two")
    assert not set("\0\x1b\x85") & set(ran.out), ran


def test_tokens_are_reported(play):
    ran = play([says(GOOD)])
    (usage,) = of(ran, "narrator_usage")
    assert (usage["inputTokens"], usage["outputTokens"], usage["cachedTokens"]) == (900, 120, 800), usage
    assert usage["model"] == "small" and 0 <= usage["firstMs"] <= usage["totalMs"], usage
    (ended,) = of(ran, "turn_ended")
    assert ended["usage"]["inputTokens"] == 900, ended


def test_tokens_of_answers_that_were_not_used_are_reported_too(play):
    ran = play([says('{"narrative": 7}'), says(GOOD)])
    (ended,) = of(ran, "turn_ended")
    assert (ended["usage"]["reports"], ended["usage"]["outputTokens"]) == (2, 240), ended


# ---------------------------------------------------------------- answers that are not used


UNUSABLE = {
    "is not JSON": ('{"narrative": told}', "not valid JSON"),
    "has a comma too many": ('{"narrative": "Well", }', "not valid JSON"),
    "is empty": ("", "empty"),
    "is white space": (" \n\t ", "empty"),
    "is an empty object": ("{}", "narrative"),
    "has an empty narrative": ({"narrative": " ", "tools": [], "choices": ["I wait"]}, "narrative"),
    "has null as its narrative": ({"narrative": None}, "narrative"),
    "has a number as its narrative": ({"narrative": 7}, '"narrative" must be a string'),
    "has an object as its narrative": ({"narrative": {"text": TOLD}}, '"narrative" must be a string'),
    "names an unknown tool": ({"narrative": "La.", "tools": [use("sing", key="C")]}, 'no tool "sing"'),
    "names a path as a tool": ({"narrative": "La.", "tools": [use("../tools/lamp", oil=1)]}, "no tool"),
    "has a tool without a name": ({"narrative": "La.", "tools": [{"input": {}}]}, '"tool"'),
    "has a tool that is text": ({"narrative": "La.", "tools": ["lamp"]}, '"tools" must be an object'),
    "has tools that are an object": ({"narrative": "La.", "tools": use("lamp")}, '"tools" must be an array'),
    "has an input that is text": ({"tools": [{"tool": "lamp", "input": "oil"}]}, "must be an object"),
    "has an input that is an array": ({"tools": [{"tool": "lamp", "input": [1]}]}, "must be an object"),
    "has too many tools": ({"narrative": "La.", "tools": [use("lamp", oil=1)] * 40}, '"tools"'),
    "has choices that are text": ({"narrative": "La.", "choices": "I wait"}, '"choices" must be an array'),
    "has a choice that is a number": ({"narrative": "La.", "choices": [7]}, '"choices" must be a string'),
    "is cut within its tools": (answer({"narrative": "La.", "tools": [use("lamp", oil=2)]})[:-6], '"tools"'),
    "is cut within the list of its tools": (answer(GOOD)[:answer(GOOD).index('], "choices"')], '"tools"'),
    "is cut before its narrative": ('{"narrat', "narrative"),
    "has the first half of a surrogate pair": ('{"narrative": "Oh \\ud83d no", "tools": []}', "not valid JSON"),
    "has the second half of a surrogate pair": ('{"narrative": "Oh \\ude00 no", "tools": []}', "surrogate pair"),
    "has half of a surrogate pair in an input": ({"tools": [use("lamp", oil="\ude00")]}, "surrogate pair"),
}


@pytest.mark.parametrize("how", UNUSABLE, ids=lambda how: how.replace(" ", "-"))
def test_server_is_asked_again_with_the_fault_if_the_answer(play, how):
    content, fault = UNUSABLE[how]
    finish = "length" if "cut" in how else "stop"
    ran = play([says(content, finish=finish), says(GOOD)]).exits(0).shows(TOLD)
    first, second = ran.requests
    assert second.messages[0] == first.messages[0]
    *_, repeated, last = second.messages
    assert last["role"] == "user" and fault in last["content"], second.messages
    if answer(content).strip():
        assert repeated["role"] == "assistant" and repeated["content"] == answer(content), second.messages
    (ended,) = of(ran, "turn_ended")
    assert (ended["outcome"], ended["generations"]) == ("completed", 2), ran


@pytest.mark.parametrize("how", UNUSABLE, ids=lambda how: how.replace(" ", "-"))
def test_turn_ends_in_the_fallback_if_five_answers_are_not_used(play, how):
    content, fault = UNUSABLE[how]
    ran = play([says(content, finish="length" if "cut" in how else "stop")])
    assert ran.status == 1 and FALLBACK in ran.out and fault in shown(ran), ran
    assert len(ran.requests) == 5


def test_repeated_answer_is_bounded(play):
    ran = play([says({"narrative": 7, "tools": "é" * 100_000}, piece=5000), says(GOOD)]).exits(0)
    assert ran.requests[1].messages[-2]["content"].startswith('{"narrative": 7')
    assert len(ran.requests[1].text) < 10_000


def test_long_name_of_an_unknown_tool_does_not_flood_the_terminal(play):
    ran = play([says({"narrative": "La.", "tools": [use("é" * 100_000)]}, piece=5000), says(GOOD)])
    assert ran.status == 0 and max(map(len, ran.lines)) < 500, ran


# ---------------------------------------------------------------- responses that are no answers


def pieces(*texts):
    """A part of a stream."""
    return events(*map(delta, texts), is_done=False)


ONE = events(*deltas(GOOD)[:4], is_done=False)
BROKEN = {
    "has an event that is not JSON": chunked(ONE + b'data: {"choices": [\n\n' + STREAM),
    "has an event that is an array": chunked(ONE + b"data: [1]\n\n" + STREAM),
    "reports an error in its stream": chunked(ONE + events(json.loads(error("the model crashed")))),
    "reports an error as text": chunked(events({"error": "the model crashed"})),
    "ends its stream in the middle": begins(ONE, Peer.close),
    "ends its body in the middle of an event": chunked(ONE + STREAM[:40].rstrip()),
    "resets the connection in the middle": begins(ONE, Peer.reset),
    "sends a body that is shorter than its length":
        lambda peer: (peer.send(head("200 OK", "Content-Length: 9999") + ONE), peer.close()),
    "sends an empty stream": chunked(b""),
    "sends only DONE": chunked(events()),
    "sends only comments": chunked(b": ping\n\n" * 9),
    "sends only a tool call": chunked(events(
        delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "lamp", "arguments": '{"oil": 2}'}}]),
        delta(finish="tool_calls"))),
    "sends an empty body": whole(b""),
    "sends a body that is not JSON": whole(b"<html>Good day</html>", kind="text/html"),
    "sends a body that is null": whole(b"null"),
    "sends a body without choices": whole(b"{}"),
    "sends a body with an error": whole(error("the model crashed")),
    "sends no content": lambda peer: peer.send(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "sends text that is not UTF-8": chunked(STREAM.replace(b"creaks", b"cr\xff\xfeks")),
    "sends halves of a surrogate pair in two events": chunked(
        STREAM.replace(b"opens", b'\\ud83d"}}]}\n\ndata: {"choices": [{"delta": {"content": "\\ude00')),
    "sends the second half of a surrogate pair": chunked(STREAM.replace(b"opens", b"\\ude00")),
    "sends white space without end": begins(pieces('{"narrative": "So'), repeats(pieces(" \n" * 500))),
    "sends brackets without end": begins(pieces('{"choices": '), repeats(pieces("[" * 1000))),
    "speaks another protocol": lambda peer: (peer.send(b"SSH-2.0-OpenSSH_9.2p1\r\n"), peer.close()),
    "redirects": whole(b"", "307 Temporary Redirect", "Location: /v2/chat/completions"),
}


@pytest.mark.parametrize("how", BROKEN, ids=lambda how: how.replace(" ", "-"))
def test_turn_continues_with_the_next_answer_if_the_server(play, how):
    ran = play([BROKEN[how], says(GOOD)])
    assert len(ran.requests) <= 2
    if ran.status == 0:
        assert TOLD in ran.out, ran
        *_, last = ran.requests[-1].messages
        assert ran.server.url not in last["content"], "the model cannot correct a fault of its server"
    else:
        assert ran.status == 1 and FALLBACK in ran.out, ran
        assert how == "redirects", ran


@pytest.mark.parametrize("how", BROKEN, ids=lambda how: how.replace(" ", "-"))
def test_turn_ends_in_the_fallback_if_the_server_always(play, how):
    ran = play([BROKEN[how]], times="narrator_ms = 2000")
    assert ran.status == 1 and FALLBACK in ran.out and "the narrator returned no plan: " in ran.out, ran
    assert 1 <= len(ran.requests) <= 10


@pytest.mark.parametrize("reply", [
    chunked(ONE + events(json.loads(error("the model crashed")))), whole(error("the model crashed")),
    whole(error("the model crashed"), "400 Bad Request"),
    chunked(events({"object": "error", "message": "the model crashed"}))],
    ids=["in a stream", "in a body", "with a status", "as an object"])
def test_words_of_an_error_are_shown_to_the_author(play, reply):
    with ChatServer(reply) as server:
        assert "the model crashed" in shown(play(server, times="narrator_ms = 2000"))


def test_redirect_is_not_followed(play):
    with ChatServer(says(GOOD)) as other:
        with ChatServer(whole(b"", "308 Permanent Redirect", f"Location: {other.url}/chat/completions")) as server:
            ran = play(server)
    assert ran.status == 1 and FALLBACK in ran.out and "redirect" in ran.out, ran
    assert not other.requests


# ---------------------------------------------------------------- too much


FLOODS = {
    "an answer without end": begins(pieces('{"narrative": "'), repeats(pieces("word " * 100))),
    "prose without end": begins(b"", repeats(pieces("word " * 100))),
    "an event without end": begins(b"data: ", repeats(b"x" * 65536)),
    "data lines without end": begins(b"", repeats(b"data: x\n")),
    "reasoning without end": begins(b"", repeats(events(delta(reasoning_content="hm " * 100), is_done=False))),
    "empty pieces without end": begins(b"", repeats(pieces(""))),
    "comments without end": begins(b"", repeats(b": ping\n\n")),
    "a body without end": begins(b'{"choices": [{"message": {"content": "', repeats(b"x" * 65536),
                                 kind="application/json"),
    "an error without end": lambda peer: (
        peer.send(b"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n"), repeats(b"x" * 65536)(peer)),
    "a retry with a body without end": lambda peer: (
        peer.send(b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n"), repeats(b"x" * 65536)(peer)),
    "headers without end": lambda peer: (
        peer.send(b"HTTP/1.1 200 OK\r\n"), [peer.send(b"X-More: and more\r\n" * 1000) for _ in range(60000)]),
}


@pytest.mark.parametrize("what", FLOODS, ids=lambda what: what.replace(" ", "-"))
def test_server_that_sends_a_gigabyte_is_given_up(play, what):
    with ChatServer(FLOODS[what], says(GOOD)) as server:
        ran = play(server, times="narrator_ms = 20000")
        first = server.requests[0]
        assert first.closed.wait(DEADLINE)
    assert first.sent < 100_000_000, f"the client read {first.sent} bytes"
    assert len(server.requests) <= 2
    assert (ran.status == 0 and TOLD in ran.out) or (ran.status == 1 and FALLBACK in ran.out), ran
    assert max(map(len, ran.lines)) < 500, "an error message is too long"


@pytest.mark.parametrize("depth", [100, 10_000, 300_000])
@pytest.mark.parametrize("before, after", [
    ('"choices": ', ""), ('"mood": ', ""), ('"tools": [{"tool": "lamp", "input": {"oil": ', "}}]")],
    ids=["choices", "unknown member", "input"])
@pytest.mark.parametrize("is_cut", [False, True], ids=["whole", "cut"])
def test_deep_nesting_does_not_break_the_turn(play, depth, before, after, is_cut):
    text = '{"narrative": "' + TOLD + '", ' + before + "[" * depth
    if not is_cut:
        text += "]" * depth + after + "}"
    play([says(text, piece=4000), says(GOOD)]).exits(0).shows(TOLD)


# ---------------------------------------------------------------- statuses


@pytest.mark.parametrize("status", ["429 Too Many", "500 Oh", "502 Bad Gateway", "503 Busy", "504 Late"])
def test_busy_server_is_asked_again_within_the_same_generation(play, status):
    ran = play([whole(error("try later"), status), says(GOOD)])
    assert_told(ran, TOLD)
    first, second = ran.requests
    assert second.at - first.at >= 0.45 and second.body == first.body


def test_server_may_say_when_it_is_asked_again(play):
    ran = play([whole(error("slowly"), "429 Too Many", "Retry-After: 1"), says(GOOD)])
    assert_told(ran, TOLD)
    first, second = ran.requests
    assert second.at - first.at >= 0.95


@pytest.mark.parametrize("value", ["0", "-1", "soon", "", "1e9", "99999999999999999999", "0.1",
                                   "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_retry_after_may_be_anything(play, value):
    with ChatServer(whole(error("slowly"), "429 Too Many", f"Retry-After: {value}"), says(GOOD)) as server:
        ran = play(server, times="narrator_ms = 3000")
    assert ran.status in (0, 1) and len(server.requests) <= 2 + 4, ran
    assert TOLD in ran.out or FALLBACK in ran.out, ran


@pytest.mark.parametrize("seconds, limit", [("3600", 120000), ("86400", 120000), ("99999", 120000), ("9" * 30, 120000),
                                            ("86400", 0)])
def test_waiting_beyond_the_time_of_a_reply_or_an_hour_ends_at_once(play, seconds, limit):
    with ChatServer(whole(error("slowly"), "429 Too Many", f"Retry-After: {seconds}")) as server:
        begin = time.monotonic()
        ran = play(server, times=f"narrator_ms = {limit}")
    assert ran.status == 1 and FALLBACK in ran.out and "slowly" in shown(ran), ran
    assert time.monotonic() - begin < 120 and len(server.requests) == 1


def test_busy_server_is_given_up_within_the_times_of_the_turn(play):
    ran = play([whole(error("try later"), "503 Busy")], times="narrator_ms = 1300")
    assert ran.status == 1 and FALLBACK in ran.out and "try later" in shown(ran), ran
    assert len(ran.requests) == 2, "it waits 0.5 s once, and then has no time to wait 1 s"


def test_busy_server_is_asked_four_times_for_a_prompt(play):
    ran = play([whole(error("try later"), "503 Busy")])
    assert ran.status == 1 and FALLBACK in ran.out and "try later" in shown(ran), ran
    assert len(ran.requests) == 4


def test_busy_server_is_named_and_not_asked_more_often_if_the_time_is_over_while_it_is_waited_for(play):
    ran = play([whole(error("slowly"), "429 Too Many", "Retry-After: 1")],
               times="narrator_ms = 20000\nnarrator_first_ms = 1500")
    assert ran.status == 1 and FALLBACK in ran.out, ran
    assert "429" in shown(ran) and "no time left" in shown(ran), ran
    assert len(ran.requests) == 2


def test_retries_are_counted_for_the_prompt(play):
    faulty = says({"narrative": 7})
    busy = whole(error("try later"), "503 Busy", "Retry-After: 0")
    ran = play([busy, busy, faulty, busy, busy])
    assert ran.status == 1 and FALLBACK in ran.out and "try later" in shown(ran), ran
    assert len(ran.requests) == 5


REFUSALS = {
    "400 Bad Request": error("This model does not exist"),
    "401 Unauthorized": error("Incorrect API key provided"),
    "403 Forbidden": b'{"detail": "Not for you"}',
    "404 Not Found": b"<html><h1>There is nothing here</h1></html>",
    "422 Unprocessable": error("max_tokens is too large"),
}


@pytest.mark.parametrize("status", REFUSALS)
def test_refused_request_is_not_repeated(play, status):
    ran = play([whole(REFUSALS[status], status)], settings=('format = "json_schema"',)).exits(1).shows(FALLBACK)
    assert status[:3] in ran.out, ran
    words = {"404": "nothing here", "403": "Not for you", "422": "too large", "401": "Incorrect API key",
             "400": "does not exist"}[status[:3]]
    assert words in shown(ran), ran
    assert len(ran.requests) == 1


def test_player_is_told_once_that_the_narrator_gave_no_answer(command, story):
    with ChatServer(whole(error("No key"), "401 Unauthorized")) as server:
        terminal = command.on_terminal("play", "--no-store", "--story", story(server.url), env=environment(TERM="dumb"))
        for prompt in ("go", "go on", "/quit"):
            terminal.prompt(prompt + "\n")
        ran = terminal.finish()
    assert ran.out.count(FALLBACK) == 2 and ran.out.count("The narrator gave no usable answer") == 1, ran


def test_next_prompt_asks_a_server_that_refused_the_last_one(play):
    ran = play([whole(error("No key"), "401 Unauthorized"), says(GOOD)], "go", "go on")
    assert ran.status == 1 and ran.out.index(FALLBACK) < ran.out.index(TOLD), ran
    assert len(ran.requests) == 2


@pytest.mark.parametrize("body", [b"", b"\x1b[2J\x00oh", b"\xff\xfe", b"x" * 100_000, b"[" * 100_000,
                                  b'{"error": {"message": 7}}', b'{"error": null}', b'{"error": ["a"]}'],
                         ids=["empty", "control", "not UTF-8", "long", "deep", "number", "null", "array"])
def test_body_of_a_refusal_may_be_anything(play, body):
    ran = play([whole(body, "400 Bad Request")], settings=('format = "json_schema"',))
    assert ran.status == 1 and FALLBACK in ran.out and "400" in ran.out, ran
    assert "\x1b" not in ran.out and max(map(len, ran.lines)) < 500, ran
    assert len(ran.requests) == 1


# ---------------------------------------------------------------- connections


def refused():
    """A URL at which no server listens. The port stays taken while the socket is open."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken, f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_turn_without_a_server_ends_in_the_fallback_and_names_the_address(play):
    taken, url = refused()
    with taken:
        ran = play(url, times="narrator_ms = 700")
    assert ran.status == 1 and FALLBACK in ran.out, ran
    assert url.split("/")[2] in shown(ran), ran


@pytest.mark.parametrize("fails", [Peer.close, Peer.reset], ids=["closed", "reset"])
def test_connection_that_fails_before_the_answer_is_made_again(play, fails):
    ran = play([fails, says(GOOD)])
    assert_told(ran, TOLD)
    assert len(ran.requests) == 2


def test_turns_share_a_connection(play):
    ran = play([says(GOOD)], "one", "two", "three")
    assert ran.status == 0 and ran.out.count(TOLD) == 3, ran
    assert ran.server.connections == 1 and len(ran.requests) == 3


def test_server_may_close_the_connection_after_each_answer(play):
    def once(peer):
        says(GOOD)(peer)
        peer.close()

    ran = play([once], "one", "two", "three")
    assert ran.status == 0 and ran.out.count(TOLD) == 3, ran
    assert ran.server.connections >= 3 == len(ran.requests)


def test_server_may_close_the_connection_when_the_next_request_arrives(play):
    ran = play([says(GOOD), Peer.close, says(GOOD), Peer.reset, says(GOOD)], "one", "two", "three")
    assert ran.status == 0 and ran.out.count(TOLD) == 3, ran
    assert len(ran.requests) == 5


# ---------------------------------------------------------------- times


STALLS = {
    "before the headers": Peer.stall,
    "in the headers": lambda peer: (peer.send(b"HTTP/1.1 200 OK\r\nContent-Ty"), peer.stall()),
    "after the headers": begins(b"", Peer.stall),
    "in an event": begins(STREAM[:30], Peer.stall),
    "in the answer": begins(ONE, Peer.stall),
    "after the answer": begins(events(*deltas(GOOD)[:-2], is_done=False), Peer.stall),
    "in a body": begins(completion(GOOD)[:-9], Peer.stall, kind="application/json"),
    "in an error": lambda peer: (peer.send(b"HTTP/1.1 400 Bad\r\nContent-Length: 99\r\n\r\n{"), peer.stall()),
    "in a retry": lambda peer: (peer.send(b"HTTP/1.1 503 Busy\r\nContent-Length: 99\r\n\r\n{"), peer.stall()),
}


@pytest.mark.parametrize("where", STALLS, ids=lambda where: where.replace(" ", "-"))
def test_turn_ends_and_closes_its_connections_if_the_server_stalls(play, where):
    with ChatServer(STALLS[where]) as server:
        play(server, times="narrator_ms = 200").exits(1).shows(FALLBACK)
        assert 1 <= len(server.requests) <= 2, "the player does not wait five times"
        assert all(request.closed.wait(DEADLINE) for request in server.requests)


TRICKLES = {
    "the narrative": ("narrator_ms = 300", pieces("x")),
    "comments": ("narrator_ms = 60000\nnarrator_first_ms = 60000\nnarrator_between_ms = 200", b": ping\n\n"),
    "white space": ("narrator_ms = 60000\nnarrator_first_ms = 60000\nnarrator_between_ms = 200",
                    pieces("")),
}


@pytest.mark.parametrize("what", TRICKLES)
def test_turn_ends_within_its_times_if_the_server_trickles(play, what):
    times, piece = TRICKLES[what]
    begin = pieces('{"narrative": "The door')
    started = time.monotonic()
    with ChatServer(begins(begin, trickles(piece))) as server:
        ran = play(server, times=times)
        assert all(request.closed.wait(DEADLINE) for request in server.requests)
    assert ran.status == 1 and FALLBACK in ran.out, ran
    assert time.monotonic() - started < 60 and len(server.requests) <= 5


def test_first_piece_has_its_own_time(play):
    reasoning = events(delta(reasoning_content="hm"), is_done=False)
    started = time.monotonic()
    ran = play([begins(b"", trickles(reasoning))], times="narrator_ms = 60000\nnarrator_first_ms = 200")
    assert ran.status == 1 and FALLBACK in ran.out, ran
    assert time.monotonic() - started < 60 and len(ran.requests) <= 5


def test_time_of_a_turn_ends_its_request(play):
    with ChatServer(begins(ONE, Peer.stall)) as server:
        ran = play(server, times="narrator_ms = 60000\nprompt_ms = 1000")
        assert server.requests[0].closed.wait(DEADLINE)
    assert ran.status == 1, ran
    assert len(server.requests) == 1


# ---------------------------------------------------------------- on a terminal


def test_narrative_appears_while_the_server_writes(command, story):
    text = "The door creaks on its hinges while you push, and after a while it opens on a dark stair."
    all_events = deltas({**GOOD, "narrative": text})
    go_on = threading.Event()
    half = len(all_events) // 2
    begin = events(*all_events[:half], is_done=False)
    with ChatServer(begins(begin, waits(go_on, events(*all_events[half:])))) as server:
        terminal = command.on_terminal("play", "--no-store", "--story", story(server.url), "go",
                                       env=environment(TERM="xterm-256color"))
        terminal.read_until("The door creaks")
        assert b"stair" not in terminal.seen
        go_on.set()
        ran = terminal.finish()
    assert ran.status == 0 and "I go down" in ran.out and "taken back" not in ran.out, ran


@pytest.mark.parametrize("where", ["before the headers", "in the answer"])
def test_ctrl_c_closes_the_connection_and_not_the_game(command, story, where):
    with ChatServer(STALLS[where], says(GOOD)) as server:
        terminal = command.on_terminal("play", "--no-store", "--story", story(server.url, times="narrator_ms = 0"),
                                       env=environment(TERM="dumb"))
        terminal.prompt("wait\n")
        request = server.wait_for_request()
        terminal.type("\x03", "the turn was cancelled")
        assert request.closed.wait(DEADLINE)
        terminal.prompt("go\n", TOLD)
        terminal.prompt("/quit\n")
        assert terminal.finish().status == 0
    assert [message["role"] for message in server.requests[1].messages] == ["system", "user"]


def test_ctrl_c_ends_the_waiting_for_a_busy_server(command, story):
    with ChatServer(whole(error("later"), "503 Busy", "Retry-After: 100"), says(GOOD)) as server:
        terminal = command.on_terminal("play", "--no-store", "--story", story(server.url, times="narrator_ms = 0"),
                                       env=environment(TERM="dumb"))
        terminal.prompt("wait\n")
        server.wait_for_request()
        terminal.type("\x03", "the turn was cancelled")
        terminal.prompt("go\n", TOLD)
        terminal.prompt("\x04")
        assert terminal.finish().status == 0
    assert len(server.requests) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_command_and_its_request(command, story, number):
    with ChatServer(STALLS["in the answer"]) as server:
        folder = story(server.url, times="narrator_ms = 0")
        process = command.popen("play", "--story", folder, "go",
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        request = server.wait_for_request()
        process.send_signal(number)
        assert process.wait(timeout=DEADLINE) in (128 + number, -number)
        assert request.closed.wait(DEADLINE)


# ---------------------------------------------------------------- the key


def test_key_is_sent_and_appears_nowhere_else(command, play, tmp_path):
    echo = f"Incorrect API key provided: {KEY}."
    replies = [says({"narrative": "You pour.", "tools": [use("lamp", oil=2)], "choices": []}), says(GOOD),
               says('{"narrative": 7}'), says(GOOD), whole(error(echo), "401 Unauthorized"),
               whole(error(echo)), whole(error(echo), "503 Busy"), chunked(b"data: " + echo.encode() + b"\n\n")]
    ran = play(replies, "one", "two", "three", "four", env=environment(TEST_KEY=KEY),
               settings=('key_variable = "TEST_KEY"', 'record = "exchanges.ndjson"'), times="narrator_ms = 700",
               tools={"lamp": lamp('tr "\\0" "\\n" < /proc/self/environ > "$PWD/environment"')},
               options=("--log", "debug", "--store", tmp_path / "saves.db", "--session", "evening"))
    assert ran.status == 1 and "Incorrect API key provided" in ran.out, ran
    assert {request.headers.get("authorization") for request in ran.requests} == {f"Bearer {KEY}"}
    for name in ("environment", "exchanges.ndjson", "saves.db"):
        assert len(list(tmp_path.rglob(name))) == 1, name
    found = [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert not found, found
    assert KEY not in ran.out + ran.err, ran
    assert not any(KEY in json.dumps(request.body) for request in ran.requests)


def test_missing_key_is_reported_with_its_variable(play):
    ran = play([says(GOOD)], settings=('key_variable = "TEST_KEY"',))
    assert ran.status in (1, 2) and "TEST_KEY" in ran.out + ran.err, ran
    assert not ran.requests


@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY}\r\nX-Other: 1"], ids=["line end", "header"])
def test_key_with_a_line_end_adds_no_header(play, key):
    ran = play([says(GOOD)], settings=('key_variable = "TEST_KEY"',), env=environment(TEST_KEY=key))
    assert KEY not in ran.out + ran.err, ran
    for request in ran.requests:
        assert request.headers["authorization"] == f"Bearer {KEY}" and "x-other" not in request.headers
    assert ran.requests or FALLBACK in ran.out, ran
