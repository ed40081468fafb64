# SPDX-License-Identifier: Apache-2.0
"""What narrator_llm shows the model of earlier answers, with a server that gives written answers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

STORY = """title = "A cellar"
[opening]
text = "You stand in a dark cellar."
[narrator]
name = "narratoria.narrator_llm"
[tools]
allow_paths = ["tools"]
[fallback]
templates = ["Nothing comes of it."]
[times]
narrator_ms = 60000
[plugins."narratoria.narrator_llm"]
model = "none"
format = "json_schema"
base_url = "http://127.0.0.1:PORT/v1"
"""
LAMP = "#!/bin/sh\ncat >/dev/null\necho '{\"version\":\"0\",\"type\":\"done\",\"ok\":true}'\n"


@pytest.fixture
def model():
    """Answers with `answers`, one after the other; `asked` has the messages of each request."""
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self.path.endswith("/chat/completions"):
                return self.send_error(404)
            server.asked.append(json.loads(body)["messages"])
            answer = json.dumps({"choices": [{"message": {"content": server.answers.pop(0)}}]})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.answers = [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def play(command, model):
    def played(answers, *prompts):
        model.answers[:] = answers
        story = command.folder / "story"
        command.script("story/tools/lamp", LAMP)
        (story / "story.toml").write_text(STORY.replace("PORT", str(model.server_port)))
        return command("play", "--story", story, *prompts)

    return played


def answer(narrative, *tools):
    return json.dumps({"narrative": narrative, "choices": [],
                       "tools": [{"tool": name, "input": {}} for name in tools]})


def texts(messages):
    return "\n".join(message["content"] for message in messages)


def test_the_model_is_shown_how_the_story_begins(play, model):
    play([answer("It is dark.")], "I look around").exits(0)
    assert "You stand in a dark cellar." in model.asked[0][0]["content"]


def test_a_faulty_answer_is_shown_until_there_is_a_correct_one(play, model):
    play([answer("A lever!", "lever"), answer("You see a lamp."), answer("You hear rain.")],
         "I look around", "I listen").exits(0)
    _, repair, following = map(texts, model.asked)
    assert 'there is no tool "lever"' in repair
    assert "You see a lamp." in following
    assert "lever" not in following


def test_only_the_last_faulty_answer_is_shown_with_its_fault_alone(play, model):
    ran = play([answer("A lever!", "lever"), answer("A rope!", "rope"), answer("You see a lamp.")], "I look around")
    assert ran.status == 0, ran
    last = texts(model.asked[2])
    assert "rope" in last and "lever" not in last
    assert 'be used:\n- there is no tool "rope"' in last, "not the session's words"


def test_after_a_fallback_the_model_is_shown_its_text_instead_of_faulty_answers(play, model):
    ran = play([*[answer("A lever!", "lever")] * 5, answer("You hear rain.")], "I look around", "I listen")
    assert "Nothing comes of it." in ran.out, ran
    following = texts(model.asked[5])
    assert "Nothing comes of it." in following
    assert "lever" not in following


def test_a_turn_ends_when_the_model_repeats_its_answer_with_the_same_tools(play, model):
    play([answer("You light the lamp.", "lamp")] * 2, "I light the lamp").exits(0)
    assert len(model.asked) == 2


def test_a_turn_goes_on_when_the_same_tool_has_a_new_narrative(play, model):
    play([answer("You light the lamp.", "lamp"), answer("It goes out; you try again.", "lamp"),
          answer("It burns.")], "I light the lamp").exits(0).shows("It burns.")
