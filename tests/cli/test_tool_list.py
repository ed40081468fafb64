# SPDX-License-Identifier: Apache-2.0
"""narratoria tool list: what a story's tools are, for people, programs and models."""

import json

import pytest

from harness import BUILD, TORCH, done

DICE = {"description": "Rolls", "input": {"properties": {"sides": {"type": "integer"}}},
        "result": {"type": "object"}, "times": {"try_ms": 70}}


@pytest.fixture
def story(command):
    folder = command.story({})
    command.tool("story/tools/dice", done())
    (folder / "tools" / "dice.tool.json").write_text(json.dumps(DICE))
    command.tool("story/tools/bell.sh", done())
    return folder


def test_the_list_has_schema_runner_and_origin(command, story):
    ran = command("tool", "list", "--story", story)
    assert ran.status == 0, ran
    assert ran.out == (
        f"bell.sh  (process; file {story}/tools/bell.sh)\n"
        f"dice  (process; file {story}/tools/dice)\n"
        "    Rolls\n"
        '    input: {"properties":{"sides":{"type":"integer"}}}\n'
        '    result: {"type":"object"}\n'
        '    times: {"try_ms":70}\n')


def test_the_list_as_json(command, story):
    ran = command("tool", "list", "--story", story, "--json")
    assert ran.status == 0, ran
    assert ran.result == [
        {"name": "bell.sh", "description": "", "runner": "process",
         "origin": {"kind": "file", "place": f"{story}/tools/bell.sh"}},
        {"name": "dice", "description": "Rolls", "inputSchema": DICE["input"],
         "resultSchema": DICE["result"], "runner": "process",
         "origin": {"kind": "file", "place": f"{story}/tools/dice"}, "times": DICE["times"]},
    ]


def test_the_working_folder_may_be_the_story(command):
    ran = command("tool", "list", "--json", cwd=TORCH)
    assert ran.status == 0, ran
    assert any(tool["name"].startswith("torch-lighter") for tool in ran.result)


def test_a_plugins_tools_are_in_the_list(command):
    plugin = BUILD / "tests" / "plugins" / "probe.so"
    ran = command("tool", "list", "--plugin", plugin, "--json")
    assert ran.status == 0, ran
    assert ran.result and all(tool["origin"]["kind"] == "plugin" for tool in ran.result), ran
    assert all(tool["runner"] == "function" for tool in ran.result), ran


def test_the_openai_form_tells_which_names_it_does_not_allow(command, story):
    ran = command("tool", "list", "--story", story, "--format", "openai")
    assert ran.status == 1, ran
    assert ran.result == [{"type": "function", "function": {
        "name": "dice", "description": "Rolls",
        "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}}}}]
    assert "bell.sh is left out" in ran.err and "letters, digits" in ran.err


def test_the_mcp_form_has_the_schema_of_the_result(command, story):
    ran = command("tool", "list", "--story", story, "--format", "mcp")
    assert ran.status == 0, ran
    assert ran.result == {"tools": [
        {"name": "bell.sh", "description": "", "inputSchema": {"type": "object"}},
        {"name": "dice", "description": "Rolls",
         "inputSchema": {"type": "object", **DICE["input"]}, "outputSchema": {"type": "object"}}]}


def test_the_manifest_that_is_not_valid_refuses_the_story(command, story):
    (story / "tools" / "dice.tool.json").write_text('{"input": 7}')
    ran = command("tool", "list", "--story", story)
    assert (ran.status, ran.out) == (2, ""), ran
    assert "dice.tool.json:1:11: /input: a schema must be an object" in ran.err, ran


@pytest.mark.parametrize("words", [
    ("--story", "nowhere"), ("--format", "yaml"), ("--json", "--format", "mcp")], ids=" ".join)
def test_misuse_exits_with_2(command, words):
    ran = command("tool", "list", *words)
    assert ran.status == 2, ran
    assert ran.err.startswith("narratoria tool list: "), ran


def test_no_tools_is_no_fault(command):
    ran = command("tool", "list")
    assert (ran.status, ran.out) == (0, "there are no tools\n"), ran
