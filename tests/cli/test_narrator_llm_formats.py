# SPDX-License-Identifier: Apache-2.0
"""narratoria.narrator_llm finds out in which form a server keeps its answers, and asks for this form."""

import json
import socket
import threading
import time

import pytest

from chat_server import (DEADLINE, ChatServer, Peer, begins, calls, completion, delta, error, events, format_of, says,
                         whole)
from harness import environment
from model_stories import FALLBACK, GOOD, KEY, TOLD, of, play, shown, story  # noqa: F401

HELLO = "Hello, traveller!"
SIGN = {"sign": "heron"}
FORMATS = ["json_schema", "grammar", "tools", "json_object", "none"]


def keeps_to(*formats, otherwise=says(HELLO, usage=None)):
    """A server that keeps to these formats, and replies `otherwise` to the others."""
    def probe(request):
        name = format_of(request)
        if name not in formats:
            return otherwise
        return {"tools": calls(SIGN, usage=None), "json_object": says({"greeting": HELLO}, usage=None),
                "none": says(HELLO, usage=None)}.get(name, says(SIGN, usage=None))
    return probe


def refuses(status="400 Bad Request", message="unsupported"):
    return whole(error(message), status)


@pytest.mark.parametrize("format", FORMATS)
def test_first_format_that_the_server_keeps_to_is_used(play, format):
    reply = calls(GOOD) if format == "tools" else says(GOOD)
    with ChatServer(reply, probe=keeps_to(format)) as server:
        ran = play(server, "go", "on")
    assert ran.status == 0 and TOLD in shown(ran), ran
    assert [format_of(request) for request in server.requests] == [format] * 2
    assert [format_of(request) for request in server.probes] == FORMATS[:FORMATS.index(format) + 1]


@pytest.mark.parametrize("reply", [refuses(), refuses("422 Unprocessable"), refuses("500 Internal Server Error"),
                                   refuses("501 Not Implemented"), says({"error": "x"}, usage=None),
                                   whole(error("no grammars here"))], ids=range(6))
def test_server_may_refuse_a_format(play, reply):
    with ChatServer(says(GOOD), probe=keeps_to("json_object", otherwise=reply)) as server:
        ran = play(server)
    assert ran.status == 0 and TOLD in shown(ran), ran
    assert format_of(server.requests[0]) == "json_object"


def test_format_of_the_story_is_not_questioned(play):
    assert play([says(GOOD)], settings=('format = "json_schema"',)).exits(0).server.probes == []


def test_sign_in_other_words_is_not_the_format(play):
    with ChatServer(says(GOOD), probe=lambda request: says("Here: " + json.dumps(SIGN), usage=None)) as server:
        play(server)
    assert format_of(server.requests[0]) == "none"


@pytest.mark.parametrize("thoughts", [says("", reasoning="Hm, a traveller", usage=None),
                                      says("<think>Hm, a traveller", finish="length", usage=None)], ids=["apart", "within"])
def test_model_that_only_thinks_is_asked_for_a_schema(play, thoughts):
    with ChatServer(says(GOOD), probe=lambda request: thoughts) as server:
        assert play(server).status == 0
    assert format_of(server.requests[0]) == "json_schema" and len(server.probes) == 1


def test_empty_answer_does_not_bring_back_a_format_that_was_ignored(play):
    def probe(request):
        return says("" if format_of(request) == "tools" else HELLO, usage=None)
    with ChatServer(says(GOOD), probe=probe) as server:
        assert play(server).status == 0
    assert format_of(server.requests[0]) == "none"


@pytest.mark.parametrize("probe", [Peer.stall, begins(b"", Peer.stall),
                                   begins(events(delta("Hello tra"), is_done=False), Peer.stall)], ids=range(3))
def test_server_that_is_slow_to_show_its_format_is_asked_for_the_story(play, probe):
    with ChatServer(says(GOOD), probe=lambda request: probe) as server:
        ran = play(server, "go", "on", times="narrator_ms = 4000")
    assert ran.status == 0 and ran.out.count(TOLD) == 2, ran
    assert len(server.probes) == 1 and len(server.requests) == 2


def test_connection_that_breaks_says_nothing_about_a_format(play):
    probes = iter([begins(events(delta("Hello tra"), is_done=False), Peer.reset), says(SIGN, usage=None)])
    with ChatServer(says(GOOD), probe=lambda request: next(probes)) as server:
        ran = play(server, "go", "on")
    assert ran.status == 0 and [format_of(request) for request in server.requests] == ["json_schema"] * 2, ran


def test_server_is_not_asked_if_another_narrator_plays(command, story):
    with ChatServer(says(GOOD)) as server:
        folder = story(server.url)
        (folder / "prompts.json").write_text('{"prompts": [{"patterns": ["go"], "answers": [{"narrative": "You go."}]}]}')
        ran = command("play", "--narrator", "template", "--story", folder, "go")
    assert "You go." in ran.out and server.connections == 0, ran


def test_one_question_at_a_time_after_a_cancelled_prompt(command, story):
    probes = iter([refuses("503 Busy")])
    with ChatServer(says(GOOD), probe=lambda request: next(probes, says(SIGN, usage=None)), counter=Peer.stall) as server:
        terminal = command.on_terminal("play", "--no-store", "--story", story(server.url), env=environment(TERM="dumb"))
        terminal.prompt("one\n")
        deadline = time.monotonic() + DEADLINE
        while not server.counted:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        terminal.type("\x03")
        terminal.prompt("two\n", TOLD)
        terminal.prompt("/quit\n")
        assert terminal.finish().status == 0
    assert [format_of(request) for request in server.requests] == ["json_schema"]
    assert len(server.probes) == 2

@pytest.mark.parametrize("status", ["401 Unauthorized", "404 Not Found", "429 Too Many Requests",
                                    "503 Service Unavailable"])
def test_server_that_does_not_reply_yet_is_asked_again_with_the_next_prompt(play, status):
    replies = iter([refuses(status), says(SIGN, usage=None)])
    with ChatServer(says(GOOD), probe=lambda request: next(replies)) as server:
        ran = play(server, "go", "on")
    assert ran.status == 0, ran
    assert len(server.probes) == 2
    assert [format_of(request) for request in server.requests] == ["json_schema"] * 2


def test_server_that_never_shows_its_format_is_asked_twice(play):
    with ChatServer(says(GOOD), probe=lambda request: refuses("429 Too Many Requests")) as server:
        ran = play(server, "one", "two", "three", "four")
    assert ran.status == 0 and len(server.probes) == 2, ran


def test_schema_of_the_tools_may_be_refused_too(play):
    def answers(peer):
        (refuses() if format_of(peer.request) == "json_schema" else says(GOOD))(peer)
    ran = play([answers], "go", "on")
    assert ran.status == 0 and TOLD in shown(ran), ran
    assert [format_of(request) for request in ran.requests] == ["json_schema", "none", "none"]


def test_format_that_was_refused_once_is_not_used_again(play):
    def answers(peer):
        (refuses() if format_of(peer.request) == "json_schema" else says(GOOD))(peer)
    with ChatServer(answers, probe=lambda request: refuses("429 Too Many Requests")) as server:
        ran = play(server, "go", "on", "further")
    assert ran.status == 0 and FALLBACK not in ran.out, ran
    assert [format_of(request) for request in server.requests] == ["json_schema", "none", "none", "none"]


def test_request_that_is_refused_in_any_form_is_sent_twice(play):
    ran = play([refuses(message="the context is full")])
    assert FALLBACK in ran.out and "the context is full" in shown(ran), ran
    assert [format_of(request) for request in ran.requests] == ["json_schema", "none"]


def test_refusal_of_a_later_request_is_not_about_its_format(play):
    ran = play([says(GOOD), refuses(message="the context is full")], "go", "on")
    assert FALLBACK in ran.out and "the context is full" in shown(ran), ran
    assert len(ran.requests) == 2


def test_server_may_want_the_newer_name_of_the_limit(play):
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."

    def of_limit(reply):
        return lambda request: reply if "max_completion_tokens" in request.body else refuses(message=message)
    with ChatServer(lambda peer: of_limit(says(GOOD))(peer.request)(peer), probe=of_limit(says(SIGN))) as server:
        ran = play(server, settings=("max_tokens = 300",))
        assert ran.status == 0 and len(server.requests) == 1, ran
        ran = play(server, settings=("max_tokens = 300", 'format = "json_schema"'))
    assert ran.status == 0 and TOLD in shown(ran), ran
    assert server.requests[-1].body["max_completion_tokens"] == 300
    assert "max_tokens" not in server.requests[-1].body


def test_tokens_of_the_question_are_reported_with_the_first_answer(play):
    taken = {"prompt_tokens": 30, "completion_tokens": 5}
    with ChatServer(says(GOOD), probe=lambda request: says(SIGN, usage=taken)) as server:
        ran = play(server, "go", "on")
    assert [usage["inputTokens"] for usage in of(ran, "narrator_usage")] == [930, 900]


# ---------------------------------------------------------------- functions


def test_only_the_first_call_of_the_function_is_the_answer(play):
    ran = play([calls(GOOD, {**GOOD, "narrative": "Another."})], settings=('format = "tools"',))
    assert ran.status == 0 and TOLD in shown(ran) and "Another." not in ran.out, ran
    (tool,) = ran.requests[0].body["tools"]
    assert tool["function"]["name"] == "answer" and ran.requests[0].body["tool_choice"] == "required"
    assert list(tool["function"]["parameters"]["properties"]) == ["narrative", "tools", "choices"]


def test_narrative_is_told_while_the_call_is_written(play):
    ran = play([calls(GOOD)], settings=('format = "tools"',))
    assert "".join(each["text"] for each in of(ran, "narrative_delta")) == TOLD, ran


def test_call_may_come_whole(play):
    call = {"id": "c", "type": "function", "function": {"name": "answer", "arguments": json.dumps(GOOD)}}
    ran = play([whole(completion("", tool_calls=[call]))], settings=('format = "tools"',))
    assert ran.status == 0 and TOLD in shown(ran), ran


# ---------------------------------------------------------------- narrator check


def test_check_says_which_format_the_server_honours(command, story):
    with ChatServer(says(GOOD), probe=keeps_to("grammar")) as server:
        ran = command("narrator", "check", "--prompts", "1", "--story", story(server.url))
    assert ran.status == 0 and 'the server honours format = "grammar"' in ran.err, ran


# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize("counts", [lambda text: {"tokens": [7] * len(text)},
                                    lambda text: {"count": len(text), "tokens": None}], ids=["llama.cpp", "vLLM"])
def test_first_request_fits_into_the_budget_if_the_server_counts_its_tokens(play, counts):
    def counter(peer):
        body = peer.request.body
        assert peer.request.line == "POST /tokenize HTTP/1.1" and body["content"] == body["prompt"]
        whole(json.dumps(counts(body["content"])).encode())(peer)
    state = "[state]\n" + "".join(f"a{number:03} = 'open'\n" for number in range(400))
    settings = ("budget = 4000", "max_tokens = 200", state)
    with ChatServer(says(GOOD), counter=counter) as server:
        assert play(server, "go", "on", settings=settings).status == 0
    assert len(server.requests[0].text) + 200 <= 4000 and len(server.counted) == 1
    ran = play([says(GOOD)], settings=settings).exits(0)
    assert len(ran.requests[0].text) > 4000, "without the server's count, English text is assumed"


def test_key_is_not_sent_beyond_the_address_of_the_story(play):
    ran = play([says(GOOD)], settings=('key_variable = "MODEL_KEY"',), env=environment(MODEL_KEY=KEY)).exits(0)
    assert KEY in ran.requests[0].headers["authorization"]
    assert KEY not in str(ran.server.counted[0].headers)


def test_hosted_server_is_not_asked_to_count(play):
    connections = []

    def accept(listener):
        while len(connections) < 9:
            connection, _ = listener.accept()
            connections.append(connection.getsockname())
            connection.close()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        play(f"https://127.0.0.1:{listener.getsockname()[1]}/v1")
    assert len(connections) == 6, "one for the format; for the prompt one, one at once, and three after pauses"


def test_prompt_waits_for_the_count_and_is_sent_once(play):
    def answers(peer):
        # The client closes the connection when it does not wait for the count any more.
        server.counted[0].closed.wait(DEADLINE)
        says(GOOD)(peer)
    with ChatServer(answers, counter=Peer.stall) as server:
        ran = play(server, times="narrator_ms = 800")
    assert ran.status == 0 and TOLD in shown(ran), ran
    assert len(server.requests) == 1


@pytest.mark.parametrize("counter", [whole(b"[]"), whole(b'{"tokens": 7}'), whole(b'{"count": -1}'), whole(b"{", "500 Oh"),
                                     lambda peer: peer.close()], ids=range(5))
def test_server_need_not_count_tokens(play, counter):
    with ChatServer(says(GOOD), counter=counter) as server:
        assert play(server).status == 0
    assert len(server.counted) == 1
