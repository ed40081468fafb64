# SPDX-License-Identifier: Apache-2.0
"""POST /api/reading and the response to POST /api/enter: the player's settings for reading are
stored in a file, which outlives the server."""

import json
import stat

import pytest

from serving import environment

CHOSEN = {"theme": "light", "textSize": 1.35, "lineWidth": "long", "details": True}


@pytest.fixture
def start(serve, tmp_path):
    """start() starts a server of the same user each time."""

    def begin(**changes):
        return serve(env=environment(**{"XDG_STATE_HOME": str(tmp_path / "state"), **changes}))

    return begin


def choose(page, chosen=None, **headers):
    headers.setdefault("Content_Type", "application/json")
    return page.post("/api/reading", json.dumps(CHOSEN if chosen is None else chosen).encode(), **headers)


def stored(page):
    return page.enter().json["reading"]


def test_settings_are_restored_in_the_next_session(start, tmp_path):
    first = start()
    assert stored(first) == {}
    assert choose(first).json == {"stored": True}
    assert stored(first) == CHOSEN
    file = tmp_path / "state/narratoria/reading.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    second = start()
    assert second.origin != first.origin
    assert stored(second) == CHOSEN
    assert choose(second, {"textSize": 2}).json == {"stored": True}
    assert stored(first) == {"textSize": 2}


def test_no_file_before_the_first_choice(start, tmp_path):
    page = start()
    page.play("hello")
    page.end()
    assert not (tmp_path / "state").exists()


def test_settings_need_the_token(start):
    page = start()
    choose(page)
    for token in ("", "0" * 32):
        answer = page.enter(token, cookie=None)
        assert answer.status in (400, 403) and "reading" not in answer.json and b"light" not in answer.body
    for cookie in (None, ""):
        assert page.get("/api/reading", cookie=cookie).status == (403 if cookie is None else 405)


@pytest.mark.parametrize("bad", [
    [], "dark", 1, None, {"theme": "purple"}, {"theme": ["dark"]}, {"textSize": 99}, {"textSize": "2"}, {"lineWidth": "../../x"},
    {"details": "yes"}, {"draft": "I open the door"}, {"theme": "dark", "more": {}}, {"lineWidth": "x" * 2000}], ids=str)
def test_invalid_settings_are_refused_and_not_stored(start, bad):
    page = start()
    choose(page)
    page.post("/api/reading", json.dumps(bad).encode(), Content_Type="application/json").has(400, "BAD_READING")
    assert stored(page) == CHOSEN


def test_unauthenticated_requests_change_nothing(start):
    page = start()
    assert choose(page, cookie=None).status == 403
    assert choose(page, Origin="http://evil.example").status == 403
    assert choose(page, Sec_Fetch_Site="same-site").status == 403
    assert choose(page, Content_Type="text/plain").status == 415
    assert stored(page) == {}


@pytest.mark.parametrize("content", [b"", b"{", b"\0" * 500, b'{"theme": "<script>"}', b"{}" * 10_000_000], ids=range(5))
def test_invalid_file_is_ignored_with_a_warning(start, tmp_path, content):
    file = tmp_path / "state/narratoria/reading.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    page = start()
    assert stored(page) == {}
    assert str(file) in page.said() and "are ignored" in page.said()
    assert choose(page).json == {"stored": True}
    assert stored(page) == CHOSEN


def test_unwritable_file_is_a_warning(start, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    page = start(XDG_STATE_HOME=str(tmp_path / "file"))
    for _ in range(2):
        assert choose(page).json == {"stored": False}
    assert page.said().count("kept only until") == 1
    assert stored(page) == {}


def test_default_file_is_in_the_home_folder(start, tmp_path):
    for relative in ("", "state"):
        page = start(XDG_STATE_HOME=relative, HOME=str(tmp_path / "home"))
        assert choose(page).json == {"stored": True}
        assert (tmp_path / "home/.local/state/narratoria/reading.json").exists()
    assert not (tmp_path / "state").exists()
    assert choose(start(XDG_STATE_HOME="", HOME="")).json == {"stored": False}
