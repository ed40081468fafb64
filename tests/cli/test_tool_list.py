# SPDX-License-Identifier: Apache-2.0
"""narratoria tool list: the tools of a story, for people, programs and models."""

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


def test_list_has_schema_runner_and_origin(command, story):
    ran = command("tool", "list", "--story", story).exits(0)
    assert ran.out == (
        f"bell.sh  (process; file {story}/tools/bell.sh)\n"
        "    in scripts: bell\n"
        f"dice  (process; file {story}/tools/dice)\n"
        "    Rolls\n"
        '    input: {"properties":{"sides":{"type":"integer"}}}\n'
        '    result: {"type":"object"}\n'
        '    times: {"try_ms":70}\n')


def test_list_is_available_as_json(command, story):
    ran = command("tool", "list", "--story", story, "--json").exits(0)
    assert ran.result == [
        {"name": "bell.sh", "scriptName": "bell", "description": "", "runner": "process",
         "origin": {"kind": "file", "place": f"{story}/tools/bell.sh"}},
        {"name": "dice", "scriptName": "dice", "description": "Rolls", "inputSchema": DICE["input"],
         "resultSchema": DICE["result"], "runner": "process",
         "origin": {"kind": "file", "place": f"{story}/tools/dice"}, "times": DICE["times"]},
    ]


def test_story_defaults_to_the_working_folder(command):
    ran = command("tool", "list", "--json", cwd=TORCH).exits(0)
    assert any(tool["name"].startswith("torch-lighter") for tool in ran.result)


def test_tools_of_a_plugin_are_listed(command):
    plugin = BUILD / "tests" / "plugins" / "probe.so"
    ran = command("tool", "list", "--plugin", plugin, "--json").exits(0)
    assert ran.result and all(tool["origin"]["kind"] == "plugin" for tool in ran.result), ran
    assert all(tool["runner"] == "function" for tool in ran.result), ran


def test_openai_format_reports_names_that_it_does_not_allow(command, story):
    ran = command("tool", "list", "--story", story, "--format", "openai").exits(1)
    assert ran.result == [{"type": "function", "function": {
        "name": "dice", "description": "Rolls",
        "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}}}}]
    assert "bell.sh is left out" in ran.err and "letters, digits" in ran.err


def test_mcp_format_has_the_schema_of_the_result(command, story):
    ran = command("tool", "list", "--story", story, "--format", "mcp").exits(0)
    assert ran.result == {"tools": [
        {"name": "bell.sh", "description": "", "inputSchema": {"type": "object"}},
        {"name": "dice", "description": "Rolls",
         "inputSchema": {"type": "object", **DICE["input"]}, "outputSchema": {"type": "object"}}]}


def test_invalid_manifest_refuses_the_story(command, story):
    (story / "tools" / "dice.tool.json").write_text('{"input": 7}')
    ran = command("tool", "list", "--story", story).exits(2, out="")
    assert "dice.tool.json:1:11: /input: a schema must be an object" in ran.err, ran


@pytest.mark.parametrize("words", [
    ("--story", "nowhere"), ("--format", "yaml"), ("--json", "--format", "mcp")], ids=" ".join)
def test_misuse_exits_with_2(command, words):
    ran = command("tool", "list", *words).exits(2)
    assert ran.err.startswith("narratoria tool list: "), ran


def test_empty_list_is_not_an_error(command):
    command("tool", "list", "--story", command.story({})).exits(0, out="no tools found\n")


def test_without_a_story_there_is_nothing_to_list(command):
    command("tool", "list").exits(2, "no story.toml in the working folder")


@pytest.mark.parametrize("file, name", [
    ("ring-bell", "ring_bell"), ("ring.the.bell.sh", "ring_the_bell"), ("3d.py", "_3d"), ("LET", "_LET"),
    (".hidden", "_hidden"), ("glöckchen.sh", "gl_ckchen"), ("let", "let")])
def test_list_has_the_name_that_scripts_call(command, file, name):
    story = command.story({}, {file: f"#!/bin/sh\necho '{done(result=5)}'\n"})
    ran = command("tool", "list", "--story", story, "--json")
    assert [tool["scriptName"] for tool in ran.result] == [name], ran
    command.file("a.nuwa", f"PRINT(CALL {name} {{}})")
    command("script", "a.nuwa", "--story", story).exits(0, out="5\n")


@pytest.mark.parametrize("script, said", [
    ("#!/no/interpreter\n", "names an interpreter that does not exist: #!/no/interpreter"),
    ("#!/bin/sh\r\n", "carriage return")])
def test_tool_with_a_missing_interpreter_cannot_run(command, script, said):
    story = command.story({}, {"dice": script})
    command("tool", "list", "--story", story).exits(0).shows(f"cannot run: \"{story}/tools/dice\"", said)
    (tool,) = command("tool", "list", "--story", story, "--json").result
    assert said in tool["problem"]
    command("tool", "list", "--story", story, "--format", "mcp").exits(1, "dice is left out: it cannot run")


@pytest.mark.parametrize("form", ["openai", "mcp"])
@pytest.mark.parametrize("schema, shown", [
    ({"type": "string"}, None), ({"type": ["string", "null"]}, None), (False, None),
    ({"type": ["object", "null"], "minProperties": 1}, {"type": "object", "minProperties": 1}),
    ({"minProperties": 1}, {"type": "object", "minProperties": 1}),
    (True, {"type": "object"})], ids=str)
def test_model_formats_have_only_tools_with_object_inputs(command, form, schema, shown):
    story = command.story({}, {"odd": "#!/bin/sh\n", "plain": "#!/bin/sh\n"})
    (story / "tools" / "odd.tool.json").write_text(json.dumps({"input": schema}))
    ran = command("tool", "list", "--story", story, "--format", form)
    tools = ran.result["tools"] if form == "mcp" else [tool["function"] for tool in ran.result]
    inputs = {tool["name"]: tool["inputSchema" if form == "mcp" else "parameters"] for tool in tools}
    assert inputs["plain"] == {"type": "object"}
    assert inputs.get("odd") == shown, ran
    assert ran.status == (1 if shown is None else 0), ran
    assert ("the tool odd is left out: " in ran.err and "input schema" in ran.err) == (shown is None), ran
