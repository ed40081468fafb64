# SPDX-License-Identifier: Apache-2.0
"""HTML for notebooks: well-formed, bounded, and safe against hostile text."""

import base64
import html.parser
import json
import os
import xml.etree.ElementTree as ElementTree

import pytest
from from_schema import SCHEMAS, json_values, objects
from hypothesis import given, settings
from hypothesis import strategies as st

from narratoria._html import asset_html, result_html, state_html, turn_html, turns_html
from narratoria.documents import Asset, Attempt, EventRange, Result, ToolResult
from narratoria.store import StoredTurns

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</svg></title><script>alert(1)</script>",
    "]]><!--",
    "javascript:alert(1)",
    "&lt;script&gt;",
    "\x00\x1b[31m\x85",
    "\u202egnp.exe",
    "\ud800",
    "\uffff",
    "a" * 100000,
]
VOID = {"img"}
ALLOWED = set(
    "div span b i p pre a img audio video details summary ol li table thead tbody tr th td svg "
    "line text rect title".split()
)


class Checker(html.parser.HTMLParser):
    """Parses HTML as a browser does: records elements and attributes, and checks that all are
    closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.seen = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        assert tag in ALLOWED, tag
        for name, value in attributes:
            assert not name.startswith("on"), name
            if name in ("src", "href"):
                assert value.startswith(("data:image/", "data:audio/", "data:video/", "file:///"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        raise AssertionError("a comment")

    def elements(self, name):
        return [attributes for tag, attributes in self.seen if tag == name]


def check(text):
    text.encode("utf-8")
    ElementTree.fromstring(text)
    return Checker(text)


# --------------------------------------------------------------------------------------------------


def test_state_is_shown_as_tree():
    seen = check(
        state_html({"torch": {"lit": True, "hours": None}, "rooms": [1, "hall"], "no": {}})
    )
    assert "torch 2 members" in seen.text and "lit: true" in seen.text
    assert "hours: null" in seen.text and '1: "hall"' in seen.text and "no: { }" in seen.text
    assert [one.get("open") for one in seen.elements("details")] == ["open", "open", "open"]
    deep = check(state_html({"a": {"b": {"c": {"d": 1}}}}))
    assert [one.get("open") for one in deep.elements("details")] == ["open", "open", None, None]


def test_large_state_is_cut():
    text = state_html({"many": list(range(100000)), "long": "x" * 100000})
    seen = check(text)
    assert "99,900 more" in seen.text and "99,600 more" in seen.text
    assert len(text) < 60000
    wide = {str(a): {str(b): list(range(50)) for b in range(90)} for a in range(90)}
    assert len(state_html(wide)) < 600000
    assert "not shown" in check(state_html(json.loads('{"a":' * 500 + "1" + "}" * 500))).text


@settings(max_examples=60, deadline=None)
@given(json_values)
def test_any_state_gives_well_formed_html(value):
    check(state_html(value))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_state_is_escaped(text):
    check(state_html({text: [text, {text: text}]}, name=text))


# --------------------------------------------------------------------------------------------------


def attempt_of(number, second, milliseconds, state="completed", **more):
    return Attempt(
        number, state, f"2026-01-24T18:30:{second:06.3f}Z", milliseconds, EventRange(0, 0), **more
    )


def result_of(name="torch", error=None):
    torch = ToolResult(
        name,
        True,
        "completed",
        {},
        350,
        1,
        [],
        attempts=[
            attempt_of(1, 0.0, 100, "failed", code="EXIT_STATUS", exit_status=1),
            attempt_of(2, 0.2, 150, exit_status=0),
        ],
    )
    door = ToolResult(
        "door",
        False,
        "timeout",
        {},
        500,
        0,
        [],
        error or "took too long",
        "TIMEOUT",
        [attempt_of(1, 0.4, 500, "timeout", code=name, signal=15)],
    )
    hall = ToolResult("hall", False, "skipped", {}, 0, 0, [], "needs door")
    return Result("p", False, name, 900, [torch, door, hall], ["door"], 1, True)


def test_result_has_table_and_timeline():
    text = result_html(result_of())
    seen = check(text)
    for said in ("failed", "900 ms", "torch", "took too long", "TIMEOUT", "skipped", "350 ms"):
        assert said in seen.text, said
    [svg] = [one for one in ElementTree.fromstring(text).iter() if one.tag.endswith("}svg")]
    bars = [one for one in svg if one.tag.endswith("}rect")]
    assert [bar.attrib["fill"] for bar in bars] == ["#d1434b", "#2e8b57", "#c77700"]
    titles = [bar[0].text for bar in bars]
    assert titles == [
        "torch, attempt 1: failed, EXIT_STATUS, exit status 1, 100 ms",
        "torch, attempt 2: completed, exit status 0, 150 ms",
        "door, attempt 1: timeout, torch, signal 15, 500 ms",
    ]
    places = [(float(bar.attrib["x"]), float(bar.attrib["width"])) for bar in bars]
    assert places[0][0] == 150 and places[0][0] + places[0][1] < places[1][0]
    assert places[1][1] == pytest.approx(places[0][1] * 1.5, abs=0.2)
    assert places[2][0] + places[2][1] <= float(svg.attrib["width"])
    labels = [one.text for one in svg if one.tag.endswith("}text")]
    assert labels[:6] == ["0 ms", "200", "400", "600", "800", "1,000"]
    assert "skipped" in labels
    assert result_of()._repr_html_() == text


@pytest.mark.parametrize("milliseconds", [0, 1, 3, 99, 4999, 300000, 10**9])
def test_axis_fits_any_time_span(milliseconds):
    result = result_of()
    result.tool_results = [result.tool_results[0]]
    result.tool_results[0].attempts = [attempt_of(1, 0, milliseconds)]
    text = result_html(result)
    check(text)
    assert 2 <= text.count("<line") <= 8


def test_unreadable_time_has_no_bar():
    result = result_of()
    for tool in result.tool_results:
        for attempt in tool.attempts:
            attempt.started_at = "yesterday"
    assert "<svg" not in result_html(result)
    check(result_html(result))
    result = result_of()
    result.tool_results[0].attempts[0].started_at = "2026-01-24T20:30:00.1234567+02:00"
    assert result_html(result).count("<rect") == 3


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_result_is_escaped(text):
    result = result_of(text, text)
    result.plan_id = text
    result.state_conflicts = [{"path": text, "tools": [text, text]}]
    for tool in result.tool_results:
        tool.state = tool.error_code = text
        for attempt in tool.attempts:
            attempt.state = text
    shown = result_html(result)
    check(shown)
    assert len(shown) < 40000


@settings(max_examples=60, deadline=None)
@given(objects(SCHEMAS["result-1"], "result-1"))
def test_any_result_gives_well_formed_html(document):
    check(result_html(Result.from_dict(document)))


def test_long_tool_list_is_cut():
    result = result_of()
    result.tool_results = result.tool_results * 1000
    shown = result_html(result)
    assert "2,800 more tools" in check(shown).text and len(shown) < 400000


# --------------------------------------------------------------------------------------------------


def asset_of(path, media_type="image/png", **more):
    return Asset("p", "torch", 1, 9, "lit", "image", media_type, str(path), **more)


@pytest.mark.parametrize(
    "media_type, element, declared",
    [
        ("image/png", "img", "image/png"),
        ("Image/SVG+XML; charset=utf-8", "img", "image/svg+xml"),
        ("audio/ogg", "audio", "audio/ogg"),
        ("video/mp4", "video", "video/mp4"),
    ],
)
def test_media_is_embedded(tmp_path, media_type, element, declared):
    path = tmp_path / "file"
    path.write_bytes(b"<svg onload='alert(1)'/>\x00\xff")
    seen = check(asset_html(asset_of(path, media_type, metadata={"width": 256})))
    [attributes] = seen.elements(element)
    data = base64.b64encode(path.read_bytes()).decode()
    assert attributes["src"] == f"data:{declared};base64,{data}"
    assert "lit, of torch" in seen.text and "26 bytes" in seen.text and "width: 256" in seen.text


def test_plain_text_is_shown(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes("Der Türsteher <schläft>.\n".encode() + b"\xff")
    seen = check(asset_html(asset_of(path, "text/plain; charset=utf-8")))
    assert "Der Türsteher <schläft>.\n\ufffd" in seen.text
    path.write_bytes(b"a" * 70000)
    assert "4.4 KiB more" in check(asset_html(asset_of(path, "text/plain"))).text


@pytest.mark.parametrize(
    "media_type",
    [
        "text/html",
        "application/pdf",
        "model/obj",
        "image",
        "image/",
        'image/png"><script>alert(1)</script>',
        "image/x,<script>alert(1)</script>",
        "image/png,text/html",
        "text/html;image/png",
        "",
    ],
)
def test_other_media_types_are_linked(tmp_path, media_type):
    path = tmp_path / "page.html"
    path.write_text("<script>alert(1)</script>")
    shown = asset_html(asset_of(path, media_type))
    seen = check(shown)
    assert "is not shown here" in seen.text and "data:" not in shown
    assert seen.elements("a")[0]["href"] == f"file://{path}"


def test_too_large_file_is_not_embedded(tmp_path):
    path = tmp_path / "large.png"
    with open(path, "wb") as file:
        file.truncate(9 * 1024 * 1024)
    shown = asset_html(asset_of(path))
    assert "is larger than 8.0 MiB" in check(shown).text and len(shown) < 2000
    assert "9.0 MiB" in shown
    path.write_bytes(b"x" * 100)
    assert "larger than 99 bytes" in asset_html(asset_of(path), 99)
    assert "<img" in asset_html(asset_of(path), 100)


def test_unreadable_file_gives_reason(tmp_path):
    assert "No such file" in check(asset_html(asset_of(tmp_path / "missing"))).text
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in check(asset_html(asset_of(tmp_path / "pipe"))).text
    assert "not a regular file" in check(asset_html(asset_of(tmp_path))).text
    assert "null" in check(asset_html(asset_of("a\x00b"))).text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_asset_is_escaped(tmp_path, text):
    path = tmp_path / "file"
    path.write_text("x")
    for media_type in ("image/png", "audio/ogg", "text/plain", text):
        for where in (path, text):
            asset = Asset("p", text, 1, 1, text, text, media_type, str(where), {text: text})
            shown = asset_html(asset)
            check(shown)
            assert len(shown) < 40000
    check(asset_of(path)._repr_html_())


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_any_asset_gives_well_formed_html(name, path):
    check(asset_html(Asset("p", name, 1, 1, name, name, name, "/nowhere/" + path)))


# ---- a turn


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_in_turn_is_escaped(hostile, tmp_path):
    asset = Asset("p", "torch", 1, 9, hostile, "image", hostile, str(tmp_path / "none"))
    checked = check(turn_html(hostile, [hostile] * 3, [asset], None))
    assert [tag for tag, _ in checked.seen].count("li") == 3


def test_large_turn_is_cut(tmp_path):
    asset = Asset("p", "torch", 1, 9, "lit", "image", "image/png", str(tmp_path / "none"))
    text = turn_html("x" * 10**6, ["y" * 10**6] * 1000, [asset] * 1000, None)
    assert len(text) < 200_000
    assert "… 900 more choices" in check(text).text and "… 980 more assets" in check(text).text


def stored(turns, current, names=()):
    return StoredTurns(
        {
            "current": current,
            "turns": [
                {
                    "id": number,
                    "parent": parent,
                    "kind": "prompt",
                    "prompt": prompt,
                    "status": "completed",
                    **dict.fromkeys(("durable", "began", "ended", "narrative", "choices")),
                    "names": list(names),
                    "stateHash": None,
                    "ending": None,
                }
                for number, parent, prompt in turns
            ],
        }
    )


@pytest.mark.parametrize(
    "turns, current, lines",
    [
        (
            [(1, None, "a"), (2, 1, "b"), (3, 2, "c"), (4, 1, "d"), (5, 4, "e")],
            5,
            ["1 a", "├─ 2 b", "│  3 c", "4 d", "*5 e"],
        ),
        (
            [(1, None, "a"), (2, 1, "b"), (3, 2, "c"), (4, 1, "d"), (5, 4, "e")],
            2,
            ["1 a", "├─ 4 d", "│  5 e", "*2 b", "3 c"],
        ),
        (
            [(1, None, "a"), (2, None, "b"), (3, None, "c"), (4, 1, "d"), (5, 1, "e")],
            None,
            ["├─ 1 a", "│  ├─ 4 d", "│  5 e", "├─ 2 b", "3 c"],
        ),
    ],
)
def test_turn_tree_has_forks_of_terminal(turns, current, lines):
    text = stored(turns, current)._repr_html_()
    shown = [
        "".join(line.itertext()).replace(f"{current} ", f"*{current} ")
        for line in ElementTree.fromstring(text)
    ]
    assert shown == lines
    assert text.count("<b>") == (current is not None)


def test_turn_tree_and_repr_have_names_of_turns():
    turns = stored([(1, None, "a")], 1, ["lit", "start"])
    assert check(turns._repr_html_()).text == "1 a [lit] [start]"
    assert repr(turns) == "[<StoredTurn 1 'a' completed names=['lit', 'start']>]"


@pytest.mark.parametrize("text", HOSTILE)
def test_prompts_and_names_in_turn_tree_are_escaped(text):
    check(turns_html(stored([(1, None, text)], 1, [text]), 1))


def test_long_turn_tree_is_cut():
    turns = stored([(n, n - 1 or None, "go") for n in range(1, 2001)], 2000)
    assert "1,500 more turns" in turns._repr_html_()
